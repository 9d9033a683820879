import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sleep } from '../../lib/sleep.js';
import type { TestApi } from '../support/api.js';
import { eventually } from '../support/processes.js';
import { type Agent, type AgentCalls, type Body, pollBody, scope, startAgentApi } from './agent-calls.js';
import { waitingPolls } from './claiming-polls.js';

let api: TestApi;
let calls: AgentCalls;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ times: { claimWithinMs: 20_000 } }));
});
afterAll(() => api?.close());
beforeEach(() => calls.clear());

const waiting = (agents: readonly Agent[], over: Body = {}) => waitingPolls(api, agents, over);

/** In how many transactions the rows of the request were written that exist now. */
const transactionsOf = async (id: string) => {
  const [row] = await calls.sql<{ count: number }>(
    `select count(distinct written)::int as count from (select xmin::text as written from requests where id = $1
       union select xmin::text from executions where request_id = $1 union select xmin::text from audit_events where request_id = $1
       union select xmin::text from outbox where request_id = $1) as rows`,
    [id],
  );
  return row?.count;
};

describe('a request that passes by itself while a poll waits for it in the same process (AG-80)', () => {
  it('is created and claimed in one transaction, and its creation is answered as ever', async () => {
    const agent = await calls.known();
    const { polls } = await waiting([agent]);
    const created = await api.call('POST', '/api/requests', {
      token: calls.requester,
      body: { database: 'shop', environment: 'staging', operation: 'execute_select', detail: 'select 83', reason: 'a read' },
    });
    expect(created).toMatchObject({ status: 201, body: { status: 'dispatched', idempotent: false } });
    const { id } = created.body;
    const { claims, jobs } = (await polls[0]) as { claims: Body[]; jobs: Body[] };
    expect(jobs).toEqual([]);
    expect(claims).toMatchObject([{ request_id: id, detail: 'select 83', fence: 1, operation: 'execute_select' }]);
    expect(await transactionsOf(id)).toBe(1);
    expect(await calls.eventTypes(id)).toEqual(['request.auto_approved', 'request.dispatched', 'execution.started']);
    expect(await calls.events(id, 'execution.started')).toMatchObject([
      { actor_type: 'agent', outcome: 'success', metadata: { fence: 1, agent_id: agent.id } },
    ]);
    expect(await calls.statusOf(id)).toBe('running');
    const { execution_id: execution, lease_secs: told } = claims[0] as { execution_id: string; lease_secs: number };
    const leases = await calls.sql<{ ms: number }>(
      'select (extract(epoch from lease_expires_at - created_at) * 1000)::int as ms from executions where id = $1',
      [execution],
    );
    // The agent may have sent its poll after the instant of the creation.
    expect(leases).toEqual([{ ms: told * 1000 + 500 }]);
    expect((await agent.heartbeat(execution)).status).toBe(200);
    expect((await agent.submit(execution, { success: true })).status).toBe(200);
    expect(await calls.statusOf(id)).toBe('executed');
  });

  it('is claimed by the poll that waits longest, and by no other', async () => {
    const [first, second] = [await calls.known(), await calls.known()];
    const { polls } = await waiting([first, second]);
    const ids = [await calls.dispatched(), await calls.dispatched()];
    const claims = (await Promise.all(polls)).flatMap((answer) => answer.claims as Body[]);
    expect(claims.map(({ request_id }) => request_id)).toEqual(ids);
    expect(await Promise.all(ids.map(transactionsOf))).toEqual([1, 1]);
  });

  it('is handed out again if the answer of the poll is lost (AG-81)', async () => {
    const agent = await calls.known();
    const { stop } = await waiting([agent]);
    const id = await calls.dispatched();
    await stop();
    const again = await agent.poll(
      pollBody({ claim: true, instance_id: agent.id, holding: [], status: { in_flight: 0, max_concurrent: 4 } }),
    );
    expect(again.body.claims).toMatchObject([{ request_id: id, fence: 1 }]);
    expect(await calls.runsOf(id)).toHaveLength(1);
  });

  it('is answered by a poll whose time ran out while its claim was being written', async () => {
    const agent = await calls.known();
    const { polls } = await waiting([agent], { wait_ms: 300 });
    const slow = api.services.database.transaction(async (tx) => {
      await tx.query(`select 1 from users where id = 'rita' for update`);
      const creation = calls.dispatched();
      expect(await Promise.race([polls[0], creation, sleep(800).then(() => 'both wait')])).toBe('both wait');
      return { creation };
    });
    const id = await (await slow).creation;
    expect((await polls[0])?.claims).toMatchObject([{ request_id: id }]);
    expect(await transactionsOf(id)).toBe(1);
  });

  it('is created once for a key that is taken, and claimed once', async () => {
    const agent = await calls.known();
    const { polls } = await waiting([agent]);
    const body = {
      database: 'shop',
      environment: 'staging',
      operation: 'execute_select',
      detail: 'select 1',
      idempotency_key: 'once',
    };
    const create = () => api.call('POST', '/api/requests', { token: calls.requester, body: { ...body, reason: 'a read' } });
    const { id } = (await create()).body;
    const [claim] = ((await polls[0]) as { claims: Body[] }).claims;
    const { stop } = await waiting([agent], { holding: [claim?.execution_id] });
    expect(await create()).toMatchObject({ status: 200, body: { id, idempotent: true } });
    expect(await calls.runsOf(id)).toHaveLength(1);
    await stop();
  });

  it.each([
    ['is revoked', 'update tokens set revoked_at = clock_timestamp() where id = $1'],
    ['has expired', "update tokens set expires_at = clock_timestamp() - interval '1 second' where id = $1"],
    ['may no longer serve the pair', "update tokens set agent_scopes = array['ledger/staging'] where id = $1"],
  ])('is not claimed by a poll whose token %s, whoever noticed', async (_, change) => {
    const agent = await calls.known();
    const { polls, stop } = await waiting([agent]);
    await calls.sql(change, [agent.tokenId]);
    const id = await calls.dispatched();
    const other = await calls.known(pollBody());
    expect(await calls.statusOf(id)).toBe('dispatched');
    expect(await calls.runsOf(id)).toEqual([]);
    expect(await other.run(id)).toBeTypeOf('string');
    await stop();
    expect((await polls[0]!.catch(() => ({ claims: [] }))).claims ?? []).toEqual([]);
  });

  it('is not signed with a key that is no longer the one for the agent (ET-19)', async () => {
    const agent = await calls.known();
    const { polls } = await waiting([agent]);
    const [key] = await calls.sql<{ id: string }>(
      `update signing_keys set status = 'retired' where purpose = 'execution_token' and status = 'current' returning key_id as id`,
    );
    const id = await calls.dispatched();
    expect(await calls.statusOf(id)).toBe('dispatched');
    await calls.sql(`update signing_keys set status = 'current' where key_id = $1`, [key?.id]);
    const { jobs, claims } = (await polls[0]) as { claims: Body[]; jobs: Body[] };
    expect([...jobs.map((job) => job.id), ...claims.map((claim) => claim.request_id)]).toEqual([id]);
  });

  it.each([
    ['serves another pair', {}, { scopes: [scope('ledger', 'staging')] }, 'select 1'],
    ['runs other operations', {}, { operations: ['execute_dml'] }, 'select 1'],
    ['has no free slot', { status: { in_flight: 4, max_concurrent: 4 } }, {}, 'select 1'],
    ['does not claim', { claim: false }, {}, 'select 1'],
  ])('is left to others by a poll of an agent that %s', async (_, over, capabilities, detail) => {
    const agent = await calls.known();
    const before = api.services.readyPolls.size;
    const stop = new AbortController();
    const status = { in_flight: 0, max_concurrent: 4 };
    const body = pollBody({ claim: true, instance_id: agent.id, wait_ms: 20_000, status, ...over }, capabilities);
    const poll = agent.poll(body, stop.signal).catch(() => null);
    if (!('claim' in over)) await eventually(() => api.services.readyPolls.size === before + 1);
    const id = await calls.dispatched(detail);
    expect(await calls.runsOf(id)).toEqual([]);
    stop.abort();
    await poll;
    await eventually(() => api.services.readyPolls.size === before);
  });
});
