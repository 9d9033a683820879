/** Why a connection failed, in words, by the code of the operating system, of Node or of mysql2. */
export const networkFaults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection closed',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'the host name could not be looked up',
  ETIMEDOUT: 'connection timed out',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is of another host',
  HANDSHAKE_SSL_ERROR: 'the certificate is not trusted, or of another host',
  HANDSHAKE_NO_SSL_SUPPORT: 'the server has no TLS',
  ENOENT: 'a file that the address names is not there',
};
