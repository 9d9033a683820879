/** Why a connection failed, by the code of the operating system or of Node, in words. */
const networkFaults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at that address',
  ECONNRESET: 'the other side broke the connection',
  EHOSTUNREACH: 'there is no way to that host',
  ENETUNREACH: 'there is no way to that network',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name cannot be looked up now',
  ETIMEDOUT: 'no answer in time',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is of another host',
  HANDSHAKE_SSL_ERROR: 'the certificate is not trusted, or of another host',
  HANDSHAKE_NO_SSL_SUPPORT: 'the server has no TLS',
  ENOENT: 'a file that the address names is not there',
};

/** The code of a failed connection, with its meaning if known. */
export function networkFault(code: string): string {
  const words = networkFaults[code];
  return words === undefined ? code : `${code}, ${words}`;
}
