import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sleep } from '../../lib/sleep.js';
import type { TestApi } from '../support/api.js';
import { eventually } from '../support/processes.js';
import { type Agent, type AgentCalls, type Body, idsOf, pollBody, scope, startAgentApi } from './agent-calls.js';

/** Longer than a busy machine takes to look. */
const claimWithinMs = 3000;
let api: TestApi;
let calls: AgentCalls;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ times: { claimWithinMs } }));
});
afterAll(() => api?.close());
beforeEach(() => calls.clear());

const waiting = async () =>
  (await api.services.metrics.longPolls.get()).values.find(({ labels }) => labels.kind === 'agent')?.value ?? 0;
const free = { in_flight: 0, max_concurrent: 4 };
const claiming = (over: Body = {}, capabilities: Body = {}) =>
  pollBody({ claim: true, instance_id: 'one', status: free, ...over }, capabilities);
const claimsOf = async (agent: Agent, over: Body = {}, capabilities: Body = {}): Promise<Body[]> => {
  const { status, body } = await agent.poll(claiming(over, capabilities));
  expect(status).toBe(200);
  return body.claims;
};
const requestsOf = (claims: Body[]) => claims.map((claim) => claim.request_id).sort();
const executionsOf = (claims: Body[]) => claims.map((claim) => claim.execution_id).sort();

describe('a poll with `claim` (AG-80)', () => {
  it('answers what it claimed as a claim would, and offers nothing besides', async () => {
    const agent = await calls.newAgent();
    const id = await calls.dispatched('select  1 -- as it is');
    const { body } = await agent.poll(claiming());
    expect(body.jobs).toEqual([]);
    expect(body.claims).toMatchObject([
      { request_id: id, detail: 'select  1 -- as it is', fence: 1, operation: 'execute_select' },
    ]);
    expect(await calls.statusOf(id)).toBe('running');
    const [claim] = body.claims;
    expect(JSON.parse(claim.execution_token)).toMatchObject({ requester_subject_id: 'rita', agent_id: agent.id });
    expect((await agent.heartbeat(claim.execution_id)).status).toBe(200);
    expect(await calls.events(id, 'execution.started')).toHaveLength(1);
  });

  it('that has waited for a while only offers: its agent may be gone', async () => {
    const agent = await calls.newAgent();
    const poll = agent.poll(claiming({ wait_ms: 30_000 }));
    await eventually(async () => (await waiting()) === 1);
    await sleep(claimWithinMs);
    const id = await calls.dispatched();
    const { body } = await poll;
    expect([body.claims, idsOf({ body } as never)]).toEqual([[], [id]]);
    expect(await calls.statusOf(id)).toBe('dispatched');
  });

  it('claims as many as there are free slots, and no more than its limit', async () => {
    const agent = await calls.newAgent();
    await Promise.all(Array.from({ length: 5 }, () => calls.dispatched()));
    expect(await claimsOf(agent, { status: { in_flight: 4, max_concurrent: 4 } })).toEqual([]);
    const two = await claimsOf(agent, { status: { in_flight: 2, max_concurrent: 4 } });
    expect(two).toHaveLength(2);
    const third = await claimsOf(agent, { limit: 1, holding: executionsOf(two) });
    expect(third).toHaveLength(1);
  });

  it('and one of another agent never get the same job', async () => {
    const agents = await Promise.all(Array.from({ length: 4 }, () => calls.newAgent()));
    const ids = await Promise.all(Array.from({ length: 8 }, () => calls.dispatched()));
    const all: Body[] = [];
    await eventually(async () => {
      all.push(...(await Promise.all(agents.map((agent) => claimsOf(agent, { holding: executionsOf(all) })))).flat());
      return all.length >= ids.length;
    });
    expect(requestsOf(all)).toEqual(ids.sort());
  });

  it('claims nothing for a draining agent, for one that serves other pairs, and without `claim`', async () => {
    const agent = await calls.newAgent();
    await calls.dispatched();
    expect(await claimsOf(agent, { status: { ...free, draining: true } })).toEqual([]);
    expect(await claimsOf(agent, {}, { scopes: [scope('ledger', 'staging')] })).toEqual([]);
    const { body } = await agent.poll(claiming({ claim: false }));
    expect([body.claims, body.jobs.length]).toEqual([[], 1]);
  });

  it('is 400 without `instance_id`, and for a `claim` that is no boolean', async () => {
    const agent = await calls.newAgent();
    for (const [over, field] of [
      [{ instance_id: null }, 'instance_id'],
      [{ claim: 'yes' }, 'claim'],
    ] as const) {
      const { status, body } = await agent.poll(claiming(over));
      expect([status, body.code]).toEqual([400, 'validation.failed']);
      expect(body.hint).toContain(field);
    }
  });

  it('whose client is gone claims nothing', async () => {
    const agent = await calls.newAgent();
    const gone = new AbortController();
    const poll = agent.poll(claiming({ wait_ms: 30_000 }), gone.signal).catch(() => null);
    await eventually(async () => (await waiting()) === 1);
    gone.abort();
    await poll;
    await eventually(async () => (await waiting()) === 0);
    const id = await calls.dispatched();
    expect(await calls.statusOf(id)).toBe('dispatched');
  });
});

describe('a claim whose answer was lost (AG-81)', () => {
  it('is answered again to the same instance, with the same token, whatever else the poll says', async () => {
    const agent = await calls.newAgent();
    await calls.dispatched();
    const [lost] = await claimsOf(agent);
    for (const over of [{}, { limit: 0 }, { status: { ...free, draining: true } }, { poll_id: randomUUID(), wait_ms: 30_000 }])
      expect(await claimsOf(agent, over)).toEqual([lost]);
  });

  it('counts as a taken slot', async () => {
    const agent = await calls.newAgent();
    const ids = [await calls.dispatched()];
    const status = { in_flight: 2, max_concurrent: 3 };
    await claimsOf(agent, { status });
    await calls.dispatched();
    expect(requestsOf(await claimsOf(agent, { status }))).toEqual(ids);
  });

  it('is not answered to another instance, another agent, one that holds it, or without `claim`', async () => {
    const [agent, stranger] = [await calls.newAgent(), await calls.newAgent()];
    await calls.dispatched();
    const [lost] = await claimsOf(agent);
    expect(await claimsOf(agent, { instance_id: 'two' })).toEqual([]);
    expect(await claimsOf(stranger)).toEqual([]);
    expect(await claimsOf(agent, { holding: [lost!.execution_id] })).toEqual([]);
    expect(await claimsOf(agent, { claim: false })).toEqual([]);
    expect(await claimsOf(agent)).toEqual([lost]);
  });

  it('is not answered once it has ended, or its lease, or the agent no longer serves the pair', async () => {
    const agent = await calls.newAgent();
    await Promise.all([calls.dispatched(), calls.dispatched()]);
    const [ended, late] = await claimsOf(agent);
    await agent.submit(ended!.execution_id as string, { success: true, outcome: 'committed', fence: ended!.fence });
    expect(await claimsOf(agent)).toEqual([late]);
    expect(await claimsOf(agent, {}, { scopes: [scope('ledger', 'staging')] })).toEqual([]);
    await calls.sql(`update executions set lease_expires_at = clock_timestamp() - interval '1 ms' where id = $1`, [
      late!.execution_id,
    ]);
    expect(await claimsOf(agent)).toEqual([]);
  });

  it('made by a call of its own is not answered by a poll', async () => {
    const agent = await calls.known(claiming({ limit: 0 }));
    await agent.run(await calls.dispatched());
    expect(await claimsOf(agent)).toEqual([]);
  });
});
