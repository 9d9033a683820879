import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, TestApi } from '../support/api.js';
import { type Agent, type AgentCalls, coded, pollBody, startAgentApi } from './agent-calls.js';

let api: TestApi;
let calls: AgentCalls;
let agent: Agent;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi());
  agent = await calls.known();
});
afterAll(() => api?.close());

const paths = () => [
  ...['poll', 'preflight-result', 'schema-sync'],
  ...['jobs', 'dry-run'].flatMap((kind) => ['claim', 'result'].map((what) => `${kind}/${randomUUID()}/${what}`)),
  `jobs/${randomUUID()}/heartbeat`,
];
const isWhole = ({ headers, body }: Answer) => {
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(headers.get('x-svc-version')).toMatch(/^\d+\.\d+\.\d+/);
  expect(body).toEqual(expect.any(Object));
};

describe('every answer to an agent', () => {
  it('AG-01: is JSON with a body and the version, errors too', async () => {
    const id = await calls.dispatched();
    const claimed = await agent.claim(id);
    const good = [
      claimed,
      await agent.heartbeat(claimed.body.execution_id),
      await agent.submit(claimed.body.execution_id, { success: true }),
    ];
    for (const answer of [...good, await agent.poll(), await api.call('GET', '/api/public-key', { token: agent.token })]) {
      expect(answer.status).toBe(200);
      isWhole(answer);
    }
    for (const path of paths()) {
      const refused = [await agent.post(path, {}), await api.call('POST', `/api/agent/${path}`, { raw: '{' })];
      for (const answer of refused) {
        expect(answer.status).toBeGreaterThanOrEqual(400);
        isWhole(answer);
      }
    }
  });

  it('AG-02: a claim and a heartbeat need neither a body nor its type', async () => {
    const bare = (path: string) =>
      fetch(`${api.url}/api/agent/${path}`, { method: 'POST', headers: { authorization: `Bearer ${agent.token}` } });
    const claimed = await bare(`jobs/${await calls.dispatched()}/claim`);
    const { execution_id: executionId } = (await claimed.json()) as { execution_id: string };
    expect([claimed.status, (await bare(`jobs/${executionId}/heartbeat`)).status]).toEqual([200, 200]);
  });

  it('AG-04: has lists and booleans with a value, and null only where the protocol says so', async () => {
    const { body: poll } = await agent.poll();
    expect(nullsIn(poll)).toEqual([]);
    const { body: claim } = await agent.claim(await calls.dispatched());
    expect(nullsIn(claim)).toEqual(['execution_plan', 'execution_plan_json', 'max_affected_rows', 'max_rows', 'search_path']);
    expect(nullsIn((await agent.heartbeat(claim.execution_id)).body)).toEqual([]);
  });

  it('AG-05: is compressed only when asked, and never a redirect', async () => {
    await calls.dispatched(`select '${'x'.repeat(20_000)}'`);
    const ask = (encoding: string) =>
      fetch(`${api.url}/api/agent/poll`, {
        method: 'POST',
        redirect: 'manual',
        body: JSON.stringify(pollBody()),
        headers: { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json', 'accept-encoding': encoding },
      });
    const [plain, packed] = [await ask('identity'), await ask('gzip')];
    expect([plain.status, plain.headers.get('content-encoding'), (await plain.text()).length > 20_000]).toEqual([
      200,
      null,
      true,
    ]);
    expect([packed.status, packed.headers.get('content-encoding')]).toEqual([200, 'gzip']);
  });
});

const nullsIn = (body: Record<string, unknown>) =>
  Object.keys(body)
    .filter((key) => body[key] === null)
    .sort();

describe('the order of checks (AG-11)', () => {
  it('is token, kind of token, body, existence, identity, state', async () => {
    const [bad, unknown] = [{ raw: '{', headers: { 'content-type': 'application/json' } }, `jobs/${randomUUID()}/result`];
    const post = (path: string, options: object) => api.call('POST', `/api/agent/${path}`, options);
    expect(coded(await post(unknown, bad))).toEqual([401, 'auth.missing_token']);
    expect(coded(await post(unknown, { ...bad, token: calls.requester }))).toEqual([403, 'auth.forbidden']);
    expect(coded(await post(unknown, { ...bad, token: agent.token }))).toEqual([400, 'validation.failed']);
    const other = await calls.known();
    const executionId = await agent.run(await calls.dispatched());
    const result = (token: string, id: string, body: object) => post(`jobs/${id}/result`, { token, body });
    expect(coded(await result(other.token, executionId, {}))).toEqual([400, 'validation.failed']);
    expect(coded(await result(other.token, randomUUID(), { success: true }))).toEqual([404, 'execution.not_found']);
    await agent.submit(executionId, { success: true });
    expect(coded(await result(other.token, executionId, { success: false }))).toEqual([403, 'auth.forbidden']);
    expect(coded(await result(agent.token, executionId, { success: false }))).toEqual([409, 'execution.conflict']);
  });
});

describe('the answer of a claim', () => {
  it('AG-39: is stored byte for byte in the transaction of the claim', async () => {
    const claimed = await agent.claim(await calls.dispatched(), { claim_id: randomUUID() });
    const stored = await calls.sql<{ claim_answer: string }>('select claim_answer from executions where id = $1', [
      claimed.body.execution_id,
    ]);
    expect(stored).toEqual([{ claim_answer: claimed.text }]);
  });
});
