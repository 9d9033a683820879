import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { refusal } from '../../domain/errors.js';
import { sleep } from '../../lib/sleep.js';
import type { TestApi } from '../support/api.js';
import { eventually } from '../support/processes.js';
import { workflowToml } from '../support/toml.js';
import { type Agent, type AgentCalls, agentToml, type Body, pollBody, scope, startAgentApi } from './agent-calls.js';
import { waitingPolls } from './claiming-polls.js';

let api: TestApi;
let calls: AgentCalls;
let approver: string;
// A read passes by itself unless its creation asks for approval.
const toml = `${agentToml}${workflowToml({ database: 'shop', environment: 'staging', auto: '{ mode = "risk_based", risk = "low", allow_read_only = true }', steps: [[{ group: 'dba-team' }]] })}`;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ toml, times: { claimWithinMs: 20_000, cancelWaitMs: 50 } }));
  approver = await api.createUser('bob', { groups: ['dba-team'] });
});
afterAll(() => api?.close());
beforeEach(() => calls.clear());

const waiting = (agents: readonly Agent[], over: Body = {}) => waitingPolls(api, agents, { explain_limit: 0, ...over });

/** A request that somebody approved and nobody has resumed. */
async function approved(detail = 'select 91', over: Body = {}): Promise<string> {
  const id = await calls.dispatched(detail, { require_approval: true, ...over });
  expect((await calls.act(approver, id, 'approve', {})).status).toBe(200);
  return id;
}

/** In how many transactions the newest run of the request was dispatched and claimed. */
async function transactionsOf(id: string): Promise<number | undefined> {
  const [row] = await calls.sql<{ count: number }>(
    `select count(distinct xmin::text)::int as count from
       (select xmin from audit_events where request_id = $1 order by position desc limit 2) as dispatched_and_started`,
    [id],
  );
  return row?.count;
}

const holds = async (polls: readonly Promise<Body>[]) =>
  (await Promise.all(polls)).flatMap(({ jobs, claims }) => [
    ...(jobs as Body[]).map((job) => job.id),
    ...(claims as Body[]).map((claim) => claim.request_id),
  ]);

