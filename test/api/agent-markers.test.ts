import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { type Agent, type AgentCalls, type Body, coded, pollBody, startAgentApi } from './agent-calls.js';

const today = pollBody({}, { features: ['fence', 'marker_executions'] });
const earlier = pollBody({}, { features: ['fence'] });

let api: TestApi;
let calls: AgentCalls;
let agent: Agent;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ times: { cancelWaitMs: 20 } }));
  agent = await calls.known(today);
});
afterAll(() => api?.close());
beforeEach(() => calls.clear());

const write = 'delete from t where id = 1';

/** A write that `by` lost, with its execution, and that waits for the next agent. */
async function lostBy(by: Agent, detail = write, over: Body = {}): Promise<{ id: string; lost: string }> {
  const id = await calls.dispatched(detail, over);
  const lost = await by.run(id);
  await calls.fireClock(id, 'lease');
  expect((await calls.resume(id)).status).toBe(200);
  return { id, lost };
}

const unresolved = async (id: string) =>
  (
    await calls.sql<{ fence: number }>('select fence from executions where request_id = $1 and unresolved order by fence', [id])
  ).map(({ fence }) => fence);
const hint = async (id: string) => (await calls.show(calls.requester, id)).body.queue_hint;

describe('an attempt that was lost by an agent whose markers an earlier version cannot find (HD-41)', () => {
  it('is neither offered nor given to an agent of the earlier version, and the request says what it waits for', async () => {
    const old = await calls.known(earlier);
    await calls.sql(`update agents set last_seen_at = clock_timestamp() - interval '1 hour' where id = $1`, [agent.id]);
    const { id } = await lostBy(agent);
    expect(await old.offered(earlier)).toEqual([]);
    const refused = await old.claim(id);
    expect([...coded(refused), refused.body.hint]).toEqual([
      ...[409, 'request.conflict'],
      'its agent was newer; one of that version must look for it',
    ]);
    expect([await calls.statusOf(id), await hint(id)]).toEqual(['dispatched', 'agents_outdated']);

    expect(await agent.offered(today)).toEqual([id]);
    expect(await hint(id)).toBeNull();
    expect((await agent.claim(id)).body.unresolved_executions).toMatchObject([{ fence: 1, agent_id: agent.id, marker_form: 2 }]);
  });

  it('is the only kind that waits: what an earlier agent lost goes to both', async () => {
    const old = await calls.known(earlier);
    const { id } = await lostBy(old);
    expect([await old.offered(earlier), await agent.offered(today), await hint(id)]).toEqual([[id], [id], null]);
    expect((await agent.claim(id)).body.unresolved_executions).toMatchObject([{ fence: 1, marker_form: 1 }]);
  });
});

describe('an agent that says which attempt it found applied (HD-41)', () => {
  const applied = (fence: number, execution?: string, more: Body = {}): Body => ({
    success: true,
    outcome: 'already_applied',
    applied_fence: fence,
    rows_affected: 1,
    ...more,
    applied_execution_id: execution,
  });

  it.each<[string, (run: { lost: string; own: string }) => Body]>([
    ['the lost attempt', ({ lost }) => applied(1, lost)],
    ['the lost attempt by its fence, as earlier agents do', () => applied(1)],
    ['its own', ({ own }) => applied(2, own)],
  ])('is believed about %s', async (_, body) => {
    const { id, lost } = await lostBy(agent);
    const own = await agent.run(id);
    expect((await agent.submit(own, body({ lost, own }))).body.status).toBe('executed');
    expect(await unresolved(id)).toEqual([]);
    expect(await calls.events(id, 'execution.marker_mismatch')).toEqual([]);
  });

  it.each<[string, (run: { lost: string; own: string }) => Body]>([
    ['an execution that there is none of', () => applied(1, randomUUID())],
    ['its own execution under the fence of the lost one', ({ own }) => applied(1, own)],
    ['the lost execution under its own fence', ({ lost }) => applied(2, lost)],
    ['a fence that no attempt has', () => applied(7)],
  ])('is not believed about %s: nobody knows what happened, and the audit log tells of the row', async (_, body) => {
    const { id, lost } = await lostBy(agent);
    const own = await agent.run(id);
    const sent = body({ lost, own });
    expect((await agent.submit(own, sent)).body.status).toBe('execution_lost');
    expect((await agent.submit(own, sent)).body.status).toBe('execution_lost');
    expect(await unresolved(id)).toEqual([1, 2]);
    expect(await calls.runsOf(id)).toMatchObject([
      {
        fence: 2,
        status: 'failed',
        outcome: 'unknown',
        applied_fence: null,
        error_message: `the marker of attempt ${sent.applied_fence} is of no attempt whose outcome is open; check the database`,
      },
      { fence: 1 },
    ]);
    expect(await calls.events(id, 'execution.marker_mismatch')).toMatchObject([
      {
        actor_type: 'agent',
        outcome: 'denied',
        metadata: {
          fence: 2,
          rows: [{ fence: sent.applied_fence, execution_id: sent.applied_execution_id ?? '', state: 'done' }],
        },
      },
    ]);
  });

  it('is not believed about an attempt of which it is known that it did nothing', async () => {
    const { id, lost } = await lostBy(agent);
    const second = await agent.run(id);
    await agent.submit(second, { success: false, outcome: 'rolled_back' });
    expect(await unresolved(id)).toEqual([]);
    expect((await calls.resume(id)).status).toBe(200);
    const own = await agent.run(id);
    expect((await agent.submit(own, applied(1, lost))).body.status).toBe('execution_lost');
    expect(await unresolved(id)).toEqual([3]);
  });

  it.each([
    ['kept', {}],
    ['only passed on', { no_result_store: true }],
  ])('gives nobody its data then, where data is %s', async (_, over) => {
    const { id } = await lostBy(agent, write, over);
    const own = await agent.run(id);
    await agent.submit(own, applied(1, randomUUID(), { result_data: '"forged"' }));
    const content = await calls.content(calls.requester, id);
    expect(content.body).toMatchObject({ success: false, result_data: null });
    const held = `select execution_id from results where request_id = $1 union all select execution_id from result_relay where request_id = $1`;
    expect(await calls.sql(held, [id])).toEqual([]);
  });
});
