import type { Attempt, Engine, WriteTarget } from '../engine.js';
import { mysqlErrors } from './errors.js';
import { roomForWarnings } from './limits.js';
import { requestLockName, tryLock } from './locks.js';
import type { MysqlMarker } from './marker.js';
import type { MysqlSession } from './session.js';

export type MysqlWriteTarget = WriteTarget<MysqlSession, MysqlMarker>;
export type MysqlRead = Attempt<MysqlSession>;
export type MysqlAttempt = Attempt<MysqlSession, MysqlWriteTarget>;

/** "Some non-transactional changed tables couldn't be rolled back". */
const NOT_ROLLED_BACK = '1196';

export const mysqlEngine: Engine<MysqlSession> = {
  errors: mysqlErrors,
  async kill(admin, session, hard) {
    if (await isThere(admin, session)) await admin.run(`kill ${hard ? 'connection' : 'query'} ${session.thread.id}`);
  },
  isGone: async (admin, session) => !(await isThere(admin, session)),
  async rollBack(session) {
    // A server, a text or a trigger may have left no room for warnings.
    await session.run(roomForWarnings);
    await session.run('rollback');
    const warnings = await session.query('show warnings');
    return warnings.some(([, code]) => code === NOT_ROLLED_BACK) ? 'kept' : 'undone';
  },
  tryRequestLock: (session, requestId) => tryLock(session, requestLockName(requestId)),
  // A replica does not say to every account that it is one.
  showsCommitsOf: async (other, session) => other.server === session.server,
};

/**
 * Whether the server still has this session, not another one with its number; without this check a KILL after a restart could end
 * `admin` too.
 */
async function isThere(admin: MysqlSession, { thread }: MysqlSession): Promise<boolean> {
  const rows = await admin.query('select 1 from information_schema.processlist where id = ? and host = ?', [
    thread.id,
    thread.host,
  ]);
  return rows.length > 0;
}
