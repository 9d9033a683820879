import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { type AgentCalls, type Body, coded, pollBody, scope, startAgentApi } from './agent-calls.js';

let api: TestApi;
let calls: AgentCalls;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi());
});
afterAll(() => api?.close());

const list = async (): Promise<Body[]> => {
  const answer = await api.call('GET', '/api/agents', { token: api.tokens.admin });
  expect(answer.status).toBe(200);
  return answer.body.agents;
};
const found = async (id: string) => (await list()).find((agent) => agent.id === id);
const silentFor = (id: string, secs: number) =>
  calls.sql(`update agents set last_seen_at = clock_timestamp() - $2 * interval '1 second' where id = $1`, [id, secs]);

describe('GET /api/agents (AG-76)', () => {
  it('is for holders of metrics.view only', async () => {
    expect(coded(await api.call('GET', '/api/agents', { token: calls.requester }))).toEqual([403, 'auth.forbidden']);
    expect(coded(await api.call('GET', '/api/agents', { token: api.tokens.agent }))).toEqual([403, 'auth.forbidden']);
  });

  it('shows what the last poll said, with the key the agent fetched', async () => {
    const jobs = [{ request_id: randomUUID(), operation: 'execute_dml', elapsed_secs: 4 }];
    const capabilities = {
      scopes: [scope('shop', 'staging'), scope('ledger', 'staging', false)],
      operations: ['query'],
      features: ['fence'],
    };
    const status = { in_flight: 1, max_concurrent: 3, uptime_secs: 912, active_jobs: jobs };
    const agent = await calls.known({ capabilities, status, agent_version: '1.4.0', limit: 0 });
    const { key_id } = (await api.call('GET', '/api/public-key', { token: agent.token })).body;
    const shown = await found(agent.id);
    expect(shown).toEqual({
      id: agent.id,
      status: 'healthy',
      in_flight: 1,
      max_concurrent: 3,
      uptime_secs: 912,
      version: '1.4.0',
      key_id,
      duplicate_instances: false,
      unscoped: true,
      active_jobs: jobs,
      last_poll_ago_secs: expect.any(Number),
      last_seen_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      capabilities: { ...capabilities, operations: ['execute_select'] },
    });
  });

  it('stands in the order of the last poll, newest first, those never seen last', async () => {
    const [old, newer, never] = [await calls.known(), await calls.known(), await calls.newAgent()];
    await silentFor(old.id, 10);
    const ids = (await list()).map(({ id }) => id);
    expect(ids.indexOf(newer.id)).toBeLessThan(ids.indexOf(old.id));
    expect(ids.indexOf(old.id)).toBeLessThan(ids.indexOf(never.id));
  });

  it('counts no job whose result has come since the poll (AG-77)', async () => {
    const agent = await calls.known();
    const id = await calls.dispatched();
    const executionId = await agent.run(id);
    const other = { request_id: randomUUID(), operation: 'execute_dml' };
    const noUuid = { request_id: '-'.repeat(36), operation: 'execute_dml' };
    const jobs = [{ request_id: id, operation: 'execute_select' }, other, noUuid];
    await agent.poll(pollBody({ status: { in_flight: 3, max_concurrent: 3, active_jobs: jobs }, limit: 0 }));
    expect(await found(agent.id)).toMatchObject({ status: 'saturated', in_flight: 3, active_jobs: jobs });
    expect((await agent.submit(executionId, { success: true, rows_affected: 1 })).status).toBe(200);
    expect(await found(agent.id)).toMatchObject({ status: 'healthy', in_flight: 2, active_jobs: [other, noUuid] });
  });

  it('derives the status (AG-14)', async () => {
    const agent = await calls.newAgent();
    const statusAfter = async (status: Body) => {
      await agent.poll(pollBody({ status: { in_flight: 0, max_concurrent: 2, ...status }, limit: 0 }));
      return (await found(agent.id))?.status;
    };
    expect(await statusAfter({})).toBe('healthy');
    expect(await statusAfter({ in_flight: 2 })).toBe('saturated');
    expect(await statusAfter({ in_flight: 2, draining: true })).toBe('draining');
  });

  it('of an offline agent shows no jobs and no uptime, of one never seen 9999 s (AG-77)', async () => {
    const jobs = [{ request_id: randomUUID(), operation: 'execute_dml' }];
    const agent = await calls.known(
      pollBody({ status: { in_flight: 1, max_concurrent: 3, uptime_secs: 9, active_jobs: jobs }, limit: 0 }),
    );
    await silentFor(agent.id, 90);
    const gone = await found(agent.id);
    expect(gone).toMatchObject({ status: 'offline', active_jobs: [], uptime_secs: 0, in_flight: 1 });
    expect(gone?.last_poll_ago_secs).toBeGreaterThanOrEqual(90);
    const never = await calls.newAgent();
    expect(await found(never.id)).toEqual({
      id: never.id,
      status: 'offline',
      last_poll_ago_secs: 9999,
      last_seen_at: null,
      in_flight: 0,
      max_concurrent: 0,
      uptime_secs: 0,
      version: null,
      key_id: null,
      duplicate_instances: false,
      unscoped: true,
      active_jobs: [],
      capabilities: { scopes: [], operations: [], features: [] },
    });
    await api.call('DELETE', `/api/tokens/${never.tokenId}`, { token: api.tokens.admin });
    expect(await found(never.id)).toBeUndefined();
  });

  it('tells of two processes with one token until 60 s pass without it (AG-13)', async () => {
    const agent = await calls.newAgent();
    for (const instance_id of [randomUUID(), randomUUID()]) await agent.poll(pollBody({ instance_id, limit: 0 }));
    expect((await found(agent.id))?.duplicate_instances).toBe(true);
    await calls.sql(`update agents set duplicate_until = duplicate_until - interval '60 seconds' where id = $1`, [agent.id]);
    expect((await found(agent.id))?.duplicate_instances).toBe(false);
  });
});
