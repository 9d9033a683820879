import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { requestLockKey } from '../../agent/marker.js';
import { endActive, untilActive } from '../support/active-statement.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { attemptId, type FakeJob, type JobInput } from '../support/fake-job.js';
import { bundleOf } from '../support/migration-bench.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent, withoutBeats } from '../support/test-agent.js';

let database: TestDatabase;
let gateway: FakeGateway;
let agent: TestAgent;
let target: pg.Client;

beforeAll(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
  gateway = await startFakeGateway();
  agent = startTestAgent({ gateway, url: database.url, head: 'fence_wait_secs = 3' });
  await gateway.nextPoll();
  gateway.onClaim = (claim) => target.query(fitMarkers, [claim.requestId, claim.approvalDigest]).catch(() => {});
});

beforeEach(async () => {
  await target.query(`
    drop table if exists parts, children;
    create table parts (id int primary key, qty int);
    create table children (id int, part int references parts deferrable initially deferred);
    insert into parts values (1, 10), (2, 20), (3, 30);
  `);
});

afterAll(async () => {
  agent.stop();
  await agent.exit;
  await gateway.close();
  await target.end();
  await database.drop();
});

function offer(detail: string, input: Partial<JobInput> = {}) {
  return gateway.offer({ operation: 'execute_dml', detail, ...input });
}

/** Cancels the job, whose statement has taken half its effect: `left` says how to end that. */
async function endsHalfDone(job: FakeJob, left: string): Promise<void> {
  job.heartbeat.cancelled = true;
  expect(await job.result).toMatchObject({
    success: false,
    outcome: 'partial',
    cancelled: false,
    error_message: `driver error: query cancelled${left}`,
  });
}

/** An update of parts whose COMMIT stands still until the test lets go of lock 1. */
async function standingCommit(detail: string): Promise<FakeJob> {
  await target.query(`
    create or replace function stand() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return null; end $$;
    create constraint trigger stand after update on parts deferrable initially deferred for each row execute function stand();
    select pg_advisory_lock(1);
  `);
  const job = offer(detail);
  await untilActive(target, 'commit');
  return job;
}

async function run(detail: string, input: Partial<JobInput> = {}) {
  return await offer(detail, input).result;
}

async function quantity(id: number): Promise<number> {
  return (await target.query('select qty from parts where id = $1', [id])).rows[0]?.qty;
}

async function markers(requestId: string) {
  const sql =
    'select fence::int, mode, state, rows_affected::int, agent_id from svc.svc_execution_marker where request_id = $1 order by fence';
  return (await target.query(sql, [requestId])).rows;
}

const fitMarkers = `update svc.svc_execution_marker set approval_digest = $2 where request_id = $1 and approval_digest = 'd'`;

async function addMarker(requestId: string, fence: number, mode: string, state: string) {
  await target.query(
    `insert into svc.svc_execution_marker (request_id, fence, mode, state, execution_id, agent_id, approval_digest, rows_affected)
     values ($1, $2, $3, $4, $5, 'a', 'd', 7)`,
    [requestId, fence, mode, state, attemptId(fence)],
  );
}

