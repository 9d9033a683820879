import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { untilActive } from '../support/active-statement.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { type SwallowingProxy, startSwallowingProxy } from '../support/swallowing-proxy.js';
import { startTestAgent, type TestAgent, type TestAgentOptions } from '../support/test-agent.js';

let database: TestDatabase;
let target: pg.Client;
let proxy: SwallowingProxy;
let proxied: string;
let gateway: FakeGateway;
const agents: TestAgent[] = [];

beforeAll(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
  await target.query('create table parts (id int primary key, qty int); insert into parts values (1, 10)');
  const address = new URL(database.url);
  proxy = await startSwallowingProxy(Number(address.port));
  proxied = Object.assign(address, { host: `127.0.0.1:${proxy.port}` }).href;
});

beforeEach(async () => {
  gateway = await startFakeGateway();
  proxy.up = true;
  proxy.onClientData = null;
});

afterEach(async () => {
  for (const agent of agents.splice(0)) {
    agent.stop();
    await agent.exit;
  }
  await gateway.close();
});

afterAll(async () => {
  await proxy.close();
  await target.end();
  await database.drop();
});

function start(options: Partial<TestAgentOptions> = {}): TestAgent {
  const agent = startTestAgent({ gateway, url: database.url, ...options });
  agents.push(agent);
  return agent;
}

