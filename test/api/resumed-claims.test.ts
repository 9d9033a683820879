import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { refusal } from '../../domain/errors.js';
import type { TestApi } from '../support/api.js';
import { databaseToml, dbaTeamToml, needsDbaToml } from '../support/toml.js';
import { type AgentCalls, type Body, pollBody, scope, startAgentApi } from './agent-calls.js';
import { waitingPolls } from './claiming-polls.js';

const toml = [
  'allow_private_networks = true\n',
  databaseToml('shop', ['production']),
  dbaTeamToml,
  needsDbaToml('production', 'explain = false'),
  '[[execution_policies]]\nmax_executions = 20\nretry_on_failure = true\n',
  '[[webhooks]]\nid = "feed"\nurl = "http://127.0.0.1:9"\nevents = ["request.*", "execution.*"]\nsecret = "secret-of-the-feed"\n',
].join('\n');
const scopes = { scopes: [scope('shop', 'production')] };

let api: TestApi;
let calls: AgentCalls;
let dora: string;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ toml, times: { claimWithinMs: 20_000 } }));
  dora = await api.createUser('dora', { groups: ['dba-team'] });
});
afterAll(() => api?.close());
beforeEach(() => calls.clear());

const known = () => calls.known(pollBody({ limit: 0 }, scopes));
const waiting = (agent: Awaited<ReturnType<typeof known>>, over: Body = {}) => waitingPolls(api, [agent], over, scopes);

async function approved(): Promise<string> {
  const id = await calls.created(calls.requester, { detail: 'select 84' });
  expect((await calls.act(dora, id, 'approve')).status).toBe(200);
  return id;
}

/** In how many transactions the dispatch and the claim of the run were written. */
const transactionsOf = async (id: string, fence = 1) => {
  const [row] = await calls.sql<{ count: number }>(
    `select count(distinct written)::int as count from (
       select xmin::text as written from executions where request_id = $1 and fence = $2
       union select xmin::text from audit_events where request_id = $1 and event_type in ('request.dispatched', 'execution.started')
         and metadata_json::jsonb ->> 'fence' = $2::text) as rows`,
    [id, fence],
  );
  return row?.count;
};

const setStatus = (status: string) => calls.sql(`update users set status = $1 where id = 'rita'`, [status]);

const newsOf = (id: string) =>
  calls.sql(`select signal, actor, version::int, view->>'status' as status from outbox where request_id = $1 order by version`, [
    id,
  ]);

