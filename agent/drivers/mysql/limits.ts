import type { MysqlSession } from './session.js';

/** An agent that is gone without a word must not hold its transaction for hours. */
const IDLE_SECS = 60;

/** Sets the timeout of the job's statements, none for 0, where the server has one, and that of an idle connection; until the session is reset. */
export async function limitTime(session: MysqlSession, seconds: number): Promise<void> {
  const limit = session.isMariadb ? `max_statement_time = ${seconds}` : `max_execution_time = ${Math.ceil(seconds * 1000)}`;
  await session.run(`set session wait_timeout = ${IDLE_SECS}${seconds > 0 ? `, session ${limit}` : ''}`);
}
