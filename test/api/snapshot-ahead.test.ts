import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { sleep } from '../../lib/sleep.js';
import type { TestApi } from '../support/api.js';
import { noUserCode, table } from '../support/snapshots.js';
import { type Agent, type AgentCalls, type Body, scope, startAgentApi } from './agent-calls.js';

let api: TestApi;
let calls: AgentCalls;
let agent: Agent;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi());
  agent = await calls.known({ limit: 0, capabilities: { scopes: [scope('shop', 'staging')], features: ['fence'] } });
});
afterAll(() => api?.close());

const text = { database: 'shop', environment: 'staging', reason: 'a read' };
const create = (detail = 'select 1 from parts') => ({ ...text, operation: 'execute_select', detail });

/** Answers when the new snapshot was received. */
async function sync(rows: number): Promise<string> {
  const snapshot = { tables: [table('parts', { estimated_rows: rows })], user_code: noUserCode };
  const body = { database: 'shop', environment: 'staging', dialect: 'postgresql', status: 'ready', snapshot };
  expect((await agent.post('schema-sync', body)).status).toBe(200);
  const [row] = await calls.sql<{ at: number }>(`select collected_at as at from schema_snapshots where environment = 'staging'`);
  return new Date(Number(row?.at)).toISOString();
}

const collectedOf = async (answer: Body) =>
  (await api.call('GET', `/api/requests/${answer.id}`, { token: calls.requester })).body.context.schema_snapshot_collected_at;

const post = async (path: string, body: Body) => (await api.call('POST', path, { token: calls.requester, body })).body;

describe('the time of the snapshot of a pair that was asked for before', () => {
  it.each([
    ['creation', '/api/requests', create()],
    ['preflight', '/api/preflight', { database: 'shop', environment: 'staging', sql: 'select 1', include_explain: false }],
  ])('travels with the credential of a %s', async (_, path, body) => {
    await sync(1);
    await post(path, body);
    const alone = vi.spyOn(api.services.database, 'query');
    onTestFinished(() => void vi.restoreAllMocks());
    let began: number;
    do {
      vi.clearAllMocks();
      began = performance.now();
      await post(path, body);
      // What is older when the handler takes it is read again.
    } while (performance.now() - began > 100);
    expect(alone.mock.calls.filter(([sql]) => sql.includes('schema_snapshots'))).toEqual([]);
  });

  it('is the time of the snapshot that came last', async () => {
    for (const rows of [2, 3]) {
      const collectedAt = await sync(rows);
      expect(await collectedOf(await post('/api/requests', create()))).toBe(collectedAt);
    }
  });

  it('is read again if the body comes late', async () => {
    await sync(4);
    const body = JSON.stringify(create());
    const headers = {
      authorization: `Bearer ${calls.requester}`,
      'content-type': 'application/json',
      'content-length': String(body.length),
    };
    const request = httpRequest(`${api.url}/api/requests`, { method: 'POST', headers });
    const answered = new Promise<Body>((resolve, reject) => {
      request.on('error', reject);
      request.on('response', async (response) => resolve(JSON.parse((await response.toArray()).join(''))));
    });
    request.flushHeaders();
    await sleep(150);
    const collectedAt = await sync(5);
    request.end(body);
    expect(await collectedOf(await answered)).toBe(collectedAt);
  });

  it('tells strangers nothing', async () => {
    const token = `svc_${'0'.repeat(32)}`;
    for (const environment of ['staging', 'unknown']) {
      const { status, body } = await api.call('POST', '/api/requests', { token, body: { ...create(), environment } });
      expect([status, body.code]).toEqual([401, 'auth.invalid_token']);
    }
  });
});