describe('a request that is resumed for the first time while a poll waits for it in the same process (AG-80)', () => {
  it('is dispatched and claimed in one transaction, and its resume is answered as ever', async () => {
    const agent = await known();
    const id = await approved();
    const { polls } = await waiting(agent);
    expect(await calls.resume(id)).toMatchObject({ status: 200, body: { id, status: 'dispatched' } });
    const { claims, jobs } = (await polls[0]) as { claims: Body[]; jobs: Body[] };
    expect(jobs).toEqual([]);
    expect(claims).toMatchObject([{ request_id: id, detail: 'select 84', fence: 1, operation: 'execute_select' }]);
    expect(await transactionsOf(id)).toBe(1);
    expect((await calls.eventTypes(id)).slice(-2)).toEqual(['request.dispatched', 'execution.started']);
    expect(await calls.events(id, 'request.dispatched')).toMatchObject([{ actor_type: 'user', outcome: 'success' }]);
    expect(await calls.events(id, 'execution.started')).toMatchObject([
      { actor_type: 'agent', metadata: { fence: 1, agent_id: agent.id } },
    ]);
    expect((await newsOf(id)).at(-1)).toEqual({ signal: 'resumption', actor: 'rita', version: 4, status: 'running' });
    expect(await calls.statusOf(id)).toBe('running');
    const [run] = claims as [{ execution_id: string }];
    expect((await agent.heartbeat(run.execution_id)).status).toBe(200);
    expect((await agent.submit(run.execution_id, { success: true })).status).toBe(200);
    expect(await calls.statusOf(id)).toBe('executed');
    const codes = await calls.sql('select state_mac is not null as coded from requests where id = $1', [id]);
    expect(codes).toEqual([{ coded: true }]);
  });

  it('is told to webhooks as two changes, each by who made it', async () => {
    const agent = await known();
    const id = await approved();
    const { stop } = await waiting(agent);
    await calls.resume(id);
    const deliveries = await calls.sql<{ body: string }>(
      `select body from webhook_deliveries where body::jsonb ->> 'request_id' = $1
       and event_type in ('request.dispatched', 'execution.started') order by event_type desc`,
      [id],
    );
    expect(deliveries.map(({ body }) => JSON.parse(body))).toMatchObject([
      { event: 'request.dispatched', request_id: id, actor: 'rita' },
      { event: 'execution.started', request_id: id, actor: agent.id },
    ]);
    await stop();
  });

  it.each([
    ['is revoked', 'update tokens set revoked_at = clock_timestamp() where id = $1'],
    ['may no longer serve the pair', "update tokens set agent_scopes = array['ledger/staging'] where id = $1"],
  ])('is dispatched alone if the token of the poll %s, whoever noticed', async (_, change) => {
    const agent = await known();
    const id = await approved();
    const { polls, stop } = await waiting(agent);
    await calls.sql(change, [agent.tokenId]);
    expect(await calls.resume(id)).toMatchObject({ status: 200, body: { status: 'dispatched' } });
    expect([await calls.statusOf(id), await calls.runsOf(id)]).toEqual(['dispatched', []]);
    expect(await (await known()).run(id)).toBeTypeOf('string');
    await stop();
    expect((await polls[0]!.catch(() => ({ claims: [] }))).claims ?? []).toEqual([]);
  });

  it.each([
    ['whose owner is suspended', () => setStatus('suspended'), 401],
    ['that is cancelled', (id: string) => calls.cancel(id), 409],
  ])('is neither dispatched nor claimed with what was read of a request %s before the write', async (_, change, status) => {
    const agent = await known();
    const id = await approved();
    const { stop } = await waiting(agent);
    const { database } = api.services;
    const writeOnce: typeof database.writeOnce = async (write) => {
      api.services.database = database;
      await change(id);
      return database.writeOnce(write);
    };
    api.services.database = { ...database, writeOnce };
    expect((await calls.resume(id)).status).toBe(status);
    expect(await calls.sql('select 1 from executions where request_id = $1', [id])).toEqual([]);
    await setStatus('active');
    await stop();
  });

  it('is claimed by a look of the poll when it runs again, for that reads what earlier attempts left', async () => {
    const agent = await known();
    const id = await approved();
    await calls.resume(id);
    expect((await agent.submit(await agent.run(id), { success: false, error_message: 'no such table' })).status).toBe(200);
    const { polls } = await waiting(agent);
    expect((await calls.resume(id)).status).toBe(200);
    expect((await polls[0])?.claims).toMatchObject([{ request_id: id, fence: 2 }]);
    expect(await transactionsOf(id, 2)).toBe(2);
  });

  it('runs once however many resume it at the same time, and one of them gets the dispatch', async () => {
    const agents = [await known(), await known()];
    const id = await approved();
    const { polls, stop } = await waitingPolls(api, agents, {}, scopes);
    const answers = await Promise.all(Array.from({ length: 4 }, () => calls.resume(id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    expect(await calls.runsOf(id)).toHaveLength(1);
    await stop();
    const claims = (await Promise.allSettled(polls)).flatMap((poll) =>
      poll.status === 'fulfilled' ? (poll.value.claims as Body[]) : [],
    );
    expect(claims).toMatchObject([{ request_id: id }]);
  });

  it('fails the poll if nobody knows whether the claim was made, so that the agent asks for it at once (AG-81)', async () => {
    const agent = await known();
    const id = await approved();
    const { polls } = await waiting(agent);
    const { database } = api.services;
    const writeOnce: typeof database.writeOnce = async (write) => {
      await database.writeOnce(write);
      throw refusal('service.unavailable', 'the gateway database is not reachable');
    };
    api.services.database = { ...database, writeOnce };
    const resumed = await calls.resume(id).finally(() => (api.services.database = database));
    expect(resumed.status).toBe(503);
    expect(await polls[0]).toMatchObject({ status: 503 });
    const status = { in_flight: 0, max_concurrent: 4 };
    const again = await agent.poll(pollBody({ claim: true, instance_id: agent.id, holding: [], status }, scopes));
    expect(again.body.claims).toMatchObject([{ request_id: id, fence: 1 }]);
    expect(await calls.runsOf(id)).toHaveLength(1);
  });
});
