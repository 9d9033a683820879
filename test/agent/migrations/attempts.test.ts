import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { requestLockKey } from '../../../agent/marker.js';
import { untilActive } from '../../support/active-statement.js';
import { attemptId, type FakeJob } from '../../support/fake-job.js';
import {
  bundleOf,
  dataOf,
  type MigrationBench,
  type MigrationFile,
  startMigrationBench,
  tableFiles,
} from '../../support/migration-bench.js';
import { createEmptyDatabase } from '../../support/postgres.js';
import { eventually } from '../../support/processes.js';
import { withoutBeats } from '../../support/test-agent.js';

const MIGRATION_LOCK = '-5598397634837090491';
let bench: MigrationBench;

beforeAll(async () => {
  bench = await startMigrationBench();
});
beforeEach(async () => {
  await bench.target.query('select pg_advisory_unlock_all()');
  await bench.clear();
});
afterAll(() => bench.close());

/** A statement that stands still until the test opens the gate. */
const wait = 'do $$ begin perform pg_advisory_xact_lock(1); end $$';
const open = () => bench.target.query('select pg_advisory_unlock(1)');

/** A job whose migrations have come to the gate. */
async function standing(files: MigrationFile[]): Promise<FakeJob> {
  await bench.target.query('select pg_advisory_lock(1)');
  const job = bench.offer('migrate_up', bundleOf('up', files));
  await untilActive(bench.target, wait);
  return job;
}

/** Waits until the agent has been told what heartbeats say now. */
async function beats(job: FakeJob): Promise<void> {
  const before = job.heartbeats;
  await eventually(() => job.heartbeats > before + 1);
}

/** A marker row that an earlier attempt left. */
async function leaveMarker(requestId: string, fence: number, step: string, mode: 'tx' | 'auto', state: 'open' | 'done') {
  await bench.target.query(
    `insert into svc.svc_execution_marker (request_id, fence, step, mode, state, execution_id, agent_id, approval_digest)
     values ($1, $2, $3, $4, $5, $6, 'a', 'd')`,
    [requestId, fence, step, mode, state, attemptId(fence)],
  );
}

/** What an earlier attempt did to its end: the files' changes, version rows and marker rows. */
async function leaveDone(requestId: string, fence: number, count: number) {
  await bench.up(tableFiles(count));
  for (const { version } of tableFiles(count)) await leaveMarker(requestId, fence, version, 'tx', 'done');
}