describe('life of the agent', () => {
  it('describes itself in polls, and is ready after the first one (section 3, AP-16)', async () => {
    const agent = start();
    await gateway.nextPoll((body) => Number(body.limit) > 0);
    expect(gateway.polls[0]).toMatchObject({ limit: 0, wait_ms: 0, explain_limit: 0 });
    expect(gateway.polls.at(-1)).toMatchObject({
      agent_version: '0.1.0',
      capabilities: {
        scopes: [{ database: 'shop', environment: 'staging', marker: true }],
        operations: ['execute_select', 'execute_dml', 'migrate_up', 'migrate_down', 'migrate_status'],
        features: ['fence', 'marker_executions', 'max_affected_rows', 'cancel_in_poll', 'claim_in_poll', 'schema_sync'],
      },
      status: { in_flight: 0, max_concurrent: 8, draining: false, active_jobs: [] },
      limit: 8,
      wait_ms: 5000,
    });
    expect(existsSync(join(agent.directory, 'svc-agent-ready'))).toBe(true);
    expect(existsSync(join(agent.directory, 'svc-agent-alive'))).toBe(true);
  });

  it('never takes more jobs than it has slots, and runs them in parallel (AP-07, AP-09)', async () => {
    start({ head: 'max_concurrent_tasks = 2' });
    const jobs = [1, 2, 3].map(() => gateway.offer({ operation: 'execute_dml', detail: 'select pg_sleep(0.2)' }));
    await Promise.all(jobs.map((job) => job.result));
    const inFlight = gateway.polls.map((poll) => (poll.status as { in_flight: number }).in_flight);
    expect(Math.max(...inFlight)).toBe(2);
    expect(jobs.map((job) => job.claims.length)).toEqual([1, 1, 1]);
  });

  it('repeats an unanswered claim with the same claim_id, and skips one that another agent took (AP-08)', async () => {
    start();
    const repeated = gateway.offer({ detail: 'select 1' });
    repeated.claimStatuses = [500, 503];
    const taken = gateway.offer({ detail: 'select 2' });
    taken.claimStatuses = [409];
    expect(await repeated.result).toMatchObject({ success: true });
    expect(new Set(repeated.claims.map((claim) => claim.claim_id)).size).toBe(1);
    expect(repeated.claims).toHaveLength(3);
    expect(taken.claims).toHaveLength(1);
    expect(taken.submissions).toEqual([]);
  });

  it('repeats a result until it is answered, and takes 409, 410 and 413 as final (AG-50, AP-41)', async () => {
    const agent = start();
    const retried = gateway.offer({ detail: 'select 1' });
    retried.resultStatuses = [503, 429, 500];
    await retried.result;
    expect(retried.submissions).toHaveLength(4);
    expect(new Set(retried.submissions.map((body) => JSON.stringify(body))).size).toBe(1);
    for (const status of [409, 410, 413]) {
      const job = gateway.offer({ detail: 'select 1' });
      job.resultStatuses = [status];
      await job.result;
      await eventually(() => agent.lines.some((line) => line.includes('result refused') && line.includes(`"status":${status}`)));
      expect(job.submissions).toHaveLength(1);
    }
  });

  it('does not start an attempt twice (ET-39)', async () => {
    const agent = start();
    const first = gateway.offer({ detail: 'select 1' });
    await first.result;
    gateway.offer({ detail: 'select 1', requestId: first.requestId });
    await eventually(() => agent.lines.some((line) => line.includes('already started')));
  });

  it.each([
    ['a changed text', (claim: object) => ({ ...claim, detail: 'select 2' }), 'detail_hash mismatch'],
    ['a changed limit', (claim: object) => ({ ...claim, max_rows: 5 }), 'max_rows mismatch'],
    ['a plan', (claim: object) => ({ ...claim, execution_plan_json: '[]' }), 'execution plan not supported'],
    ['a token that is no JSON', (claim: object) => ({ ...claim, execution_token: '{' }), 'invalid token JSON: not a JSON text'],
  ])('runs nothing for a claim with %s (ET-41)', async (_, forge, why) => {
    start();
    expect(await gateway.offer({ detail: 'select 1', forge }).result).toMatchObject({
      success: false,
      outcome: 'not_started',
      error_message: `token verification failed: ${why}`,
    });
  });

  it('fetches the keys again for an unknown key, and knows only listed ones (ET-27)', async () => {
    gateway.listedKeys = [signingKeyFromSeed(new Uint8Array(32).fill(9))];
    start();
    expect((await gateway.offer({ detail: 'select 1' }).result).error_message).toBe('token verification failed: unknown key');
    gateway.listedKeys = [gateway.key];
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await gateway.offer({ detail: 'select 1' }).result).toMatchObject({ success: true });
  });

  it('refuses operations that it was not configured for or does not know (AP-24)', async () => {
    start({ head: "operations = ['execute_select']" });
    for (const operation of ['execute_dml', 'migrate_up', 'vanish']) {
      expect(await gateway.offer({ operation, detail: 'select 1' }).result).toMatchObject({
        outcome: 'not_started',
        error_message: `unsupported operation: ${operation}`,
      });
    }
    expect((await gateway.offer({ detail: 'select 1', database: 'other' }).result).error_message).toBe(
      'config error: no pool for database=other environment=staging',
    );
  });

  it('takes a database out of the polls after two connectivity failures, and brings it back (AP-15)', async () => {
    start({ url: proxied });
    expect(await gateway.offer({ detail: 'select 1' }).result).toMatchObject({ success: true });
    proxy.up = false;
    proxy.cut();
    for (const _ of [1, 2]) {
      const result = await gateway.offer({ detail: 'select 1' }).result;
      expect(result).toMatchObject({ success: false, outcome: 'not_started' });
      expect(result.error_message).toMatch(/^driver error: connection failed: [A-Z]+(, [a-z ]+)?$/);
    }
    const scopes = (body: Record<string, unknown>) => (body.capabilities as { scopes: unknown[] }).scopes;
    if (scopes(gateway.polls.at(-1) ?? {}).length > 0) {
      gateway.offer({ detail: 'select 1' });
      await gateway.nextPoll((body) => scopes(body).length === 0);
    }
    proxy.up = true;
    await gateway.nextPoll((body) => scopes(body).length === 1);
    expect(await gateway.offer({ detail: 'select 1' }).result).toMatchObject({ success: true });
  });

  it('proves a commit whose answer was lost (AP-37)', async () => {
    start({ url: proxied });
    await gateway.nextPoll((body) => Number(body.limit) > 0);
    proxy.onClientData = (data) => (data.includes('commit\0') ? 'drop' : 'pass');
    const result = await gateway.offer({ operation: 'execute_dml', detail: 'update parts set qty = 11 where id = 1' }).result;
    expect(result).toMatchObject({ success: true, outcome: 'committed', rows_affected: 1 });
    expect((await target.query('select qty from parts')).rows).toEqual([{ qty: 11 }]);
  });

  it('runs without markers where none can be written, unless they are required (AP-52)', async () => {
    const role = `nomark_${Date.now()}`;
    await target.query(`create role ${role} login password 'x'; grant select, update on parts to ${role}`);
    const url = Object.assign(new URL(database.url), { username: role, password: 'x' }).href;
    await target.query('alter table if exists svc.svc_execution_marker rename to elsewhere');
    const loose = start({ url });
    const detail = 'update parts set qty = 12 where id = 1';
    await gateway.nextPoll((body) => JSON.stringify(body).includes('"marker":false'));
    expect(loose.lines.join()).toContain('no marker rows can be written');
    expect(await gateway.offer({ operation: 'execute_dml', detail, marker: 'none' }).result).toMatchObject({
      outcome: 'committed',
    });
    expect(await gateway.offer({ operation: 'execute_dml', detail }).result).toMatchObject({
      outcome: 'not_started',
      error_message: 'marker table not available',
    });
    loose.stop();
    await loose.exit;
    start({ url, tables: "[marker]\nmode = 'required'" });
    expect(await gateway.offer({ operation: 'execute_dml', detail, marker: 'none' }).result).toMatchObject({
      outcome: 'not_started',
      error_message: 'marker table not available',
    });
    await target.query(
      `alter table if exists svc.elsewhere rename to svc_execution_marker; drop owned by ${role}; drop role ${role}`,
    );
  });

  it('takes no jobs and is not ready while the clocks differ or an upgrade is demanded (ET-42, AP-83)', async () => {
    gateway.pollExtra = { server_time: new Date(Date.now() - 60_000).toISOString() };
    const agent = start({ pollWaitMs: 300 });
    await gateway.nextPoll((body) => Number(body.wait_ms) > 0);
    expect(gateway.polls.map((poll) => poll.limit)).toEqual([0, 0]);
    expect(existsSync(join(agent.directory, 'svc-agent-ready'))).toBe(false);
    gateway.pollExtra = { upgrade_required: true };
    const job = gateway.offer({ detail: 'select 1' });
    await gateway.nextPoll();
    expect(gateway.polls.at(-1)).toMatchObject({ limit: 0 });
    gateway.pollExtra = {};
    expect(await job.result).toMatchObject({ success: true });
    expect(existsSync(join(agent.directory, 'svc-agent-ready'))).toBe(true);
  });

  it('loses readiness after six failed polls in a row and survives them (AP-82)', async () => {
    const agent = start();
    await gateway.nextPoll((body) => Number(body.limit) > 0);
    gateway.pollStatus = 401;
    gateway.offer({ detail: 'select 1' });
    await eventually(() => !existsSync(join(agent.directory, 'svc-agent-ready')));
    gateway.pollStatus = 200;
    expect(await gateway.offer({ detail: 'select 1' }).result).toMatchObject({ success: true });
  });

  it('finishes running jobs after the first signal and claims nothing more (AP-17, AP-I10)', async () => {
    const agent = start();
    const job = gateway.offer({ operation: 'execute_dml', detail: 'select pg_sleep(0.3)' });
    await job.claimed;
    agent.stop();
    const late = gateway.offer({ detail: 'select 1' });
    expect(await agent.exit).toBe(0);
    expect(await job.result).toMatchObject({ success: true });
    expect(late.claims).toEqual([]);
    expect(gateway.polls.at(-1)).toMatchObject({ limit: 0, status: { draining: true, in_flight: 0 } });
    expect(existsSync(join(agent.directory, 'svc-agent-alive'))).toBe(false);
  });

  it('cancels running jobs at the drain timeout and submits their failure (AP-18)', async () => {
    const agent = start({ head: 'drain_timeout_secs = 0' });
    const job = gateway.offer({ operation: 'execute_dml', detail: 'update parts set qty = 0; select pg_sleep(30)' });
    await untilActive(target, 'pg_sleep(30)');
    agent.stop();
    expect(await agent.exit).toBe(1);
    expect(await job.result).toMatchObject({
      success: false,
      outcome: 'rolled_back',
      cancelled: false,
      error_message: 'agent stopped',
    });
  });
});

describe('start of the agent', () => {
  it('exits at once when the token is refused or no usable key is listed (AP-05)', async () => {
    gateway.listedKeys = [];
    const agent = start();
    expect(await agent.exit).toBe(1);
    expect(agent.lines.join()).toContain('no usable public key');
  });

  it('exits when no database is reached in time, and stops cleanly before it is ready (AP-06)', async () => {
    proxy.up = false;
    const failing = start({ url: proxied, head: 'startup_max_wait_secs = 1' });
    expect(await failing.exit).toBe(1);
    expect(failing.lines.join()).toContain('startup timeout exceeded');
    const stopped = start({ url: proxied });
    await new Promise((resolve) => setTimeout(resolve, 50));
    stopped.stop();
    expect(await stopped.exit).toBe(0);
  });
});
