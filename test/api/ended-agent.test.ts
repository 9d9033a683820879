import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockWaits } from '../support/active-statement.js';
import type { Answer, TestApi } from '../support/api.js';
import { databaseToml, dbaTeamToml, needsDbaToml, passesToml } from '../support/toml.js';
import { type Agent, type AgentCalls, coded, pollBody, scope, startAgentApi } from './agent-calls.js';
import { duringEnd, revocation } from './during-end.js';

const limit = 20_000;
const toml = [
  databaseToml('shop', ['staging', 'production', 'spare']),
  dbaTeamToml,
  passesToml('staging'),
  passesToml('spare'),
  needsDbaToml('production'),
  `[result_storage]\nmax_persist_bytes = ${limit}\n`,
].join('');

let api: TestApi;
let calls: AgentCalls;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ toml }));
});
afterAll(() => api?.close());

const scopes = (...environments: string[]) => ({ scopes: environments.map((one) => scope('shop', one)) });

describe('an agent whose token is revoked during its call (IM-72)', () => {
  const known = () => calls.known(pollBody({ limit: 0 }, scopes('staging', 'production')));
  const revokedDuring = (agent: Agent, send: () => Promise<Answer>) =>
    duringEnd(api.database.adminUrl, { end: revocation, subject: agent.id }, send);
  const expectRevoked = async (agent: Agent, send: () => Promise<Answer>) =>
    expect(coded(await revokedDuring(agent, send))).toEqual([401, 'auth.invalid_token']);
  const statusOf = async (id: string) => (await calls.show(calls.requester, id)).body.status;

  it('gets no work', async () => {
    const agent = await known();
    const id = await calls.dispatched();
    await expectRevoked(agent, () => agent.claim(id));
    expect(await statusOf(id)).toBe('dispatched');
    expect((await (await known()).claim(id)).status).toBe(200);
  });

  it('gets no work by a poll that claims', async () => {
    const agent = await known();
    const id = await calls.dispatched('select 1', { environment: 'spare' });
    const status = { in_flight: 0, max_concurrent: 4 };
    const body = pollBody({ claim: true, instance_id: agent.id, status }, scopes('spare'));
    await expectRevoked(agent, () => agent.poll(body));
    expect(await statusOf(id)).toBe('dispatched');
  });

  it.each([
    ['a result', { success: true, result_data: '{"rows":[]}' }],
    ['a result that is too large to keep', { success: true, result_data: 'x'.repeat(limit + 1) }],
    ['a result that is too large to read', { success: true, result_data: 'x'.repeat(4 * limit + 2 ** 20) }],
  ])('cannot report %s', async (_what, result) => {
    const agent = await known();
    const id = await calls.dispatched();
    const executionId = (await agent.claim(id)).body.execution_id;
    await expectRevoked(agent, () => agent.submit(executionId, result));
    expect(await statusOf(id)).toBe('running');
  });

  it('leaves the schema snapshot as it was', async () => {
    const agent = await known();
    const sync = { database: 'shop', environment: 'staging', dialect: 'postgresql', status: 'ready', snapshot: { tables: [] } };
    await expectRevoked(agent, () => agent.post('schema-sync', sync));
    expect(await calls.sql('select 1 from schema_snapshots')).toEqual([]);
  });

  it('gets no statement of a request to plan, and answers with no plan', async () => {
    const agent = await known();
    const id = await calls.dispatched('select 2', { environment: 'production' });
    const [job] = await calls.sql<{ id: string }>('select id from dry_run_jobs where request_id = $1', [id]);
    const state = async () => (await calls.sql('select state from dry_run_jobs where id = $1', [job?.id]))[0];
    await expectRevoked(agent, () => agent.post(`dry-run/${job?.id}/claim`));
    expect(await state()).toEqual({ state: 'pending' });
    const other = await known();
    const { claim_token } = (await other.post(`dry-run/${job?.id}/claim`)).body;
    await expectRevoked(other, () => other.post(`dry-run/${job?.id}/result`, { claim_token, result: [] }));
    expect(await state()).toEqual({ state: 'claimed' });
  });

  it('gets no statement of a preflight to plan, and answers with no plan', async () => {
    await calls.sql(`insert into preflight_jobs (user_id, database, environment, sql, timeout_ms, expires_at)
      values ('rita', 'shop', 'staging', 'select 1', 60000, now() + interval '1 minute')`);
    const state = async () => (await calls.sql('select state from preflight_jobs'))[0];
    const body = pollBody({ status: { in_flight: 0, max_concurrent: 4 } }, scopes('staging'));
    const agent = await known();
    await expectRevoked(agent, () => agent.poll(body));
    expect(await state()).toEqual({ state: 'pending' });
    const other = await known();
    const [{ id, claim_token }] = (await other.poll(body)).body.preflight_jobs;
    await expectRevoked(other, () => other.post('preflight-result', { job_id: id, claim_token, result: [] }));
    expect(await state()).toEqual({ state: 'claimed' });
  });
});

describe('a call whose user is being changed', () => {
  it('leaves their token unlocked while it waits, as who suspends them locks both in this order (IM-65)', async () => {
    const client = new pg.Client({ connectionString: api.database.adminUrl });
    await client.connect();
    await client.query(`begin; select 1 from users where id = 'rita' for update`);
    const answer = calls.create(calls.requester, { environment: 'staging' });
    await expect.poll(async () => (await client.query(lockWaits)).rows, { timeout: 20_000, interval: 20 }).toHaveLength(1);
    await client.query(`select 1 from tokens where subject_id = 'rita' for update nowait; commit`);
    await client.end();
    expect((await answer).status).toBe(201);
  });
});
