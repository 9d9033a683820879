import { networkFault } from '../../network-fault.js';
import { ConnectFailure } from '../driver.js';
import type { ErrorReader } from '../engine.js';
import { ConnectionLost, faultReason, faultText } from '../faults.js';

/** Reasons for refusing a connection, in our words: the server's own name user, database and host. */
const refusals: Readonly<Record<string, string>> = {
  '28000': 'the server takes no connection of this user from this host',
  '28P01': 'the user or the password is wrong',
  '3D000': 'there is no such database',
  '42501': 'the user may not connect to the database',
  '53300': 'too many connections',
  '57P03': 'the server is starting up or shutting down',
};

export interface ServerError {
  message: string;
  code: string;
  position?: string | undefined;
  hint?: string | undefined;
}

/** The error as a server error, or null; these carry a five-character SQLSTATE and a severity. */
export function asServerError(error: unknown): ServerError | null {
  const one = error as Partial<ServerError> & { severity?: unknown };
  return error instanceof Error && typeof one.code === 'string' && /^[0-9A-Z]{5}$/.test(one.code) && one.severity !== undefined
    ? (one as ServerError)
    : null;
}

function isConnectivityError(error: unknown): boolean {
  if (error instanceof ConnectionLost || error instanceof ConnectFailure) return true;
  return asServerError(error)?.code.startsWith('08') === true || isEnding(error);
}

/** The server ends the session or itself. */
const isEnding = (error: unknown) => /^57P0[1-3]$/.test(asServerError(error)?.code ?? '');

/** Why connecting failed, without host, user or address. */
export function connectFailure(error: unknown): ConnectFailure {
  if (error instanceof ConnectFailure) return error;
  const server = asServerError(error);
  if (server) {
    const kind = server.code.startsWith('28') ? 'authentication' : 'connection';
    const words = refusals[server.code];
    return new ConnectFailure(kind, `SQLSTATE ${server.code}${words === undefined ? '' : `, ${words}`}`);
  }
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (typeof code === 'string') return new ConnectFailure('connection', networkFault(code));
  const text = error instanceof Error ? error.message : '';
  if (/does not support SSL/.test(text)) return new ConnectFailure('connection', networkFault('HANDSHAKE_NO_SSL_SUPPORT'));
  const known = /SSL|password|SASL|SCRAM|timeout|terminated/.exec(text)?.[0];
  const kind = known === 'password' || known === 'SASL' || known === 'SCRAM' ? 'authentication' : 'connection';
  return new ConnectFailure(kind, known ?? 'failed');
}

function serverText(error: unknown): string | null {
  const server = asServerError(error);
  if (!server) return null;
  const where = server.position ? `, position ${server.position}` : '';
  const hint = server.hint ? `; hint: ${server.hint}` : '';
  const advice = server.code === '25001' ? '; run this statement alone, so that it can run outside a transaction' : '';
  return `${server.message} (SQLSTATE ${server.code}${where})${hint}${advice}`;
}

const isInterrupt = (error: unknown) => asServerError(error)?.code === '57014';

export const postgresErrors: ErrorReader = {
  errorText: (error) => faultText(error, serverText),
  reason: (error) => faultReason(error, serverText),
  // Class 08 is of a connection that the statement wanted, such as that of a foreign table.
  isServerError: (error) => asServerError(error) !== null && !isEnding(error),
  isConnectivityError,
  isInterrupt,
  // A timeout has the same code as a cancel; it can only be a timeout once that time has passed.
  isTimeout: (error, { timeoutSecs }, elapsedMs) => isInterrupt(error) && timeoutSecs > 0 && elapsedMs >= timeoutSecs * 1000 - 50,
};
