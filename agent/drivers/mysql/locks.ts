import { Unexpected } from '../faults.js';
import type { MysqlSession } from './session.js';

/** The name of the request lock (AP-53). */
export const requestLockName = (requestId: string): string => `svc:${requestId}`;

/** Takes a lock if it is free; this session may have it already. */
export async function tryLock(session: MysqlSession, name: string): Promise<boolean> {
  const [[taken] = []] = await session.query('select get_lock(?, 0)', [name]);
  return taken === '1';
}

/**
 * Throws unless the session still has these locks. Any statement, trigger or function may have released them; since then another
 * attempt may have run, which did not see this one's open transaction. So ask right before COMMIT.
 */
export async function expectLocks(session: MysqlSession, names: readonly string[]): Promise<void> {
  const all = names.map(() => 'is_used_lock(?) = connection_id()').join(' and ');
  const [[held] = []] = await session.query(`select ${all}`, names);
  if (held !== '1') throw new Unexpected("the agent's lock is gone: a statement, a trigger or a function released it");
}