describe('after a lost attempt', () => {
  it('MI-35, MI-I6: what it did stands first in the list and counts against max_count', async () => {
    const requestId = randomUUID();
    await leaveDone(requestId, 1, 2);
    const resumed = await bench.up(tableFiles(5), 3, { requestId, fence: 2, unresolvedFences: [1] });
    expect(resumed).toMatchObject({ success: true, outcome: 'committed', result_data: '{"applied":["v1","v2","v3"]}' });
    expect(await bench.versions()).toEqual(['v1', 'v2', 'v3']);
    expect(await bench.markers(requestId)).toEqual(['v1 tx done 1', 'v2 tx done 1', 'tx open 2', 'v3 tx done 2']);
  });

  it('MI-35: nothing left is already_applied, with the attempt that did it', async () => {
    const requestId = randomUUID();
    await leaveDone(requestId, 2, 2);
    expect(await bench.up(tableFiles(2), null, { requestId, fence: 3, unresolvedFences: [1, 2] })).toMatchObject({
      success: true,
      outcome: 'already_applied',
      applied_fence: 2,
      result_data: '{"applied":["v1","v2"]}',
    });
  });

  it('MI-35: of a down, what was reverted counts too', async () => {
    const requestId = randomUUID();
    await bench.up(tableFiles(3));
    await leaveMarker(requestId, 1, 'v4', 'tx', 'done');
    const resumed = await bench.down(tableFiles(4), 2, { requestId, fence: 2, unresolvedFences: [1] });
    expect(dataOf(resumed)).toEqual({ reverted: ['v4', 'v3'] });
    expect(await bench.versions()).toEqual(['v1', 'v2']);
  });

  it('MI-35: what it applied and another request has reverted since is not applied again', async () => {
    const requestId = randomUUID();
    await leaveDone(requestId, 1, 1);
    await bench.down(tableFiles(1), 1);
    const resumed = await bench.up(tableFiles(2), null, { requestId, fence: 2, unresolvedFences: [1] });
    expect(dataOf(resumed)).toEqual({ applied: ['v1', 'v2'] });
    expect(await bench.versions()).toEqual(['v2']);
  });

  it('MI-35: what it reverted and somebody has applied again since is not reverted again, nor anything in its place', async () => {
    const requestId = randomUUID();
    await bench.up(tableFiles(3));
    await leaveMarker(requestId, 1, 'v3', 'tx', 'done');
    const resumed = await bench.down(tableFiles(3), 2, { requestId, fence: 2, unresolvedFences: [1] });
    expect(resumed).toMatchObject({
      success: false,
      outcome: 'partial',
      error_message: 'v3 is applied again since an earlier attempt reverted it; make a new request',
    });
    expect(dataOf(resumed)).toMatchObject({ reverted_before_failure: ['v3'], failed_version: 'v3' });
    expect(await bench.versions()).toEqual(['v1', 'v2', 'v3']);
  });

  it('MI-35: a failure now is partial when the lost attempt did something', async () => {
    const requestId = randomUUID();
    await leaveDone(requestId, 1, 1);
    const files = [...tableFiles(1), { version: 'v2', up: 'select 1/0' }];
    const resumed = await bench.up(files, null, { requestId, fence: 2, unresolvedFences: [1] });
    expect(resumed).toMatchObject({ success: false, outcome: 'partial', cancelled: false });
    expect(dataOf(resumed)).toMatchObject({ applied_before_failure: ['v1'], failed_version: 'v2' });
  });

  it('MI-35: a statement outside a transaction that may have run is in doubt until it is repaired', async () => {
    const requestId = randomUUID();
    const files = [{ version: 'v1', up: 'vacuum', transactional: false }, ...tableFiles(2).slice(1)];
    await leaveMarker(requestId, 1, 'v1', 'auto', 'open');
    expect(await bench.up(files, null, { requestId, fence: 2, unresolvedFences: [1] })).toMatchObject({
      success: false,
      outcome: 'unknown',
      cancelled: false,
      error_message: 'migration v1 may be half applied; check the database, then use migrate repair',
    });
    expect(await bench.run('migrate_repair', '{"action":"mark_applied","version":"v1"}')).toMatchObject({ success: true });
    const resumed = await bench.up(files, null, { requestId, fence: 3, unresolvedFences: [1, 2] });
    expect(dataOf(resumed)).toEqual({ applied: ['v1', 'v2'] });
  });

  it('AP-54, AP-55: an attempt that starts after a newer one does nothing', async () => {
    const requestId = randomUUID();
    await bench.up(tableFiles(1), null, { requestId, fence: 3, unresolvedFences: [1, 2] });
    const late = await startMigrationBench({ through: () => bench.url, timings: withoutBeats });
    expect(await late.up(tableFiles(2), null, { requestId, fence: 2, unresolvedFences: [1], gone: true })).toMatchObject({
      success: false,
      outcome: 'not_started',
      error_message: 'superseded by attempt 3',
    });
    expect(await bench.versions()).toEqual(['v1']);
    await late.close();
  });

  it('MI-I9: a cancel is not confirmed before it is known that the lost attempt changed nothing', async () => {
    const requestId = randomUUID();
    await leaveDone(requestId, 1, 1);
    await bench.target.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const job = bench.offer('migrate_up', bundleOf('up', tableFiles(2)), { requestId, fence: 2, unresolvedFences: [1] });
    await job.claimed;
    job.heartbeat.cancelled = true;
    expect(await job.result).toMatchObject({
      success: false,
      outcome: 'unknown',
      cancelled: false,
      error_message: 'cancelled: it is not known what attempt 1 did',
    });
  });
});

