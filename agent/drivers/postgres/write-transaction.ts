import { lockKey, requestLockKey } from '../../marker.js';
import type { Run } from '../driver.js';
import { Unexpected } from '../faults.js';
import type { Step } from './exchange.js';
import { settingsStep } from './select.js';
import type { PostgresSession } from './session.js';

/** Key of the lock that excludes all other migrations of a database (MI-31). */
export const MIGRATION_LOCK_KEY = lockKey('svc-migrations');

/** The locks under which a request writes (AP-53). */
export const locksOfDml = ({ requestId }: Run): bigint[] => [requestLockKey(requestId)];
export const locksOfMigration = (run: Run): bigint[] => [...locksOfDml(run), MIGRATION_LOCK_KEY];

/**
 * Begins a transaction that writes under these locks of its session, and holds them until it ends: its texts, triggers and
 * functions may release those of the session. It fails if another session holds one.
 */
export function beginWrite(run: Run, locks: readonly bigint[]): Step[] {
  // Any other word fails to be read as a boolean, so that no later step runs.
  const text = `select (case when ${held(locks)} then 'on' else 'another session holds the lock of this write' end)::boolean`;
  return [...begin(run), { kind: 'run', text, values: locks.map(String) }];
}

/** The same to record what has taken effect: that is recorded whoever holds the locks by now. */
export function beginRecord(run: Run, locks: readonly bigint[]): Step[] {
  return [...begin(run), { kind: 'run', text: `select ${held(locks)}`, values: locks.map(String) }];
}

const begin = (run: Run): Step[] => [{ kind: 'run', text: 'begin read write' }, settingsStep(run.timeoutSecs, true)];

const held = (locks: readonly bigint[]) =>
  locks.map((_, index) => `pg_catalog.pg_try_advisory_xact_lock($${index + 1}::bigint)`).join(' and ');

/** Throws unless the session still has these locks: any of its texts, triggers and functions may have released them. */
export async function expectLocks(session: PostgresSession, locks: readonly bigint[]): Promise<void> {
  const [[count] = []] = await session.query(
    `select count(*) from pg_catalog.pg_locks where locktype = 'advisory' and pid = pg_catalog.pg_backend_pid() and granted and objsubid = 1
       and (classid::bigint << 32 | objid::bigint) = any($1::bigint[])`,
    [`{${locks.join(',')}}`],
  );
  if (count !== String(locks.length))
    throw new Unexpected("the agent's lock is gone: a statement, a trigger or a function released it");
}
