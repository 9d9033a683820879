import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { endActive, untilActive } from '../support/active-statement.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

let database: TestDatabase;
let gateway: FakeGateway;
let agent: TestAgent;
let target: pg.Client;

const tables = 'explain_functions = ["sneaky", "public.slow"]\n[schema_sync]\nenabled = false\n';

beforeAll(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
  await target.query(`
    create table parts (id int primary key, name text);
    insert into parts values (1, 'bolt'), (2, 'nut');
    create function writes() returns int language plpgsql as $$ begin insert into parts values (99, 'x'); return 1; end $$;
    create function sneaky() returns int language plpgsql immutable as $$ begin return writes(); end $$;
    create function slow() returns int language plpgsql immutable as $$ begin perform pg_sleep(60); return 1; end $$;
    create view many as ${Array.from({ length: 1500 }, (_, n) => `select * from parts p${n}`).join(' union all ')};
  `);
  gateway = await startFakeGateway();
  const polled = gateway.nextPoll((body) => body.explain_limit === 2);
  agent = startTestAgent({ gateway, url: database.url, tables });
  await polled;
});
beforeEach(() => {
  gateway.explainCalls.length = 0;
  gateway.explainStatuses.length = 0;
  gateway.proxyStatuses.length = 0;
});
afterAll(async () => {
  agent.stop();
  expect(await agent.exit).toBe(0);
  await gateway.close();
  await target.end();
  await database.drop();
});

const job = (sql: string, over: object = {}) => ({ id: randomUUID(), database: 'shop', environment: 'staging', sql, ...over });
const preflight = (sql: string, over: object = {}) =>
  job(sql, { claim_token: 'mine', timeout_ms: 5000, expires_at: new Date(Date.now() + 10_000).toISOString(), ...over });

/** What the agent posts for one preflight job. */
async function planOf(sql: string, over: object = {}): Promise<Record<string, unknown>> {
  const offered = preflight(sql, over);
  gateway.offerExplains({ preflight_jobs: [offered] });
  await expect.poll(() => gateway.explainCalls.length).toBe(1);
  const { path, body } = gateway.explainCalls.splice(0)[0]!;
  expect([path, body.job_id, body.claim_token]).toEqual(['/api/agent/preflight-result', offered.id, 'mine']);
  return body;
}
const rows = async () => (await target.query('select count(*)::int as n from parts')).rows[0].n;

