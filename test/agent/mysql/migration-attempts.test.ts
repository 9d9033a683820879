import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { migrationLockName } from '../../../agent/drivers/mysql/migrations.js';
import { attemptId } from '../../support/fake-job.js';
import { bundleOf, dataOf, tableFiles } from '../../support/migration-bench.js';
import { findMysql, withMysql } from '../../support/mysql.js';
import { type MysqlMigrationBench, startMysqlMigrationBench } from '../../support/mysql-migrations.js';
import { startOtherAgent } from '../../support/mysql-other-agent.js';
import { eventually } from '../../support/processes.js';

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('attempts at migrations on MySQL', () => {
  let bench: MysqlMigrationBench;
  let gate: string;
  beforeAll(async () => {
    bench = await startMysqlMigrationBench(server!);
    gate = `gate ${bench.database.name}`;
  });
  beforeEach(async () => {
    await bench.root.query('select release_lock(?)', [gate]);
    await bench.clear();
    // A test that breaks connections leaves an agent that may have to connect again first.
    await eventually(async () => (await bench.run('execute_select', 'select 1')).success === true);
  });
  afterAll(() => bench?.close());

  /** A statement that stands still until the test opens the gate. */
  const wait = () => `select get_lock('${gate}', 60)`;
  const shut = () => bench.root.query('select get_lock(?, 0)', [gate]);
  const open = () => bench.root.query('select release_lock(?)', [gate]);
  const leaveMarker = (requestId: string, step: string, mode: 'tx' | 'auto', state: 'open' | 'done') =>
    bench.root.query(
      `insert into svc_execution_marker (request_id, fence, step, mode, state, execution_id, agent_id, approval_digest)
       values (?, 1, ?, ?, ?, '${attemptId(1)}', 'a', 'd')`,
      [requestId, step, mode, state],
    );
  /** Two connections lost in a row take the database out of the poll for a while (AP-15), which the gateway here does not heed. */
  const workAgain = async () => expect(await bench.run('migrate_status', '')).toMatchObject({ success: true });
  const second = (requestId: string) => ({ requestId, fence: 2, unresolvedFences: [1] });

  it('MI-34, MI-I9: cancelled before the first one, nothing was changed', async () => {
    await withMysql(bench.database.adminUrl, async (holder) => {
      await holder.query('select get_lock(?, 0)', [migrationLockName(bench.database.name)]);
      const job = bench.offer('migrate_up', bundleOf('up', tableFiles(1)));
      await job.claimed;
      job.heartbeat.cancelled = true;
      expect(await job.result).toMatchObject({ success: false, cancelled: true, outcome: 'not_started' });
    });
    expect([await bench.tables(), await bench.versions()]).toEqual([[], []]);
  });

  it('MI-34: one that changes rows only is cancelled in the database and rolled back', async () => {
    await bench.root.query('create table parts (id int primary key)');
    await shut();
    const job = bench.offer('migrate_up', bundleOf('up', [{ version: 'v1', up: `insert into parts values (1); ${wait()}` }]));
    await bench.untilActive(gate);
    job.heartbeat.cancelled = true;
    expect(await job.result).toMatchObject({
      success: false,
      cancelled: true,
      outcome: 'rolled_back',
      error_message: 'migration error: migration cancelled',
    });
    expect([await bench.column('select id from parts'), await bench.versions()]).toEqual([[], []]);
  });

  it('MI-34: one that commits by itself runs to its end, and no further one starts', async () => {
    await shut();
    const up = `create table a (id int); ${wait()}; create table b (id int)`;
    const job = bench.offer('migrate_up', bundleOf('up', [{ version: 'u1', up }, ...tableFiles(1)]));
    await bench.untilActive(gate);
    const { heartbeats } = job;
    job.heartbeat.cancelled = true;
    await expect.poll(() => job.heartbeats).toBeGreaterThan(heartbeats + 2);
    await open();
    expect(await job.result).toMatchObject({
      success: false,
      cancelled: false,
      outcome: 'partial',
      error_message: 'migration cancelled',
    });
    expect(dataOf(await job.result)).toMatchObject({ applied_before_failure: ['u1'] });
    expect([await bench.tables(), await bench.versions()]).toEqual([['a', 'b'], ['u1']]);
  });

  it('MI-36: a statement above its limit is ended, and what stays is told', async () => {
    await bench.root.query('create table parts (id int primary key)');
    await bench.root.query('start transaction; insert into parts values (5)');
    const blocked = 'insert into parts values (5)';
    const limit = { statementTimeoutSecs: 1 };
    const rows = await bench.up([{ version: 'v1', up: `insert into parts values (1); ${blocked}` }], null, limit);
    expect(rows).toMatchObject({ success: false, outcome: 'rolled_back', cancelled: false });
    expect(rows.error_message).toMatch(/^migration error: migration timed out \(version v1\): /);
    const mixed = await bench.up([{ version: 'v1', up: `create table a (id int); ${blocked}` }], null, limit);
    expect(mixed.outcome).toBe('partial');
    expect(mixed.error_message).toMatch(
      /^migration timed out \(version v1\): .*; statement 2 of 2 failed; the first 1 are applied and stay$/,
    );
    await bench.root.query('rollback; lock tables parts write');
    const locked = await bench.up([{ version: 'v2', up: 'alter table parts add b int' }], null, limit);
    await bench.root.query('unlock tables');
    expect(locked).toMatchObject({ outcome: 'rolled_back' });
    expect(locked.error_message).toContain('migration timed out (version v2)');
    expect([await bench.column('select * from parts'), await bench.tables()]).toEqual([[], ['a', 'parts']]);
  });

  it('MI-39, AP-I5: a trigger or event statement that was interrupted may have taken effect, which is partial', async () => {
    await bench.root.query(`create table parts (id int primary key); create or replace trigger t before insert on parts for each row set new.id = 1;
      start transaction; insert into parts values (5)`);
    const up = 'create or replace trigger t before insert on parts for each row set new.id = 2';
    const result = await bench.up([{ version: 'v1', up }], null, { statementTimeoutSecs: 1 });
    await bench.root.query('rollback');
    expect(result).toMatchObject({ outcome: 'partial', cancelled: false });
    expect(result.error_message).toMatch(/; the statement may have taken effect all the same$/);
    expect(await bench.versions()).toEqual([]);
  });

  it('MI-36: 0 is no limit, whatever the agent has for other statements', async () => {
    const other = await startOtherAgent(bench, 'statement_timeout_secs = 1\n');
    try {
      await bench.root.query('create table parts (id int primary key)');
      const slow = ['insert into parts values (1), (sleep(1.5) + 2)', 'create table slow as select sleep(1.5) as slept'];
      const files = slow.map((up, n) => ({ version: `v${n + 1}`, up }));
      expect(dataOf(await other.up(files, { statementTimeoutSecs: 0 }))).toEqual({ applied: ['v1', 'v2'] });
    } finally {
      await other.close();
    }
  });

  it('AP-I5: a connection that is lost while a statement commits by itself leaves its migration in doubt', async () => {
    await shut();
    const requestId = randomUUID();
    const running = bench.up([{ version: 'v1', up: `create table a (id int); ${wait()}` }], null, { requestId });
    await bench.untilActive(gate);
    const [id] = await bench.column('select id from information_schema.processlist where info like ? and id <> connection_id()', [
      `%${gate}%`,
    ]);
    await bench.root.query(`kill ${id}`);
    const lost = await running;
    expect(lost).toMatchObject({ success: false, outcome: 'unknown' });
    expect(lost.error_message).toMatch(/^migration v1 may be half applied; check the database, then use migrate repair: /);
    expect(await bench.markers(requestId)).toEqual(['v1 auto open 1']);
    await workAgain();
  });

  it('AP-I5: a connection that is lost while rows are changed has rolled back', async () => {
    await bench.root.query('create table parts (id int primary key)');
    await shut();
    const running = bench.up([{ version: 'v1', up: `insert into parts values (1); ${wait()}` }]);
    await bench.untilActive(gate);
    const [id] = await bench.column('select id from information_schema.processlist where info like ? and id <> connection_id()', [
      `%${gate}%`,
    ]);
    await bench.root.query(`kill ${id}`);
    expect(await running).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect([await bench.column('select id from parts'), await bench.versions()]).toEqual([[], []]);
    await workAgain();
  });

  it('MI-35, MI-I6: what a lost attempt did stands first and counts; with nothing left it is already_applied', async () => {
    const requestId = randomUUID();
    expect(await bench.up(tableFiles(2))).toMatchObject({ success: true });
    for (const step of ['v1', 'v2']) await leaveMarker(requestId, step, 'auto', 'done');
    expect(await bench.up(tableFiles(2), null, second(requestId))).toMatchObject({
      success: true,
      outcome: 'already_applied',
      applied_fence: 1,
    });
    const resumed = await bench.up(tableFiles(5), 3, { requestId, fence: 3, unresolvedFences: [1, 2] });
    expect(resumed).toMatchObject({ success: true, outcome: 'committed', result_data: '{"applied":["v1","v2","v3"]}' });
    expect(await bench.versions()).toEqual(['v1', 'v2', 'v3']);
    expect(await bench.markers(requestId)).toContain('v3 auto done 3');
  });

  it('MI-35: one that a lost attempt may have half applied is left alone until it is repaired', async () => {
    const requestId = randomUUID();
    await leaveMarker(requestId, 'v1', 'auto', 'open');
    const doubtful = await bench.up(tableFiles(2), null, second(requestId));
    expect(doubtful).toMatchObject({
      success: false,
      outcome: 'unknown',
      cancelled: false,
      error_message: 'migration v1 may be half applied; check the database, then use migrate repair',
    });
    expect(await bench.tables()).toEqual([]);
    expect(await bench.repair('mark_applied', 'v1')).toMatchObject({ success: true });
    const resumed = await bench.up(tableFiles(2), null, { requestId, fence: 3, unresolvedFences: [1, 2] });
    expect(dataOf(resumed)).toEqual({ applied: ['v1', 'v2'] });
    expect(await bench.tables()).toEqual(['t2']);
  });

  it('AP-53, MI-31: one that changes rows is rolled back if it releases its locks: another run may have had them', async () => {
    await bench.root.query('create table parts (id int primary key)');
    for (const name of [(id: string) => `svc:${id}`, () => migrationLockName(bench.database.name)]) {
      const requestId = randomUUID();
      const up = `insert into parts values (1); select release_lock('${name(requestId)}')`;
      const result = await bench.up([{ version: 'v1', up }], null, { requestId });
      expect(result).toMatchObject({ success: false, outcome: 'rolled_back' });
      expect(result.error_message).toMatch(/^migration error: version v1: the agent's lock is gone/);
      expect([await bench.column('select id from parts'), await bench.versions(), await bench.markers(requestId)]).toEqual([
        [],
        [],
        [],
      ]);
    }
  });

  it('AP-53: a lost attempt that still runs in the database is waited for', async () => {
    await shut();
    const requestId = randomUUID();
    await withMysql(bench.database.url, async (lost) => {
      await lost.query('select get_lock(?, 0)', [`svc:${requestId}`]);
      const next = bench.up(tableFiles(1), null, second(requestId));
      await bench.root.query('select sleep(0.3)');
      expect(await bench.tables()).toEqual([]);
      await lost.query('select release_all_locks()');
      expect(await next).toMatchObject({ success: true });
    });
  });
});
