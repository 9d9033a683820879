import { GatewayError } from '../domain/errors.js';

const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  // A name server that does not answer, such as one that starts just now.
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ECONNABORTED',
  'ENOENT',
  'DEADLINE',
]);
/** A session that can only be read. */
export const readOnlyState = '25006';
/** The server, the database or the role has as many connections as it may. */
export const noneToSpareState = '53300';
// Class 08 connection, 57P0x shutdown and start-up, 57014 our own statement timeout, 55P03 lock timeout, 53300 too many connections, 25006 read only.
const unreachableStates = /^(08|57P|57014|55P03|53|25P03|25006)/;
const driverTexts =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable/;

/** The SQLSTATE of a database error; undefined for anything else. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Whether our own database could not answer in time: the caller gets 503 and may retry (HT-112, HT-114). */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string' && (networkCodes.has(code) || (sqlState(error) !== undefined && unreachableStates.test(code))))
    return true;
  // The driver sets no code in these two cases.
  return code === undefined && driverTexts.test(error.message);
}

// No privilege, no such table, raised by a trigger. These are faults of the database's setup, never of a caller.
const setUpStates = /^(42501|42P01|P0001)$/;

/** Why our own database could not answer, in a word that says nothing of its address or data: a SQLSTATE, a network code, or what was wrong. */
export function outageOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (code === readOnlyState) return 'read_only';
  if (typeof code === 'string') return code;
  return String(message).startsWith('timeout exceeded') ? 'no_connection_free' : 'connection_lost';
}

/** Whether our own database refuses a necessary write: it rejects an audit event, or its setup is wrong (AU-10). */
export function isWriteRefused(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (setUpStates.test(state) || (error as { table?: unknown }).table === 'audit_events');
}

/** Whether the error is a unique violation of this constraint or index. */
export function violates(error: unknown, constraint: string): boolean {
  return sqlState(error) === '23505' && (error as { constraint?: unknown }).constraint === constraint;
}

/** The 503 that an unreachable database becomes. */
export const unreachable = (cause: unknown): GatewayError =>
  new GatewayError('service.unavailable', 'the gateway database is not reachable', null, { cause });

/** That 503 for an error of an unreachable database; any other error as it is. */
export const unavailableIf = (error: unknown): unknown => (isUnreachable(error) ? unreachable(error) : error);

export const isUnavailable = (error: unknown): boolean => error instanceof GatewayError && error.code === 'service.unavailable';

/** A serialisation failure or a deadlock: the same transaction may succeed when it runs again. */
export const isRetryable = (error: unknown): boolean => ['40001', '40P01'].includes(sqlState(error) ?? '');
