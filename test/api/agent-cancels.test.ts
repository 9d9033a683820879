import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { type Agent, type AgentCalls, pollBody, startAgentApi } from './agent-calls.js';

let api: TestApi;
let calls: AgentCalls;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ times: { cancelWaitMs: 20 } }));
});
afterAll(() => api?.close());

const holding = (ids: string[], over = {}) => pollBody({ limit: 0, explain_limit: 0, instance_id: 'one', holding: ids, ...over });
const toldTo = async (agent: Agent, ids: string[], over = {}) => {
  const { status, body } = await agent.poll(holding(ids, over));
  expect(status).toBe(200);
  return body.cancelled;
};

async function running(agent: Agent): Promise<{ id: string; execution: string }> {
  const id = await calls.dispatched();
  return { id, execution: await agent.run(id) };
}

describe('a poll with `holding`', () => {
  it('that waits is answered as soon as a cancel is asked for (AG-82)', async () => {
    const agent = await calls.known();
    const { id, execution } = await running(agent);
    const other = await running(agent);
    const poll = toldTo(agent, [execution, other.execution], { wait_ms: 30_000 });
    await calls.cancel(id);
    expect(await poll).toEqual([execution]);
  });

  it('is told of each cancel once per instance; the heartbeat goes on saying it (AG-62, AG-82)', async () => {
    const agent = await calls.known();
    const { id, execution } = await running(agent);
    expect(await toldTo(agent, [execution])).toEqual([]);
    await calls.cancel(id);
    expect(await toldTo(agent, [execution])).toEqual([execution]);
    expect(await toldTo(agent, [execution])).toEqual([]);
    expect(await toldTo(agent, [execution], { instance_id: 'another' })).toEqual([execution]);
    expect((await agent.heartbeat(execution)).body.cancelled).toBe(true);
  });

  it('hears nothing of what it does not hold, of other agents’ executions, and of those that have ended', async () => {
    const [agent, stranger] = [await calls.known(), await calls.known()];
    const [held, ended] = [await running(agent), await running(agent)];
    await calls.cancel(held.id);
    await calls.cancel(ended.id);
    await agent.submit(ended.execution, { success: false, outcome: 'rolled_back', cancelled: true });
    expect(await toldTo(stranger, [held.execution])).toEqual([]);
    expect(await toldTo(agent, [ended.execution, randomUUID()])).toEqual([]);
    expect((await agent.poll(pollBody({ limit: 0 }))).body.cancelled).toEqual([]);
    expect(await toldTo(agent, [held.execution])).toEqual([held.execution]);
  });

  it.each([
    ['a text that is no id', ['nothing'], /holding/],
    ['more than 1,000 ids', Array.from({ length: 1001 }, () => randomUUID()), /holding/],
    ['a text for the list', randomUUID(), /holding/],
  ])('is 400 for %s', async (_what, ids, field) => {
    const agent = await calls.known();
    const answer = await agent.poll(holding(ids as string[]));
    expect([answer.status, answer.body.code]).toEqual([400, 'validation.failed']);
    expect(answer.body.hint).toMatch(field);
  });
});