describe('EXPLAIN on PostgreSQL (AP-60)', () => {
  it.each([
    ['select * from parts where id = 1', 'Index Scan'],
    ['values (1)', 'Result'],
    ['table parts', 'Seq Scan'],
    ['with a as (select 1) select * from a', 'Result'],
    ["insert into parts values (3, 'x')", 'ModifyTable'],
    ["update parts set name = 'x' where id = 1", 'ModifyTable'],
    ['delete from parts where id = 1;', 'ModifyTable'],
    ['merge into parts p using parts q on p.id = q.id when matched then delete', 'ModifyTable'],
  ])('plans %s without running it', async (sql, node) => {
    const { result, error } = await planOf(sql);
    expect(error).toBeUndefined();
    expect((result as { Plan: object }[])[0]?.Plan).toHaveProperty('Node Type', node);
    expect(await rows()).toBe(2);
  });

  it.each([
    ['select 1; select 2', 'refused: '],
    ["set timezone = 'UTC'; select 1", 'EXPLAIN is not available for this statement'],
    ['create table t (id int)', 'EXPLAIN is not available for this statement'],
    ['explain select 1', 'EXPLAIN is not available for this statement'],
    ['commit', 'refused: '],
    ['grant all on parts to public', 'refused: '],
    ['select * from nowhere', 'driver error: query failed: relation "nowhere" does not exist (SQLSTATE 42P01'],
    ['', 'EXPLAIN is not available for this statement'],
  ])('tells why there is no plan of %s', async (sql, text) => {
    const { result, error } = await planOf(sql);
    expect(result).toBeUndefined();
    expect(error).toContain(text);
  });

  it('lets nothing write while it plans: the transaction is read-only (AP-I1)', async () => {
    const { error } = await planOf("update parts set name = 'x' where id = sneaky()");
    expect(error).toContain('SQLSTATE 25006');
    expect(await rows()).toBe(2);
  });

  it('ends at the timeout of its job, also when it waits for a lock', async () => {
    await target.query('begin; lock table parts in access exclusive mode');
    const { error } = await planOf('select * from parts', { timeout_ms: 100 });
    await target.query('rollback');
    expect(error).toContain('SQLSTATE 57014');
  });

  it('tells of a scope that it does not serve, and drops a job that nobody waits for', async () => {
    expect((await planOf('select 1', { database: 'other' })).error).toBe(
      'config error: no pool for database=other environment=staging',
    );
    const late = preflight('select 1', { expires_at: new Date(Date.now() - 1).toISOString() });
    gateway.offerExplains({ preflight_jobs: [late] });
    expect((await planOf('select 2')).job_id).not.toBe(late.id);
  });

  it('sends a plan above the limit as an error (AG-70)', async () => {
    expect(await planOf('select * from many')).toMatchObject({ error: 'plan too large' });
  });

  it('sends the error too when the server does not take the plan, and repeats what was not answered', async () => {
    gateway.explainStatuses.push(503, 413, 200);
    gateway.offerExplains({ preflight_jobs: [preflight('select 1')] });
    await expect.poll(() => gateway.explainCalls.length).toBe(3);
    const [first, second, third] = gateway.explainCalls;
    expect(first?.body).toHaveProperty('result');
    expect(second?.body).toEqual(first?.body);
    expect(third?.body.error).toBe('plan too large');
  });

  it.each([400, 401, 403, 404, 408, 410])('AG-50: sends a plan again after the %i of a proxy', async (status) => {
    gateway.proxyStatuses.push(status);
    gateway.offerExplains({ preflight_jobs: [preflight('select 1')] });
    await expect.poll(() => gateway.explainCalls.length, { timeout: 5000 }).toBe(2);
    const [first, second] = gateway.explainCalls;
    expect(second?.body).toHaveProperty('result');
    expect(second?.body).toEqual(first?.body);
  });
});

describe('dry-run jobs (AP-80)', () => {
  /** Waits until the agent has no EXPLAIN job left: what it posts for one is seen before its slot is free. */
  const idle = async () => {
    let free = false;
    void gateway
      .nextPoll((body) => body.explain_limit === 2)
      .then(() => {
        free = true;
      });
    await eventually(async () => {
      gateway.offerExplains({});
      return free;
    });
  };
  beforeEach(idle);

  it('are claimed and answered', async () => {
    const offered = job('select * from parts', { request_id: randomUUID() });
    gateway.offerExplains({ dry_run_jobs: [offered] });
    await expect.poll(() => gateway.explainCalls.length).toBe(2);
    const [claim, result] = gateway.explainCalls;
    expect(claim?.path).toBe(`/api/agent/dry-run/${offered.id}/claim`);
    expect(result?.path).toBe(`/api/agent/dry-run/${offered.id}/result`);
    expect(result?.body).toMatchObject({ claim_token: 'token', result: [{ Plan: { 'Node Type': 'Seq Scan' } }] });
  });

  it('are left to the agent that has claimed them', async () => {
    gateway.explainStatuses.push(409);
    gateway.offerExplains({ dry_run_jobs: [job('select 1', { request_id: randomUUID() })] });
    await expect.poll(() => gateway.explainCalls.length).toBe(1);
    await idle();
    expect(gateway.explainCalls).toHaveLength(1);
  });

  it('never take more than the explain slots, nor those of jobs', async () => {
    const slow = () => job('select * from parts where id = slow()', { request_id: randomUUID() });
    const polled = gateway.nextPoll((body) => body.explain_limit === 0);
    gateway.offerExplains({ dry_run_jobs: [slow(), slow(), slow()] });
    expect(await polled).toMatchObject({ explain_limit: 0, limit: 8, status: { in_flight: 0, in_flight_preflight: 0 } });
    await untilActive(target, 'slow');
    expect(gateway.explainCalls.filter(({ path }) => path.endsWith('claim'))).toHaveLength(2);
    const freed = gateway.nextPoll((body) => body.explain_limit !== 0);
    await endActive(target, 'cancel', 'slow()');
    await freed;
    await idle();
  });
});