describe('execute_dml on PostgreSQL', () => {
  it('commits all statements with one done marker row (AP-32, AP-I3)', async () => {
    const job = offer('update parts set qty = 0 where id < 3; insert into parts values (4, 1); select 1');
    expect(await job.result).toMatchObject({ success: true, outcome: 'committed', rows_affected: 3, truncated: false });
    expect(await quantity(1)).toBe(0);
    expect(await markers(job.requestId)).toEqual([
      { fence: 1, mode: 'tx', state: 'done', rows_affected: 3, agent_id: 'agent-test' },
    ]);
  });

  it('answers the rows of a RETURNING clause beside the count, within the limits (AP-36)', async () => {
    const result = await run('update parts set qty = qty + 1 returning id, qty', { maxRows: 2 });
    expect(result).toMatchObject({ rows_affected: 3, truncated: true });
    expect(JSON.parse(result.result_data as string)).toEqual({
      columns: ['id', 'qty'],
      column_types: ['int4', 'int4'],
      rows: [
        { id: 1, qty: 11 },
        { id: 2, qty: 21 },
      ],
      truncated: true,
      truncation_reason: 'row limit reached (2)',
      rows_affected: 3,
    });
    expect((await run('delete from parts where id = 1')).result_data).toBe('{"rows_affected":1}');
  });

  it('rolls everything back when one statement fails, the marker row too (AP-I3)', async () => {
    const job = offer('update parts set qty = 0 where id = 1; insert into parts values (1, 1)');
    expect(await job.result).toMatchObject({ success: false, outcome: 'rolled_back', cancelled: false });
    expect(await quantity(1)).toBe(10);
    expect(await markers(job.requestId)).toEqual([]);
  });

  it('rolls back when a deferred constraint fails at COMMIT', async () => {
    const job = offer('insert into children values (1, 99)');
    const result = await job.result;
    expect(result).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect(result.error_message).toContain('SQLSTATE 23503');
    expect(await markers(job.requestId)).toEqual([]);
  });

  it('finds the marker of a lost attempt and does not run again (AP-54)', async () => {
    const requestId = randomUUID();
    await addMarker(requestId, 1, 'tx', 'done');
    const input = { requestId, fence: 2, unresolvedFences: [1] };
    expect(await run('update parts set qty = qty + 1', input)).toMatchObject({
      success: true,
      outcome: 'already_applied',
      applied_fence: 1,
      rows_affected: 7,
      result_data: '{"rows_affected":7}',
    });
    expect(await quantity(1)).toBe(10);
  });

  it('runs when a lost attempt left nothing, behind a marker row that fences it out (AP-54, AP-55)', async () => {
    const job = offer('update parts set qty = qty + 1', { fence: 3, unresolvedFences: [1, 2] });
    expect(await job.result).toMatchObject({ success: true, outcome: 'committed', rows_affected: 3 });
    expect(await markers(job.requestId)).toMatchObject([{ fence: 3, mode: 'tx', state: 'done' }]);
    const other = await startFakeGateway();
    const late = startTestAgent({ gateway: other, url: database.url, timings: withoutBeats });
    const input = { operation: 'execute_dml', requestId: job.requestId, fence: 2, gone: true };
    expect(await other.offer({ detail: 'update parts set qty = qty + 1', ...input }).result).toMatchObject({
      success: false,
      outcome: 'not_started',
      error_message: 'superseded by attempt 3',
    });
    late.stop();
    await late.exit;
    await other.close();
    expect(await quantity(1)).toBe(11);
  });

  it('does not guess about a lost attempt outside a transaction (AP-54)', async () => {
    const requestId = randomUUID();
    await addMarker(requestId, 1, 'auto', 'open');
    expect(await run('vacuum parts', { requestId, fence: 2, unresolvedFences: [1] })).toMatchObject({
      success: false,
      outcome: 'unknown',
      error_message: 'attempt 1 may have been applied; check the database',
    });
  });

  it('waits for the request lock, and gives up after fence_wait_secs (AP-53)', async () => {
    expect(requestLockKey('6b0c6c1e-3c39-4f6c-9a0e-7a1b3a7f0a11')).toBe(-1029468218352243127n);
    const requestId = randomUUID();
    await target.query('select pg_advisory_lock($1)', [String(requestLockKey(requestId))]);
    expect(await run('update parts set qty = 0', { requestId })).toMatchObject({
      outcome: 'unknown',
      error_message: 'an earlier attempt is still running in the database',
    });
    const job = offer('update parts set qty = 0', { requestId, fence: 2, unresolvedFences: [1] });
    await job.claimed;
    await target.query('select pg_advisory_unlock_all()');
    expect(await job.result).toMatchObject({ success: true, outcome: 'committed' });
  });

  it('runs a statement outside a transaction with a marker of mode auto (AP-33)', async () => {
    const job = offer('create index concurrently parts_qty on parts (qty)');
    expect(await job.result).toMatchObject({ success: true, outcome: 'committed', rows_affected: 0 });
    expect(await markers(job.requestId)).toMatchObject([{ mode: 'auto', state: 'done' }]);
  });

  it('names the invalid index that a failed statement left behind (AP-33)', async () => {
    await target.query('insert into parts values (5, 10)');
    const job = offer('create unique index concurrently parts_unique on parts (qty)');
    const result = await job.result;
    expect(result).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect(result.error_message).toContain('an invalid index was left behind: parts_unique');
    expect(await markers(job.requestId)).toEqual([]);
  });

  it.each([
    'create unique index concurrently parts_unique -- no drop index is needed before\non parts (qty)',
    'create /* not: drop index */ unique index concurrently parts_unique on parts (qty)',
    'create unique index concurrently "drop index" on parts (qty)',
  ])('AP-33: does not take a CREATE INDEX for a DROP INDEX by its words elsewhere: %s', async (text) => {
    await target.query('insert into parts values (5, 10)');
    const result = await run(text);
    expect(result).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect(result.error_message).toContain('an invalid index was left behind');
  });

  it('names the invalid index that a cancelled statement left behind (AP-33)', async () => {
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    await other.query('begin; update parts set qty = qty');
    const job = offer('create index concurrently parts_waiting on parts (qty)');
    await eventually(async () => (await target.query(`select to_regclass('parts_waiting') as made`)).rows[0].made !== null);
    job.heartbeat.cancelled = true;
    expect(await job.result).toMatchObject({
      success: false,
      outcome: 'rolled_back',
      cancelled: true,
      error_message: 'driver error: query cancelled; an invalid index was left behind: parts_waiting',
    });
    await other.end();
  });

  describe('an interrupted DROP INDEX CONCURRENTLY (AP-33)', () => {
    let reader: pg.Client;
    beforeEach(async () => {
      reader = new pg.Client({ connectionString: database.url });
      await reader.connect();
      await target.query('create unique index parts_dropped on parts (qty)');
      await reader.query('begin; select * from parts');
    });
    afterEach(() => reader.end());
    const drop = 'drop index concurrently parts_dropped';
    const left = '; what was dropped can no longer be used: to end that, DROP INDEX parts_dropped';
    const isValid = async () => {
      const { rows } = await target.query(`select indisvalid from pg_index where indexrelid = 'parts_dropped'::regclass`);
      return rows[0].indisvalid;
    };

    it('is partial when it is cancelled, for the index no longer counts (AG-I4)', async () => {
      const job = offer(drop);
      await eventually(async () => !(await isValid()));
      await endsHalfDone(job, left);
    });

    it('AP-33: is told without the database that somebody else drops meanwhile', async () => {
      const job = offer(drop);
      await eventually(async () => !(await isValid()));
      const other = `dropped_${randomUUID().slice(0, 8)}`;
      await target.query(`create database ${other}`);
      try {
        // PostgreSQL marks it so until it is gone.
        await target.query('update pg_database set datconnlimit = -2 where datname = $1', [other]);
        await endsHalfDone(job, left);
      } finally {
        await target.query(`drop database ${other}`);
      }
    });

    it('AP-33: is partial with comments around its words', async () => {
      const job = offer('-- away with it\ndrop /* the /* old */ one */ index concurrently parts_dropped');
      await eventually(async () => !(await isValid()));
      await endsHalfDone(job, left);
    });

    it('is rolled back when it had not begun', async () => {
      await reader.query('lock table parts in exclusive mode');
      expect(await run(drop, { statementTimeoutSecs: 1 })).toMatchObject({
        outcome: 'rolled_back',
        error_message: 'driver error: query timed out after 1s',
      });
      expect(await isValid()).toBe(true);
    });
  });

  describe('an interrupted DETACH PARTITION CONCURRENTLY (AP-33)', () => {
    const detach = 'alter table measures detach partition measures_1 concurrently';
    let reader: pg.Client;
    beforeEach(async () => {
      reader = new pg.Client({ connectionString: database.url });
      await reader.connect();
      await target.query(`
        drop table if exists measures, measures_1;
        create table measures (id int) partition by list (id);
        create table measures_1 partition of measures for values in (1);
      `);
      await reader.query('begin; select * from measures');
    });
    afterEach(() => reader.end());
    const pending = async () => {
      const { rows } = await target.query('select 1 from pg_inherits where inhdetachpending');
      return rows.length > 0;
    };
    const left = '; a partition is half detached: to end that, ALTER TABLE measures DETACH PARTITION measures_1 FINALIZE';

    it('is partial when it is cancelled, with what ends it', async () => {
      const job = offer(detach);
      await eventually(pending);
      await endsHalfDone(job, left);
    });

    it('is partial when its time is over', async () => {
      expect(await run(detach, { statementTimeoutSecs: 1 })).toMatchObject({
        success: false,
        outcome: 'partial',
        error_message: `driver error: query timed out after 1s${left}`,
      });
      expect(await pending()).toBe(true);
    });

    it('is no trace of a later statement that fails', async () => {
      await run(detach, { statementTimeoutSecs: 1 });
      expect(await run(detach)).toMatchObject({ outcome: 'rolled_back', error_message: expect.not.stringContaining('half') });
    });
  });

  it('cancels a write and rolls it back (AP-42, AP-43)', async () => {
    const job = offer('update parts set qty = 0; select pg_sleep(30)');
    await untilActive(target, 'pg_sleep(30)');
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

  it('takes a heartbeat of 410 for a cancel, and submits the outcome all the same (AP-46)', async () => {
    const job = offer('select pg_sleep(30)');
    await untilActive(target, 'pg_sleep(30)');
    job.heartbeat.status = 410;
    expect(await job.result).toMatchObject({ success: false, outcome: 'rolled_back' });
  });

  it('reports not_started for a job cancelled while it waits for the lock (AP-45)', async () => {
    const requestId = randomUUID();
    await target.query('select pg_advisory_lock($1)', [String(requestLockKey(requestId))]);
    const job = offer('update parts set qty = 0', { requestId });
    await job.claimed;
    job.heartbeat.cancelled = true;
    expect(await job.result).toMatchObject({ success: false, outcome: 'not_started', cancelled: true });
    await target.query('select pg_advisory_unlock_all()');
  });

  it('AG-63: confirms no cancel before it is known what a lost attempt did', async () => {
    const requestId = randomUUID();
    await target.query('select pg_advisory_lock($1)', [String(requestLockKey(requestId))]);
    const job = offer('update parts set qty = 0', { requestId, fence: 2, unresolvedFences: [1] });
    await job.claimed;
    job.heartbeat.cancelled = true;
    expect(await job.result).toMatchObject({
      success: false,
      outcome: 'unknown',
      cancelled: false,
      error_message: 'cancelled: it is not known what attempt 1 did',
    });
    await target.query('select pg_advisory_unlock_all()');
  });

  it('reports the commit when the cancel comes after COMMIT was sent (AP-44)', async () => {
    const job = await standingCommit('update parts set qty = 77 where id = 1');
    job.heartbeat.cancelled = true;
    const { heartbeats } = job;
    await eventually(() => job.heartbeats > heartbeats + 1);
    await target.query('select pg_advisory_unlock(1)');
    expect(await job.result).toMatchObject({ success: true, outcome: 'committed', rows_affected: 1 });
    expect(await quantity(1)).toBe(77);
  });

  it('proves by marker and lock that a COMMIT ended by the server was rolled back (AP-37)', async () => {
    const job = await standingCommit('update parts set qty = 78 where id = 1');
    await endActive(target, 'terminate', 'commit');
    await target.query('select pg_advisory_unlock(1)');
    expect(await job.result).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect(await quantity(1)).toBe(10);
    expect(await markers(job.requestId)).toEqual([]);
  });

  it.each([
    ['off', 'on'],
    ['remote_apply', 'remote_apply'],
  ])('says that a change is there only when it is on disk: synchronous_commit %s becomes %s', async (wished, used) => {
    const other = await startFakeGateway();
    const url = `${database.url}?options=${encodeURIComponent(`-c synchronous_commit=${wished}`)}`;
    const wishing = startTestAgent({ gateway: other, url });
    const detail = "update parts set qty = 11 where id = 1 returning current_setting('synchronous_commit') as used";
    const { result_data } = await other.offer({ operation: 'execute_dml', detail }).result;
    expect(JSON.parse(result_data as string)).toMatchObject({ rows: [{ used }] });
    wishing.stop();
    await wishing.exit;
    await other.close();
  });

  describe('what was set before COMMIT', () => {
    const noting = `
      create or replace function note() returns trigger language plpgsql as $$ begin
        insert into noted values (current_setting('synchronous_commit')); return null; end $$;
      drop table if exists noted;
      create table noted (at_commit text);
      create constraint trigger note after update on parts deferrable initially deferred for each row execute function note();`;

    it.each([
      ['off', 'on'],
      ['remote_apply', 'remote_apply'],
    ])('does not let a commit be reported before it is on disk (synchronous_commit %s by the address)', async (wished, used) => {
      await target.query(noting);
      const other = await startFakeGateway();
      const url = `${database.url}?options=${encodeURIComponent(`-c synchronous_commit=${wished}`)}`;
      const wishing = startTestAgent({ gateway: other, url, head: 'operations = ["execute_dml", "migrate_up"]' });
      const update = 'update parts set qty = 0 where id = 1';
      const weaken = `select set_config('synchronous_commit', 'off', true)`;
      expect(await other.offer({ operation: 'execute_dml', detail: `${weaken}; ${update}` }).result).toMatchObject({
        success: true,
      });
      for (const [index, first] of [weaken, 'set synchronous_commit = off', 'reset all'].entries()) {
        const detail = bundleOf('up', [{ version: `${used.length}.${index}`, up: `${first}; ${update}` }]);
        expect(await other.offer({ operation: 'migrate_up', detail }).result).toMatchObject({ success: true });
      }
      const { rows } = await target.query('select at_commit from noted');
      expect(rows.map(({ at_commit }) => at_commit)).toEqual([used, used, used, used]);
      wishing.stop();
      await wishing.exit;
      await other.close();
    });
  });

  it('leaves no lock, setting or temporary table on the connection (AP-I6)', async () => {
    await run("set lock_timeout = '3s'; create temp table leftover (a int); insert into leftover values (1)");
    await run('update parts set qty = 5 where id = 1');
    const left = `
      select 1 from pg_locks join pg_database on pg_database.oid = pg_locks.database
      where locktype = 'advisory' and datname = current_database()
      union all select 1 from pg_class where relname = 'leftover'`;
    await eventually(async () => (await target.query(left)).rows.length === 0);
  });
});
