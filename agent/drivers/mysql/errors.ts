import { networkFault } from '../../network-fault.js';
import { ConnectFailure } from '../driver.js';
import type { ErrorReader } from '../engine.js';
import { ConnectionLost, faultReason, faultText } from '../faults.js';

const INTERRUPTED = 1317;
/** ER_STATEMENT_TIMEOUT of MariaDB, ER_QUERY_TIMEOUT of MySQL. */
const TIMEOUTS = new Set([1969, 3024]);
/** Server shutdown, server gone, lost during a query, cannot connect. */
const CONNECTIVITY = new Set([1053, 2002, 2006, 2013]);

/** The server's reasons for refusing a connection, in words. */
const refusals: Readonly<Record<number, string>> = {
  1040: 'too many connections',
  1044: 'there is no such database, or the user may not use it',
  1045: 'the user or the password is wrong, or the account may only connect with TLS (ssl-mode)',
  1049: 'there is no such database',
  1129: 'the server blocks this host after many failed connections',
  1130: 'the server takes no connections from this host',
  1203: 'too many connections of this user',
  1226: 'the account has used up one of its limits',
  1698: 'the user or the password is wrong',
  1820: 'the password of the account has expired',
  1862: 'the password of the account has expired',
  3118: 'the account is locked',
  4151: 'the account is locked',
};

export interface MysqlServerError {
  errno: number;
  sqlState: string;
  message: string;
}

/** The error as a server error, or null. */
export function asMysqlError(error: unknown): MysqlServerError | null {
  const one = error as { errno?: unknown; sqlState?: unknown; sqlMessage?: unknown };
  if (!(error instanceof Error) || typeof one.errno !== 'number' || typeof one.sqlMessage !== 'string') return null;
  return { errno: one.errno, sqlState: String(one.sqlState ?? 'HY000'), message: withoutAccount(one.sqlMessage) };
}

/** The server's denials name user and host; neither may be shown (agent-process.md section 11). */
function withoutAccount(message: string): string {
  return message.replace(/(\buser )?(['"`])[^'"`]*\2@\2[^'"`]*\2/g, (_, user?: string) =>
    user === undefined ? 'an account' : `${user}of the agent's account`,
  );
}

/** Why connecting failed, without host, user or address. */
export function mysqlConnectFailure(error: unknown): ConnectFailure {
  if (error instanceof ConnectFailure) return error;
  const server = asMysqlError(error);
  if (server) {
    const kind = server.errno === 1045 || server.errno === 1698 ? 'authentication' : 'connection';
    const words = refusals[server.errno];
    return new ConnectFailure(kind, `error ${server.errno}${words === undefined ? '' : `, ${words}`}`);
  }
  if (error instanceof ConnectionLost) return new ConnectFailure('connection', error.why);
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return new ConnectFailure('connection', typeof code === 'string' ? networkFault(code) : 'failed');
}

function isConnectivityError(error: unknown): boolean {
  if (error instanceof ConnectionLost || error instanceof ConnectFailure) return true;
  const server = asMysqlError(error);
  return server !== null && (CONNECTIVITY.has(server.errno) || server.sqlState.startsWith('08'));
}

function serverText(error: unknown): string | null {
  const server = asMysqlError(error);
  return server && `${server.message} (error ${server.errno}, SQLSTATE ${server.sqlState})`;
}

const isTimeout = (error: unknown) => TIMEOUTS.has(asMysqlError(error)?.errno ?? 0);

export const mysqlErrors: ErrorReader = {
  errorText: (error) => faultText(error, serverText),
  reason: (error) => faultReason(error, serverText),
  isServerError: (error) => asMysqlError(error) !== null && !isConnectivityError(error),
  isConnectivityError,
  isInterrupt: (error) => asMysqlError(error)?.errno === INTERRUPTED || isTimeout(error),
  isTimeout,
};
