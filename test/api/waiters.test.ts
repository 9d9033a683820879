import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleText } from '../domain/migration/bundles.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { share } from '../support/share.js';
import { type Agent, type AgentCalls, agentCalls, type Body, idsOf, pollBody, scope } from './agent-calls.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { untilWaiting } from './until-waiting.js';

const toml = `${callsToml}\n[preflight]\nmax_explain_timeout_ms = 20000\n`;
const waiterCount = share(300, 2000);

let api: TestApi;
let other: TestApi;
let calls: AgentCalls;
let elsewhere: GatewayCalls;
let owner: string;
let approver: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  other = await api.another();
  calls = await agentCalls(api);
  elsewhere = gatewayCalls(other);
  owner = await api.createUser('owner', { roles: ['requester'] });
  approver = await api.createUser('approver', { roles: ['requester'], groups: ['dba-team'] });
  await calls.poll(['shop/staging', 'shop/production']);
});
afterAll(async () => {
  await other?.close();
  await api?.close();
});

/** Changes the gateway's database as its superuser. */
async function asAdmin(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: api.database.adminUrl });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

/** How many calls wait in a process. */
async function waiting(where: TestApi): Promise<number> {
  const { values } = await where.services.metrics.longPolls.get();
  return values.reduce((sum, { value }) => sum + value, 0);
}

/** Starts calls that wait, as many at a time as a machine lets connect at once. */
async function inParts<T>(count: number, start: () => Promise<T>): Promise<Promise<T>[]> {
  const started: Promise<T>[] = [];
  const before = await waiting(api);
  while (started.length < count) {
    for (let n = 0; n < 100; n += 1) started.push(start());
    await expect.poll(() => waiting(api), { timeout: 60_000, interval: 20 }).toBe(before + started.length);
  }
  return started;
}

describe(`${waiterCount} waiting calls`, () => {
  it('HT-101, HT-I8: hold no connection to our database and no transaction, other calls go on, and one commit ends them all', async () => {
    const id = await calls.created(owner);
    const sessions = () =>
      calls.sql<{ open: number; busy: number }>(
        `select count(*) as open, count(*) filter (where state <> 'idle' and pid <> pg_backend_pid()) as busy
         from pg_stat_activity where datname = current_database()`,
      );
    const leaving = new AbortController();
    const stay = await inParts(waiterCount - 100, () => calls.show(owner, id, '?wait=120'));
    const leave = await inParts(100, () => calls.show(owner, id, '?wait=120', leaving.signal).catch(() => null));
    // Both pools and both listeners, however many wait.
    await expect.poll(async () => (await sessions())[0]!.busy, { timeout: 60_000 }).toBe(0);
    expect((await sessions())[0]!.open).toBeLessThanOrEqual(2 * (10 + 1));
    expect((await calls.list(owner, '?limit=1')).status).toBe(200);
    leaving.abort();
    await Promise.all(leave);
    await expect.poll(() => waiting(api), { timeout: 60_000 }).toBe(waiterCount - 100);
    await elsewhere.act(approver, id, 'approve');
    const ends = new Set((await Promise.all(stay)).map(({ status, body }) => `${status} ${body.status}`));
    expect([...ends]).toEqual(['200 approved']);
    expect(await waiting(api)).toBe(0);
  }, 180_000);
});

/** Everything is committed at the other process, which can tell nobody; each wait is longer than its test may take. */
describe('what is committed while NOTIFY never goes out', () => {
  const agentOf = (name: string): Promise<Agent> => calls.known(pollBody({ limit: 0 }, { scopes: [scope('shop', name)] }));
  const longPoll = (agent: Agent, name: string, over: Body = {}) =>
    untilWaiting(api, () => agent.poll(pollBody({ wait_ms: 30_000, ...over }, { scopes: [scope('shop', name)] })));
  beforeAll(() => asAdmin('revoke execute on function pg_notify(text, text) from public'));
  afterAll(() => asAdmin('grant execute on function pg_notify(text, text) to public'));

  it('HT-102: wakes who waits for a request', async () => {
    const id = await elsewhere.created(owner);
    const { answer } = await untilWaiting(api, () => calls.show(owner, id, '?wait=120'));
    await elsewhere.act(approver, id, 'approve');
    expect((await answer).body.status).toBe('approved');
  });

  it('HT-102: wakes who waits for a result', async () => {
    const id = await elsewhere.created(owner, { environment: 'staging' });
    const { executionId } = await elsewhere.claimed(id);
    const { answer } = await untilWaiting(api, () => calls.stream(owner, id));
    await elsewhere.submit(executionId, { success: true, result_data: '{"rows":[[1]]}' });
    expect((await answer).body.result_data).toEqual({ rows: [[1]] });
  });

  it('HT-102: wakes an agent for a job that is dispatched at its creation, and for one that is resumed', async () => {
    const agent = await agentOf('staging');
    await calls.clear();
    const first = await longPoll(agent, 'staging');
    const created = await elsewhere.created(owner, { environment: 'staging' });
    expect(idsOf(await first.answer)).toEqual([created]);
    const approved = await elsewhere.created(owner);
    await elsewhere.act(approver, approved, 'approve');
    const second = await longPoll(await agentOf('production'), 'production', { explain_limit: 0 });
    await elsewhere.act(owner, approved, 'resume');
    expect(idsOf(await second.answer)).toEqual([approved]);
  });

  it.each(['end', 'loss'])(
    'HT-102, MI-50: wakes an agent for the migration that waited in line, by the %s of the one before',
    async (how) => {
      const agent = await agentOf('staging');
      await calls.clear();
      const migration = (n: number) =>
        elsewhere.created(owner, { environment: 'staging', operation: 'migrate_up', detail: bundleText([n]) });
      const [first, second] = [await migration(1), await migration(2)];
      const { executionId } = await elsewhere.claimed(first);
      const { answer } = await longPoll(agent, 'staging');
      if (how === 'end') await elsewhere.submit(executionId, { success: true, result_data: '{"applied":["20310101000001"]}' });
      else await elsewhere.fireClock(first, 'lease');
      expect(idsOf(await answer)).toEqual([second]);
    },
  );

  it('HT-102: wakes an agent for the EXPLAIN jobs that a creation brings', async () => {
    await calls.clear();
    const { answer } = await longPoll(await agentOf('production'), 'production', { limit: 0 });
    const id = await elsewhere.created(owner, { detail: 'select * from parts' });
    expect((await answer).body.dry_run_jobs).toMatchObject([{ request_id: id }]);
  });

  it('HT-102: wakes an agent for a preflight, and its caller for the answer', async () => {
    await calls.clear();
    const agent = await agentOf('staging');
    const { answer: polled } = await longPoll(agent, 'staging');
    const body = { database: 'shop', environment: 'staging', sql: 'select 1', explain_timeout_ms: 20_000 };
    const asked = other.call('POST', '/api/preflight', { token: owner, body });
    const [job] = (await polled).body.preflight_jobs;
    const result = { job_id: job.id, claim_token: job.claim_token, result: [{ Plan: { 'Plan Rows': 1 } }] };
    // Answered at the first process: the caller waits at the other one.
    expect((await agent.post('preflight-result', result)).status).toBe(200);
    expect((await asked).body.impact.status).toBe('completed');
  }, 15_000);
});
