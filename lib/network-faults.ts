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
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is of another host',
  HANDSHAKE_SSL_ERROR: 'the certificate is not trusted, or of another host',
  HANDSHAKE_NO_SSL_SUPPORT: 'the server has no TLS',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server has no TLS',
  EPROTO: 'the server has no TLS, or another one',
  HPE_INVALID_CONSTANT: 'the server does not speak HTTP',
  ENOENT: 'a file that the address names is not there',
};

const lookUp = 'check the spelling of the host; is a VPN or a name server needed for it?';
const route = 'is a VPN or a firewall in the way?';
const authority = 'name the certificate authority that signed it in ca_file; a proxy that opens TLS has one of its own';

/** What to do about them, for whoever sets a server up (CL-45). */
export const networkHints: Readonly<Record<string, string>> = {
  ENOTFOUND: lookUp,
  EAI_AGAIN: lookUp,
  ECONNREFUSED: 'is the server running, and is the port right?',
  ECONNRESET: 'does a web server listen there? https:// is needed where it has TLS',
  EHOSTUNREACH: route,
  ENETUNREACH: route,
  ETIMEDOUT: route,
  CERT_HAS_EXPIRED: 'renew the certificate of the server, or of the proxy in front of it; is the clock here right?',
  CERT_NOT_YET_VALID: 'is the clock here right?',
  DEPTH_ZERO_SELF_SIGNED_CERT: authority,
  SELF_SIGNED_CERT_IN_CHAIN: authority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: authority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: authority,
  ERR_TLS_CERT_ALTNAME_INVALID: 'use the host name that the certificate is for',
  ERR_SSL_WRONG_VERSION_NUMBER: 'use http:// if it has no TLS, or the port that has',
  EPROTO: 'use http:// if it has no TLS, or the port that has',
  HPE_INVALID_CONSTANT: 'something else listens there: check host and port, and https:// where it has TLS',
};