describe('locks of migrations', () => {
  it('MI-31, MI-I5: the lock of another migration is waited for, and no longer than migration_lock_wait_secs', async () => {
    await bench.target.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    expect(await bench.up(tableFiles(1))).toMatchObject({
      success: false,
      outcome: 'not_started',
      cancelled: false,
      error_message: 'migration error: another migration holds the lock',
    });
    const job = bench.offer('migrate_up', bundleOf('up', tableFiles(1)));
    await job.claimed;
    await bench.target.query('select pg_advisory_unlock_all()');
    expect(await job.result).toMatchObject({ success: true });
  });

  it('AP-53: an attempt that still runs in the database makes the outcome unknown', async () => {
    const requestId = randomUUID();
    await bench.target.query('select pg_advisory_lock($1)', [String(requestLockKey(requestId))]);
    expect(await bench.up(tableFiles(1), null, { requestId })).toMatchObject({
      success: false,
      outcome: 'unknown',
      error_message: 'an earlier attempt is still running in the database',
    });
  });

  it('MI-31: both locks are held all the while, and free afterwards', async () => {
    const job = await standing([
      { version: 'v1', up: 'select 1' },
      { version: 'v2', up: wait },
    ]);
    const free = async (key: string) => {
      const { rows } = await bench.target.query('select pg_try_advisory_lock($1) as taken', [key]);
      return rows[0].taken as boolean;
    };
    expect(await free(MIGRATION_LOCK)).toBe(false);
    expect(await free(String(requestLockKey(job.requestId)))).toBe(false);
    await open();
    expect(await job.result).toMatchObject({ success: true });
    await eventually(() => free(MIGRATION_LOCK));
  });

  it.each([true, false])(
    'MI-31: a run ends when a migration lets its locks go: another run may have had them (transaction: %s)',
    async (transactional) => {
      const files = [
        { version: 'a1', up: 'do $$ begin perform pg_advisory_unlock_all(); end $$', transactional },
        ...tableFiles(1),
      ];
      const result = await bench.up(files);
      expect(result).toMatchObject({ success: false, outcome: 'partial' });
      expect(dataOf(result)).toMatchObject({ applied_before_failure: ['a1'], failed_version: 'v1' });
      expect(result.error_message).toContain("version v1: the agent's lock is gone");
      expect([await bench.tables(), await bench.versions()]).toEqual([['schema_migrations'], ['a1']]);
    },
  );

  it('MI-31, AP-53: both locks are held until a migration that lets them go has committed', async () => {
    const job = await standing([{ version: 'v1', up: `select pg_advisory_unlock_all(); ${wait}` }]);
    for (const key of [MIGRATION_LOCK, String(requestLockKey(job.requestId))]) {
      expect((await bench.target.query('select pg_try_advisory_lock($1) as taken', [key])).rows).toEqual([{ taken: false }]);
    }
    await open();
    expect(await job.result).toMatchObject({ success: true });
  });

  it('MI-38: what has taken effect is recorded though its statement let the locks go and another session holds them', async () => {
    const up = `do $$ begin perform pg_advisory_unlock_all(); create table t1 (id int); commit; perform pg_advisory_xact_lock(1); end $$`;
    await bench.target.query('select pg_advisory_lock(1)');
    const job = bench.offer('migrate_up', bundleOf('up', [{ version: 'v1', up, transactional: false }]));
    await eventually(async () => (await bench.tables()).includes('t1'));
    const taken = await bench.target.query('select pg_try_advisory_lock($1) as taken', [String(requestLockKey(job.requestId))]);
    expect(taken.rows).toEqual([{ taken: true }]);
    await open();
    expect(await job.result).toMatchObject({ success: true });
    expect(await bench.versions()).toEqual(['v1']);
  });

  it('MI-I5: migrations of two gateways on one database do not mix', async () => {
    const other = await startMigrationBench({ through: () => bench.url });
    try {
      const files = tableFiles(4).map((file) => ({ ...file, up: `${file.up}; select pg_sleep(0.05)` }));
      const results = await Promise.all([bench.up(files), other.up(files), bench.up(files), other.up(files)]);
      // One applies all; the others find nothing left, or have waited long enough.
      for (const result of results.filter(({ success }) => !success)) expect(result.error_message).toContain('holds the lock');
      const applied = results.map((result) => (dataOf(result) as { applied: string[] } | null)?.applied ?? []);
      expect(applied.filter(({ length }) => length > 0)).toEqual([['v1', 'v2', 'v3', 'v4']]);
    } finally {
      await other.close();
    }
  });
});

