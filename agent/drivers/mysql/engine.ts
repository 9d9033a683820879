import type { Engine, Target, WriteTarget } from '../engine.js';
import { mysqlErrors } from './errors.js';
import type { MysqlMarker } from './marker.js';
import type { MysqlSession } from './session.js';

export type MysqlTarget = Target<MysqlSession>;
export type MysqlWriteTarget = WriteTarget<MysqlSession, MysqlMarker>;

/** "Some non-transactional changed tables couldn't be rolled back". */
const NOT_ROLLED_BACK = '1196';

export const mysqlEngine: Engine<MysqlSession> = {
  errors: mysqlErrors,
  kill: (admin, session, hard) => admin.run(`kill ${hard ? 'connection' : 'query'} ${session.threadId}`),
  async isGone(admin, session) {
    const rows = await admin.query('select 1 from information_schema.processlist where id = ?', [String(session.threadId)]);
    return rows.length === 0;
  },
  async rollBack(session) {
    await session.run('rollback');
    const warnings = await session.query('show warnings');
    return warnings.some(([, code]) => code === NOT_ROLLED_BACK) ? 'kept' : 'undone';
  },
  async tryRequestLock(session, requestId) {
    const [row] = await session.query('select get_lock(?, 0)', [`svc:${requestId}`]);
    return row?.[0] === '1';
  },
};
