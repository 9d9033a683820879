import type { MysqlSession } from './session.js';

/** An agent that vanished must not hold its transaction for hours. */
const IDLE_SECS = 60;

/**
 * Sets the statement timeout (0 = none), where the server has one, and the idle timeout; both last until the session is reset.
 */
export async function limitTime(session: MysqlSession, seconds: number): Promise<void> {
  const limit = seconds > 0 ? `, ${statementLimit(session, seconds)}` : '';
  await session.run(`set session wait_timeout = ${IDLE_SECS}${limit}`);
}

/** The same for migrations, where 0 also lifts the limit of the server or the account (MI-36). */
export async function limitMigrationTime(session: MysqlSession, seconds: number): Promise<void> {
  await session.run(`set session wait_timeout = ${IDLE_SECS}, ${statementLimit(session, seconds)}`);
}

const statementLimit = (session: MysqlSession, seconds: number) =>
  session.isMariadb ? `session max_statement_time = ${seconds}` : `session max_execution_time = ${Math.ceil(seconds * 1000)}`;

/** Without room, the server keeps no warning, not even that of changes which it could not undo. */
export const roomForWarnings = 'set session max_error_count = 64';
