import type { MysqlSession } from './session.js';

/** An agent that is gone without a word must not hold its transaction for hours. */
const IDLE_SECS = 60;

/** Sets the timeout of the job's statements, none for 0, where the server has one, and that of an idle connection; until the session is reset. */
export async function limitTime(session: MysqlSession, seconds: number): Promise<void> {
  const limit = seconds > 0 ? `, ${statementLimit(session, seconds)}` : '';
  await session.run(`set session wait_timeout = ${IDLE_SECS}${limit}`);
}

/** The same for migrations, where 0 lifts the limit of the server or the account too (MI-36). */
export async function limitMigrationTime(session: MysqlSession, seconds: number): Promise<void> {
  await session.run(`set session wait_timeout = ${IDLE_SECS}, ${statementLimit(session, seconds)}`);
}

const statementLimit = (session: MysqlSession, seconds: number) =>
  session.isMariadb ? `session max_statement_time = ${seconds}` : `session max_execution_time = ${Math.ceil(seconds * 1000)}`;
