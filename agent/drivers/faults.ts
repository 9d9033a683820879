import { ConnectFailure } from './driver.js';

/** The connection ended under a run. */
export class ConnectionLost extends Error {
  readonly why: string;
  constructor(why: string) {
    super(why);
    this.why = why;
  }
}

/** The agent ended the connection because of AP-72. */
export class RowTooLarge extends Error {
  constructor() {
    super('row too large');
  }
}

/** The cancel flag was found set between two statements. */
export class Interrupted extends Error {}

/** The database did not do what it was told, without an error; the message is for people. */
export class Unexpected extends Error {}

/** Why a connection cannot be made, by the code of the operating system or of Node, in words. */
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

/** A code of a failed connection with its meaning, where that is known. */
export function networkFault(code: string): string {
  const words = networkFaults[code];
  return words === undefined ? code : `${code}, ${words}`;
}

/** Text of section 11 for an error of a run; `serverText` words one that the server reported, or gives null. */
export function faultText(error: unknown, serverText: (error: unknown) => string | null): string {
  const ofConnection = error instanceof ConnectFailure || error instanceof ConnectionLost;
  return `driver error: ${ofConnection ? '' : 'query failed: '}${faultReason(error, serverText)}`;
}

/** The same without its class, for texts of another one. */
export function faultReason(error: unknown, serverText: (error: unknown) => string | null): string {
  if (error instanceof ConnectFailure) return `${error.kind} failed: ${error.message}`;
  if (error instanceof ConnectionLost) return `connection failed: ${error.why}`;
  if (error instanceof RowTooLarge || error instanceof Unexpected) return error.message;
  return serverText(error) ?? 'internal error of the agent';
}