describe('a cancel', () => {
  const slow = (count: number) => [...tableFiles(count), { version: 'v9', up: 'create table t9 (id int); select pg_sleep(30)' }];

  it('MI-34, MI-I9: rolls back the migration that runs, and nothing stays', async () => {
    const job = bench.offer('migrate_up', bundleOf('up', slow(0)));
    await untilActive(bench.target, 'pg_sleep(30)');
    job.heartbeat.cancelled = true;
    expect(await job.result).toMatchObject({
      success: false,
      outcome: 'rolled_back',
      cancelled: true,
      error_message: 'migration error: migration cancelled',
    });
    expect(await bench.tables()).toEqual([]);
    expect(await bench.markers(job.requestId)).toEqual([]);
  });

  it('MI-34: after migrations that are done it is partial and names them', async () => {
    const job = bench.offer('migrate_up', bundleOf('up', slow(2)));
    await untilActive(bench.target, 'pg_sleep(30)');
    job.heartbeat.cancelled = true;
    expect(await job.result).toMatchObject({
      success: false,
      outcome: 'partial',
      cancelled: false,
      error_message: 'migration cancelled',
    });
    expect(dataOf(await job.result)).toEqual({
      applied_before_failure: ['v1', 'v2'],
      failed_version: 'v9',
      error: 'migration cancelled',
    });
    expect(await bench.versions()).toEqual(['v1', 'v2']);
  });

  it('MI-34, AP-45: before the first one nothing is started', async () => {
    await bench.target.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const job = bench.offer('migrate_up', bundleOf('up', tableFiles(1)));
    await job.claimed;
    job.heartbeat.cancelled = true;
    expect(await job.result).toMatchObject({
      success: false,
      outcome: 'not_started',
      cancelled: true,
      error_message: 'migration error: migration cancelled',
    });
    expect(await bench.tables()).toEqual([]);
  });

  it('MI-34: what is not transactional ends, and no further one starts', async () => {
    const job = await standing([{ version: 'v1', up: wait, transactional: false }, ...tableFiles(2).slice(1)]);
    job.heartbeat.cancelled = true;
    await beats(job);
    await open();
    expect(await job.result).toMatchObject({ success: false, outcome: 'partial', cancelled: false });
    expect(dataOf(await job.result)).toMatchObject({ applied_before_failure: ['v1'], failed_version: 'v2' });
    expect(await bench.versions()).toEqual(['v1']);
  });

  it('MI-34: when all are done it is a success', async () => {
    const job = await standing([{ version: 'v1', up: wait, transactional: false }]);
    job.heartbeat.cancelled = true;
    await beats(job);
    await open();
    expect(await job.result).toMatchObject({ success: true, outcome: 'committed', result_data: '{"applied":["v1"]}' });
  });

  it('AP-18: an agent that is told to end now rolls back what it runs, also what has no transaction', async () => {
    for (const transactional of [true, false]) {
      const other = await startMigrationBench({ through: () => bench.url });
      const job = other.offer('migrate_up', bundleOf('up', [{ version: 'v1', up: 'select pg_sleep(30)', transactional }]));
      await untilActive(bench.target, 'pg_sleep(30)');
      other.agent.stop();
      other.agent.stopNow();
      expect(await job.result).toMatchObject({
        success: false,
        outcome: 'rolled_back',
        cancelled: false,
        error_message: 'migration error: agent stopped',
      });
      expect(await bench.versions()).toEqual([]);
      await other.close();
    }
  });

  it('AP-18, MI-34: the same of what runs on to its end after a cancel', async () => {
    const other = await startMigrationBench({ through: () => bench.url });
    const job = other.offer('migrate_up', bundleOf('up', [{ version: 'v1', up: 'select pg_sleep(30)', transactional: false }]));
    await untilActive(bench.target, 'pg_sleep(30)');
    job.heartbeat.cancelled = true;
    const { heartbeats } = job;
    await expect.poll(() => job.heartbeats).toBeGreaterThan(heartbeats + 2);
    other.agent.stop();
    other.agent.stopNow();
    expect(await job.result).toMatchObject({ outcome: 'rolled_back', error_message: 'migration error: agent stopped' });
    expect(await bench.versions()).toEqual([]);
    await other.close();
  });

  it('MI-36: 0 is no limit, whatever the agent and the database have for other statements', async () => {
    const database = await createEmptyDatabase();
    await bench.target.query(`alter database ${new URL(database.url).pathname.slice(1)} set statement_timeout = '1s'`);
    const other = await startMigrationBench({ database, head: 'statement_timeout_secs = 1' });
    try {
      const files = [true, false].map((transactional, n) => ({
        version: `v${n + 1}`,
        up: 'select pg_sleep(1.5)',
        transactional,
      }));
      const unlimited = { statementTimeoutSecs: 0 };
      expect(dataOf(await other.up(files, null, unlimited))).toEqual({ applied: ['v1', 'v2'] });
      const limited = { statementTimeoutSecs: 1 };
      const late = await other.up([{ version: 'v3', up: 'select pg_sleep(30)' }], null, limited);
      expect(late.error_message).toMatch(/^migration error: migration timed out \(version v3\): /);
    } finally {
      await other.close();
    }
  });

  it('MI-36, AP-20: max_statement_timeout_secs bounds also what has no limit', async () => {
    const other = await startMigrationBench({ through: () => bench.url, head: 'max_statement_timeout_secs = 1' });
    try {
      const late = await other.up([{ version: 'v1', up: 'select pg_sleep(30)' }], null, { statementTimeoutSecs: 0 });
      expect(late.error_message).toMatch(/^migration error: migration timed out \(version v1\): /);
    } finally {
      await other.close();
    }
  });

  it('MI-36, AP-81: heartbeats go on while a migration runs', async () => {
    const job = await standing([{ version: 'v1', up: wait }]);
    await beats(job);
    await open();
    expect(await job.result).toMatchObject({ success: true });
  });
});
