import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { attemptId, type JobInput } from '../../support/fake-job.js';
import { findMysql } from '../../support/mysql.js';
import { type MysqlBench, startMysqlBench } from '../../support/mysql-agent.js';
import { eventually } from '../../support/processes.js';
import { withoutBeats } from '../../support/test-agent.js';

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('execute_dml on MySQL', () => {
  let bench: MysqlBench;
  beforeAll(async () => {
    bench = await startMysqlBench(server!, { head: 'fence_wait_secs = 3' });
  });
  beforeEach(async () => {
    await bench.root.query(`
      create or replace table parts (id int primary key, qty int);
      drop table if exists logs, logs2;
      insert into parts values (1, 10), (2, 20), (3, 30);
    `);
  });
  afterAll(() => bench?.close());

  const offer = (detail: string, input: Partial<JobInput> = {}) => bench.offer('execute_dml', detail, input);
  const run = (detail: string, input: Partial<JobInput> = {}) => offer(detail, input).result;
  const quantity = (id: number) => bench.value('select qty from parts where id = ?', [String(id)]);
  const markers = async (requestId: string) =>
    (
      await bench.root.query(
        'select fence, mode, state, rows_affected from svc_execution_marker where request_id = ? order by 1',
        [requestId],
      )
    )[0];
  const addMarker = (requestId: string, fence: number, mode: string, state: string) =>
    bench.root.query(
      `insert into svc_execution_marker (request_id, fence, mode, state, execution_id, agent_id, approval_digest, rows_affected)
       values (?, ?, ?, ?, ?, 'a', 'd', 7)`,
      [requestId, fence, mode, state, attemptId(fence)],
    );

  it('AP-34, AP-I3: commits all statements with one done marker row; an update counts what it matched', async () => {
    const job = offer('update parts set qty = 10 where id < 3; insert into parts values (4, 1); select 1');
    expect(await job.result).toMatchObject({ success: true, outcome: 'committed', rows_affected: 3, truncated: false });
    expect(await quantity(2)).toBe(10);
    expect(await markers(job.requestId)).toEqual([[1, 'tx', 'done', 3]]);
  });

  it.each(['analyze table nope', 'OPTIMIZE TABLES nope'])('C8: fails as the server tells in a row: %s', async (text) => {
    const failed = await run(text);
    expect(failed).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect(failed.error_message).toMatch(/^driver error: query failed: Table '.*nope' doesn't exist/);
    expect(await run(text.replace('nope', 'parts'))).toMatchObject({ success: true, outcome: 'committed' });
    expect(await run(`${text}, parts`)).toMatchObject({ success: false, outcome: 'partial' });
  });

  it('AP-36: answers the rows of a RETURNING clause beside the count, within the limits', async () => {
    const result = await run('insert into parts values (5, 1), (6, 2) returning id, qty', { maxRows: 1 });
    expect(result).toMatchObject({ rows_affected: 2, truncated: true });
    expect(JSON.parse(result.result_data as string)).toMatchObject({ rows: [{ id: 5, qty: 1 }], rows_affected: 2 });
    expect(await quantity(6)).toBe(2);
    expect((await run('delete from parts where id = 1')).result_data).toBe('{"rows_affected":1}');
  });

  it('AP-34: rolls everything back when one statement fails, the marker row too', async () => {
    const job = offer('update parts set qty = 0 where id = 1; insert into parts values (1, 1)');
    expect(await job.result).toMatchObject({ success: false, outcome: 'rolled_back', cancelled: false });
    expect(await quantity(1)).toBe(10);
    expect(await markers(job.requestId)).toEqual([]);
  });

  it('AP-54: finds the marker of a lost attempt and does not run again', async () => {
    const requestId = randomUUID();
    await addMarker(requestId, 1, 'tx', 'done');
    expect(await run('update parts set qty = 0', { requestId, fence: 2, unresolvedFences: [1] })).toMatchObject({
      success: true,
      outcome: 'already_applied',
      applied_fence: 1,
      rows_affected: 7,
    });
    expect(await quantity(1)).toBe(10);
  });

  it('AP-54, AP-55: runs when a lost attempt left nothing, behind a marker row that fences it out', async () => {
    const job = offer('update parts set qty = qty + 1', { fence: 3, unresolvedFences: [1, 2] });
    expect(await job.result).toMatchObject({ success: true, outcome: 'committed', rows_affected: 3 });
    expect(await markers(job.requestId)).toEqual([[3, 'tx', 'done', 3]]);
    const late = await startMysqlBench(server!, { through: () => bench.database.url, timings: withoutBeats });
    const input = { requestId: job.requestId, fence: 2, gone: true };
    expect(await late.run('execute_dml', 'update parts set qty = qty + 1', input)).toMatchObject({
      outcome: 'not_started',
      error_message: 'superseded by attempt 3',
    });
    await late.close();
  });

  it('AP-54: does not guess about a lost attempt outside a transaction', async () => {
    const requestId = randomUUID();
    await addMarker(requestId, 1, 'auto', 'open');
    expect(await run('alter table parts add column x int', { requestId, fence: 2, unresolvedFences: [1] })).toMatchObject({
      outcome: 'unknown',
      error_message: 'attempt 1 may have been applied; check the database',
    });
  });

  it('AP-53: waits for the request lock, and gives up after fence_wait_secs', async () => {
    const requestId = randomUUID();
    await bench.value('select get_lock(?, 0)', [`svc:${requestId}`]);
    expect(await run('update parts set qty = 0', { requestId })).toMatchObject({
      outcome: 'unknown',
      error_message: 'an earlier attempt is still running in the database',
    });
    const job = offer('update parts set qty = 0', { requestId, fence: 2, unresolvedFences: [1] });
    await job.claimed;
    await bench.value('select release_lock(?)', [`svc:${requestId}`]);
    expect(await job.result).toMatchObject({ success: true, outcome: 'committed' });
  });

  it.each([
    ['a statement', '', 'select release_all_locks(); update parts set qty = 0'],
    ['a trigger', 'create trigger let_go before update on parts for each row do release_all_locks()', 'update parts set qty = 0'],
  ])('AP-53: a write whose lock %s releases is rolled back: another attempt may have run', async (_, prepared, detail) => {
    if (prepared !== '') await bench.root.query(prepared);
    const job = offer(detail);
    expect(await job.result).toMatchObject({
      success: false,
      outcome: 'rolled_back',
      error_message: "driver error: query failed: the agent's lock is gone: a statement, a trigger or a function released it",
    });
    expect([await quantity(1), await markers(job.requestId)]).toEqual([10, []]);
  });

  it('AP-34: runs DDL one by one with a marker of mode auto, and says how many were done before a failure', async () => {
    const job = offer('create table logs (id int) engine=InnoDB; update parts set qty = 1; alter table nowhere add column x int');
    const result = await job.result;
    expect(result).toMatchObject({ success: false, outcome: 'partial', cancelled: false });
    expect(result.error_message).toMatch(/nowhere.*; 2 of 3 statements were done and stay$/);
    expect(await quantity(1)).toBe(1);
    expect(await markers(job.requestId)).toMatchObject([[1, 'auto', 'open', null]]);

    const whole = offer('create table logs2 (id int); insert into parts values (8, 8)');
    expect(await whole.result).toMatchObject({ success: true, outcome: 'committed', rows_affected: 1 });
    expect(await markers(whole.requestId)).toEqual([[1, 'auto', 'done', 1]]);

    const failed = offer('alter table nowhere add column x int');
    expect(await failed.result).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect(await markers(failed.requestId)).toEqual([]);
  });

  it('AP-34: says partial when changes could not be undone, and never where they were', async () => {
    await bench.root.query('create table logs (id int primary key) engine=Aria; insert into logs values (3)');
    const kept = await run('insert into logs values (1), (2), (3)');
    expect(kept).toMatchObject({ success: false, outcome: 'partial' });
    expect(kept.error_message).toContain('changes in tables without transactions stay; 0 of 1 statements were done before');
    expect(await bench.value('select count(*) from logs')).toBe(3);
    expect(await run('insert into parts values (9, 1), (1, 1)')).toMatchObject({ outcome: 'rolled_back' });
    expect(await quantity(9)).toBeUndefined();
  });

  it('AP-34, AP-I5: says so too where the server, or a trigger, keeps no warnings', async () => {
    await bench.root.query(`create table logs (id int primary key) engine=Aria;
      create trigger quiet before insert on logs for each row set session max_error_count = 0`);
    const kept = await run('insert into logs values (1), (2), (1)');
    expect(kept).toMatchObject({ success: false, outcome: 'partial' });
    expect(kept.error_message).toContain('changes in tables without transactions stay');
    expect(await bench.value('select count(*) from logs')).toBe(2);
  });

  it('AP-34, AP-I5: what a function wrote for a table that then was not made is partial, as MariaDB commits it', async () => {
    await bench.root.query(
      `create or replace function adds(n int) returns int begin insert into parts values (n, 0); return 7; end`,
    );
    const failed = await run(
      'create table logs (id int primary key) as select adds(n) as id from (select 50 as n union all select 51) as two',
    );
    expect(failed).toMatchObject({
      outcome: 'partial',
      error_message: expect.stringContaining('what it had done before that stays'),
    });
    expect(await run('create table logs (id int primary key) as select 7 as id from parts')).toMatchObject({
      outcome: 'rolled_back',
    });
  });

  it('AP-42, AP-43: cancels a write and rolls it back', async () => {
    const job = offer('update parts set qty = 0; select sleep(30)');
    await bench.untilActive('sleep(30)');
    job.heartbeat.cancelled = true;
    expect(await job.result).toMatchObject({
      success: false,
      outcome: 'rolled_back',
      cancelled: true,
      error_message: 'driver error: query cancelled',
    });
    expect(await quantity(1)).toBe(10);
    expect(await markers(job.requestId)).toEqual([]);
  });

  it('AP-45: a cancel between statements that commit is partial, and not called a cancel', async () => {
    const job = offer('create table logs (id int) engine=InnoDB; select sleep(30)');
    await bench.untilActive('sleep(30)');
    job.heartbeat.cancelled = true;
    const result = await job.result;
    expect(result).toMatchObject({ success: false, outcome: 'partial', cancelled: false });
    expect(result.error_message).toBe('driver error: query cancelled; 1 of 2 statements were done and stay');
  });

  it('AP-35: ends a write at its timeout, also one that waits for a lock', async () => {
    const slow = await run('update parts set qty = sleep(20)', { statementTimeoutSecs: 1 });
    expect(slow).toMatchObject({ outcome: 'rolled_back', cancelled: false });
    expect(slow.error_message).toBe('driver error: query timed out after 1s');
    await bench.root.query('start transaction; update parts set qty = 99 where id = 1');
    expect(await run('update parts set qty = 0', { statementTimeoutSecs: 1 })).toMatchObject({
      outcome: 'rolled_back',
      error_message: 'driver error: query timed out after 1s',
    });
    await bench.root.query('rollback');
    expect(await quantity(1)).toBe(10);
  });

  it('AP-34, AP-54: a mode that the text sets does not change how the agent reads its own marker row', async () => {
    if (!String(await bench.value('select version()')).includes('MariaDB')) return;
    const set = `set sql_mode = 'EMPTY_STRING_IS_NULL'`;
    const together = offer(`${set}; update parts set qty = 11 where id = 1`);
    expect(await together.result).toMatchObject({ outcome: 'committed', rows_affected: 1 });
    expect(await markers(together.requestId)).toEqual([[1, 'tx', 'done', 1]]);
    const alone = offer(`${set}; create table logs (id int)`);
    expect(await alone.result).toMatchObject({ outcome: 'committed' });
    expect(await markers(alone.requestId)).toEqual([[1, 'auto', 'done', 0]]);
    const failed = offer(`${set}; create table logs (id int)`);
    expect(await failed.result).toMatchObject({ outcome: 'rolled_back' });
    expect(await markers(failed.requestId)).toEqual([]);
  });

  it('AP-I6: leaves no lock, setting, transaction or temporary table on the connection', async () => {
    const job = offer("set sql_mode = ''; update parts set qty = 5 where id = 1");
    await job.result;
    await eventually(async () => (await bench.value('select is_free_lock(?)', [`svc:${job.requestId}`])) === 1);
    const strict = await run("insert into parts values (7, 'x')");
    expect(strict.error_message).toContain('error 1366');
    // Other test files use the server too.
    const open = `select count(*) from information_schema.innodb_trx t join information_schema.processlist p on p.id = t.trx_mysql_thread_id
      where p.db = database()`;
    await eventually(async () => (await bench.value(open)) === 0);
  });
});