describe('a request that is resumed while a poll waits for it in the same process (AG-80)', () => {
  it.each(['select 92', 'delete from orders where id = 92'])(
    'is dispatched and claimed in one transaction, and the resume is answered as ever: %s',
    async (detail) => {
      const agent = await calls.known();
      const id = await approved(detail);
      const { polls } = await waiting([agent]);
      expect(await calls.resume(id)).toMatchObject({ status: 200, body: { id, status: 'dispatched' } });
      const { claims, jobs } = (await polls[0]) as { claims: Body[]; jobs: Body[] };
      expect(jobs).toEqual([]);
      expect(claims).toMatchObject([{ request_id: id, detail, fence: 1 }]);
      expect(await transactionsOf(id)).toBe(1);
      expect((await calls.eventTypes(id)).slice(-2)).toEqual(['request.dispatched', 'execution.started']);
      expect(await calls.events(id, 'request.dispatched')).toMatchObject([{ actor_type: 'user', metadata: { fence: 1 } }]);
      expect(await calls.events(id, 'execution.started')).toMatchObject([{ actor_type: 'agent', metadata: { fence: 1 } }]);
      const news = await calls.sql('select signal, actor, view from outbox where request_id = $1 order by version desc limit 1', [
        id,
      ]);
      expect(news).toMatchObject([{ signal: 'resumption', actor: 'rita', view: { status: 'running' } }]);
      const { execution_id: execution, lease_secs: told } = claims[0] as { execution_id: string; lease_secs: number };
      const leases = await calls.sql<{ ms: number }>(
        'select (extract(epoch from lease_expires_at - created_at) * 1000)::int as ms from executions where id = $1',
        [execution],
      );
      // The agent may have sent its poll after the instant of the resume.
      expect(leases).toEqual([{ ms: told * 1000 + 500 }]);
      expect((await agent.heartbeat(execution)).status).toBe(200);
      expect((await agent.submit(execution, { success: true })).status).toBe(200);
      expect(await calls.statusOf(id)).toBe('executed');
    },
  );

  it('is run again with the next fence, and what the relay held of the earlier run is dropped (RS-45)', async () => {
    const agent = await calls.known();
    const id = await calls.dispatched('select 93', { no_result_store: true });
    const result_data = JSON.stringify({ columns: ['n'], rows: [[1]] });
    expect((await agent.submit(await agent.run(id), { success: true, result_data })).status).toBe(200);
    const relayed = () => calls.sql('select 1 from result_relay where request_id = $1', [id]);
    expect(await relayed()).toHaveLength(1);
    const { polls } = await waiting([agent]);
    expect((await calls.resume(id)).status).toBe(200);
    expect((await polls[0])?.claims).toMatchObject([{ request_id: id, fence: 2 }]);
    expect(await relayed()).toEqual([]);
    expect(await calls.runsOf(id)).toMatchObject([{ status: 'running' }, { status: 'completed' }]);
  });

  it('is dispatched once by two resumes at once, and claimed once', async () => {
    const agents = [await calls.known(), await calls.known()];
    const id = await approved();
    const { polls, stop } = await waiting(agents);
    const answers = await Promise.all([calls.resume(id), calls.resume(id)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(await Promise.race(polls)).toMatchObject({ claims: [{ request_id: id, fence: 1 }] });
    expect(await calls.runsOf(id)).toHaveLength(1);
    await stop();
  });

  it('is either cancelled or claimed if both are asked for at once', async () => {
    const agent = await calls.known();
    for (let round = 0; round < 5; round++) {
      const id = await approved();
      const { polls, stop } = await waiting([agent], { holding: [] });
      await Promise.all([calls.resume(id), calls.cancel(id)]);
      const runs = await calls.runsOf(id);
      expect(await calls.statusOf(id)).toBe(runs.length === 0 ? 'cancelled' : 'running');
      if (runs.length > 0) {
        const { claims } = (await polls[0]) as { claims: Body[] };
        expect(claims).toMatchObject([{ request_id: id, execution_id: runs[0]?.id }]);
        expect((await agent.submit(String(runs[0]?.id), { success: true })).status).toBe(200);
      }
      await stop();
    }
  });

  it('is dispatched without a claim if its row has changed since it was read, and the poll gets it all the same', async () => {
    const agent = await calls.known();
    const id = await approved();
    const { polls } = await waiting([agent]);
    const { database } = api.services;
    let writes = 0;
    const writeOnce: typeof database.writeOnce = async (write) => {
      writes += 1;
      // Whoever writes the row leaves the request as it was.
      if (writes === 1) await database.query('update requests set updated_at = updated_at where id = $1', [id]);
      return database.writeOnce(write);
    };
    api.services.database = { ...database, writeOnce };
    const resumed = await calls.resume(id).finally(() => (api.services.database = database));
    expect([resumed.status, await holds(polls)]).toEqual([200, [id]]);
  });

  it('lets the poll go on while another transaction holds its row, and waits alone', async () => {
    const agent = await calls.known();
    const id = await approved();
    const { polls } = await waiting([agent]);
    const { readyPolls } = api.services;
    const resumed = await api.services.database.transaction(async (tx) => {
      await tx.query('select 1 from requests where id = $1 for update', [id]);
      const answer = calls.resume(id);
      expect(await Promise.race([answer, sleep(500).then(() => 'waits')])).toBe('waits');
      await eventually(() => readyPolls.size === 1);
      return { answer };
    });
    expect([(await resumed.answer).status, await holds(polls)]).toEqual([200, [id]]);
  });

  it('is claimed by the agent that can look for an earlier attempt, not by one without markers (AG-33)', async () => {
    const [first, plain, able] = [await calls.known(), await calls.known(), await calls.known()];
    const id = await approved('delete from orders where id = 95');
    expect((await calls.resume(id)).status).toBe(200);
    await first.run(id);
    await calls.fireClock(id, 'lease');
    expect(await calls.statusOf(id)).toBe('execution_lost');
    const without = { scopes: [scope('shop', 'staging', false)] };
    const { polls, stop } = await waitingPolls(api, [plain], { explain_limit: 0 }, without);
    const other = await waitingPolls(api, [able], { explain_limit: 0 }, {}, 1);
    expect((await calls.resume(id)).status).toBe(200);
    expect((await other.polls[0])?.claims).toMatchObject([{ request_id: id, fence: 2 }]);
    expect(await transactionsOf(id)).toBe(1);
    await stop();
    await Promise.allSettled(polls);
  });

  it.each([
    ['is revoked', 'update tokens set revoked_at = clock_timestamp() where id = $1'],
    ['may no longer serve the pair', "update tokens set agent_scopes = array['ledger/staging'] where id = $1"],
  ])('is not claimed by a poll whose token %s, whoever noticed', async (_, change) => {
    const agent = await calls.known();
    const id = await approved();
    const { polls, stop } = await waiting([agent]);
    await calls.sql(change, [agent.tokenId]);
    expect((await calls.resume(id)).status).toBe(200);
    expect([await calls.statusOf(id), await calls.runsOf(id)]).toEqual(['dispatched', []]);
    await stop();
    expect((await polls[0]!.catch(() => ({ claims: [] }))).claims ?? []).toEqual([]);
  });

  it('is not resumed for a requester who is suspended meanwhile, nor claimed (IM-65)', async () => {
    const agent = await calls.known();
    const id = await approved();
    const { stop } = await waiting([agent]);
    await calls.sql(`update users set status = 'suspended' where id = 'rita'`);
    const resumed = await calls.act(api.tokens.admin, id, 'resume', {});
    await calls.sql(`update users set status = 'active' where id = 'rita'`);
    expect([resumed.status, await calls.statusOf(id), await calls.runsOf(id)]).toEqual([409, 'approved', []]);
    await stop();
  });

  it('fails the poll if nobody knows whether the claim was made, so that the agent asks for it at once (AG-81)', async () => {
    const agent = await calls.known();
    const id = await approved('select 94');
    const { polls } = await waiting([agent]);
    const { database } = api.services;
    const writeOnce: typeof database.writeOnce = async (write) => {
      await database.writeOnce(write);
      throw refusal('service.unavailable', 'the gateway database is not reachable');
    };
    api.services.database = { ...database, writeOnce };
    const resumed = await calls.resume(id).finally(() => (api.services.database = database));
    expect(resumed.status).toBe(503);
    expect(await Promise.race([polls[0], sleep(2000).then(() => 'still waits')])).toMatchObject({ status: 503 });
    const again = await agent.poll(
      pollBody({ claim: true, instance_id: agent.id, holding: [], status: { in_flight: 0, max_concurrent: 4 } }),
    );
    expect(again.body.claims).toMatchObject([{ detail: 'select 94', fence: 1 }]);
  });
});
