import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { refusal } from '../../domain/errors.js';
import { sleep } from '../../lib/sleep.js';
import type { TestApi } from '../support/api.js';
import { workflowToml } from '../support/toml.js';
import { type Agent, type AgentCalls, agentToml, type Body, pollBody, startAgentApi } from './agent-calls.js';
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

/** In how many transactions the request's row and its newest execution, event and news were written. */
async function transactionsOf(id: string): Promise<number | undefined> {
  const newest = (table: string, by: string) =>
    `(select xmin::text from ${table} where request_id = $1 order by ${by} desc limit 1)`;
  const [row] = await calls.sql<{ count: number }>(
    `select count(distinct written)::int as count from (select xmin::text as written from requests where id = $1
       union select ${newest('executions', 'fence')} union select ${newest('audit_events', 'position')} union select ${newest('outbox', 'version')}) as rows`,
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
      const { execution_id: execution } = claims[0] as { execution_id: string };
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
