import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createFailureLog } from '../../agent/log.js';
import { untilActive } from '../support/active-statement.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent, type TestAgentOptions } from '../support/test-agent.js';

let database: TestDatabase;
let target: pg.Client;
let gateway: FakeGateway;
let agent: TestAgent;

beforeAll(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
});
afterAll(async () => {
  await target.end();
  await database.drop();
});

function start(options: Partial<TestAgentOptions> = {}): void {
  agent = startTestAgent({ gateway, url: database.url, ...options });
}

const write = (detail: string) => gateway.offer({ operation: 'execute_dml', detail });
const waits = ({ wait_ms: ms }: Record<string, unknown>) => Number(ms) > 0;
const logged = (text: string) => agent.lines.filter((line) => line.includes(text));

describe('the main loop', () => {
  beforeEach(async () => {
    gateway = await startFakeGateway();
  });
  afterEach(async () => {
    agent.stop();
    await agent.exit;
    await gateway.close();
  });

  it('ends the wait of a poll that had no slot as soon as one is free (AP-07)', async () => {
    // Without that the second job would wait for the end of a poll of 30 s, longer than this test may take.
    start({ head: 'max_concurrent_tasks = 1', pollWaitMs: 30_000 });
    await target.query('select pg_advisory_lock(7)');
    const first = write('select pg_advisory_xact_lock(7)');
    await untilActive(target, 'pg_advisory_xact_lock(7)');
    const second = write('select 1');
    await target.query('select pg_advisory_unlock(7)');
    expect(await first.result).toMatchObject({ success: true });
    expect(await second.result).toMatchObject({ success: true });
  });

  it('holds the slot of a job until its result is acknowledged, and heartbeats as long (AP-09, AP-81)', async () => {
    start({ head: 'max_concurrent_tasks = 1', pollWaitMs: 50, timings: { resultBackoffMs: [100], heartbeatMs: 20 } });
    const first = gateway.offer({ detail: 'select 1' });
    first.resultStatuses = [503, 503, 503];
    await first.claimed;
    const second = gateway.offer({ detail: 'select 2' });
    await eventually(() => first.submissions.length >= 2);
    expect(second.claims).toEqual([]);
    const beats = first.heartbeats;
    await eventually(() => first.heartbeats > beats);
    await second.result;
    expect(first.submissions).toHaveLength(4);
    expect(gateway.polls.filter(({ limit }) => limit === 0).length).toBeGreaterThan(1);
    const ended = first.heartbeats;
    await gateway.nextPoll();
    await gateway.nextPoll();
    expect(first.heartbeats, 'none after the acknowledgement').toBe(ended);
  });

  it('goes on with a job whose heartbeats fail, and says so (AP-81)', async () => {
    start({ timings: { heartbeatMs: 20 } });
    await target.query('select pg_advisory_lock(1)');
    const job = write('select pg_advisory_xact_lock(1)');
    job.heartbeat = { status: 500, cancelled: true };
    await eventually(() => job.heartbeats > 1 && logged('heartbeat refused').length > 0);
    await target.query('select pg_advisory_unlock(1)');
    expect(await job.result).toMatchObject({ success: true, outcome: 'committed' });
  });

  it('claims with a new claim_id each, and repeats one that is never answered until its lease must be over (AP-08)', async () => {
    start({ timings: { claimGiveUpMs: 1000 } });
    const silent = gateway.offer({ detail: 'select 1' });
    silent.claimStatuses = Array.from({ length: 1000 }, (_, n) => [500, 502, 503][n % 3]!);
    const fine = gateway.offer({ detail: 'select 2' });
    await fine.result;
    const ids = () => silent.claims.map(({ claim_id: id }) => id);
    await eventually(() => new Set(ids()).size > 1);
    expect(ids().indexOf(ids().at(-1)), 'a later poll offers it again').toBeGreaterThan(4);
    expect(ids()).not.toContain(fine.claims[0]?.claim_id);
    silent.claimStatuses = [409];
  });

  it('runs a job whose claim is answered only after many repetitions, as by a server that was away (AP-08)', async () => {
    start();
    const job = gateway.offer({ detail: 'select 1' });
    job.claimStatuses = Array.from({ length: 30 }, () => 503);
    expect(await job.result).toMatchObject({ success: true });
    expect(job.claims).toHaveLength(31);
    expect(new Set(job.claims.map(({ claim_id: id }) => id)).size).toBe(1);
  });

  it.each<[string, (claim: Record<string, unknown>) => Record<string, unknown>]>([
    ['is of another job', (claim) => ({ ...claim, request_id: crypto.randomUUID() })],
    ['lacks its token', ({ execution_token: _, ...claim }) => claim],
    ['has a fence that is no number', (claim) => ({ ...claim, fence: '1' })],
    ['names an execution that is no id', (claim) => ({ ...claim, execution_id: '../x' })],
  ])('takes a claim answer that %s for none, and claims again with the same claim_id (section 12)', async (_, spoil) => {
    let answers = 0;
    start();
    const job = gateway.offer({
      detail: 'select 1',
      forge: (claim) => {
        answers += 1;
        return answers < 3 ? spoil(claim) : claim;
      },
    });
    expect(await job.result).toMatchObject({ success: true });
    expect(job.claims).toHaveLength(3);
    expect(new Set(job.claims.map(({ claim_id: id }) => id)).size).toBe(1);
    expect(logged('claim not answered')).toHaveLength(2);
  });

  it('runs the real claim after a forged one of the same attempt (ET-39)', async () => {
    start();
    const forge = (claim: Record<string, unknown>) => ({ ...claim, detail: 'select 2' });
    const forged = gateway.offer({ detail: 'select 1', forge });
    expect((await forged.result).error_message).toBe('token verification failed: detail_hash mismatch');
    expect(await gateway.offer({ detail: 'select 1', requestId: forged.requestId }).result).toMatchObject({ success: true });
  });

  it('names no fence in the report of a claim that it could not verify: it may be the wrong one (ET-41)', async () => {
    start();
    const forge = (claim: Record<string, unknown>) => ({ ...claim, fence: 9 });
    expect(await gateway.offer({ detail: 'select 1', forge }).result).toMatchObject({ outcome: 'not_started', fence: null });
  });

  it('survives polls that no agent can read, and takes work again (section 12, AP-82)', async () => {
    start({ pollWaitMs: 50 });
    await gateway.nextPoll();
    for (const extra of [
      { jobs: null },
      { agent_id: 7 },
      { server_time: undefined },
      { dry_run_jobs: [{}] },
      { upgrade_required: 'no' },
    ]) {
      const before = logged('poll failed').length;
      gateway.pollExtra = extra;
      await eventually(() => logged('poll failed').length > before);
      gateway.pollExtra = {};
      expect(await gateway.offer({ detail: 'select 1' }).result).toMatchObject({ success: true });
    }
  });

  it('sends no claim after the first stop signal, not even for what a poll under way was offered (AP-I10)', async () => {
    start();
    await gateway.nextPoll((body) => Number(body.limit) > 0);
    agent.stop();
    const late = [1, 2, 3].map(() => gateway.offer({ detail: 'select 1' }));
    expect(await agent.exit).toBe(0);
    expect(late.flatMap(({ claims }) => claims)).toEqual([]);
    expect(gateway.polls.filter(({ status }) => (status as { draining: boolean }).draining)).toHaveLength(2);
  });

  it('asks at once again after a poll without an answer: what that claimed has a lease that runs (AG-81)', async () => {
    start({ pollWaitMs: 30_000, timings: { pollClaimsMs: 0 } });
    await gateway.nextPoll(waits);
    gateway.pollExtra = { jobs: null };
    const next = gateway.nextPoll();
    write('select 1');
    expect(await next).toMatchObject({ wait_ms: 0, claim: true });
    const waiting = gateway.nextPoll(waits);
    gateway.pollExtra = {};
    expect(await waiting).toMatchObject({ wait_ms: 30_000, claim: true });
  });

  it('lets a poll claim that no slot of an EXPLAIN can cut short, and otherwise not (AP-07, AG-80)', async () => {
    start({ head: 'max_concurrent_explains = 1', pollWaitMs: 50 });
    await gateway.nextPoll(waits);
    await target.query('create table busy (id int)');
    await target.query('begin');
    await target.query('lock table busy');
    const full = gateway.nextPoll(({ limit, explain_limit: room }) => Number(limit) > 0 && room === 0);
    const [id, timeout_ms, expires_at] = [crypto.randomUUID(), 60_000, new Date(Date.now() + 60_000).toISOString()];
    const job = { id, database: 'shop', environment: 'staging', sql: 'select * from busy', timeout_ms, expires_at };
    gateway.offerExplains({ preflight_jobs: [{ ...job, claim_token: crypto.randomUUID() }] });
    expect(await full).toMatchObject({ claim: false });
    await target.query('rollback');
    await target.query('drop table busy');
    expect(await gateway.nextPoll(({ explain_limit: room }) => room === 1)).toMatchObject({ claim: true });
  });

  it('verifies before it classifies, and classifies before it looks at the database (AP-20, AP-I2)', async () => {
    start();
    const forge = (claim: Record<string, unknown>) => ({ ...claim, fence: 9 });
    expect((await gateway.offer({ detail: 'no sql', forge }).result).error_message).toBe(
      'token verification failed: fence mismatch',
    );
    expect((await gateway.offer({ operation: 'vanish', detail: 'no sql', database: 'none' }).result).error_message).toBe(
      'unsupported operation: vanish',
    );
    expect((await gateway.offer({ detail: 'drop table x', database: 'none' }).result).error_message).toMatch(/^config error: /);
    const refused = await gateway.offer({ operation: 'execute_dml', detail: 'select 1; rollback' }).result;
    expect(refused).toMatchObject({ outcome: 'not_started', error_message: expect.stringMatching(/^refused: /) });
    const seen = await target.query(
      `select count(*)::int as n from pg_stat_activity where query like '%select 1; rollback%' and datname = current_database() and pid <> pg_backend_pid()`,
    );
    expect(seen.rows).toEqual([{ n: 0 }]);
  });
});

it('logs the first three failures in a row, then one line in a while (AP-04, AP-82)', () => {
  const lines: number[] = [];
  const write = (_: string, fields: { failures?: unknown } = {}) => void lines.push(fields.failures as number);
  const log = { error: write, warn: write, info: write, debug: write };
  const rare = createFailureLog(log, 3_600_000);
  for (let n = 0; n < 10; n += 1) rare.failed('x');
  expect([lines, rare.count]).toEqual([[1, 2, 3], 10]);
  rare.succeeded();
  rare.failed('x');
  expect(lines).toEqual([1, 2, 3, 1]);
  const often = createFailureLog(log, 0);
  for (let n = 0; n < 5; n += 1) often.failed('x');
  expect(lines.slice(4)).toEqual([1, 2, 3, 4, 5]);
});
