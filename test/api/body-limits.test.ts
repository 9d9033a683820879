import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allRoutes, defaultTimes } from '../../api/routes.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { type Agent, type AgentCalls, startAgentApi } from './agent-calls.js';

const mib = 1024 * 1024;
const maxPersistBytes = 20_000;
const others = 2 * mib;

/** HT-50, by the id of the operation. */
const limits: Record<string, number> = {
  createRequest: 4 * mib,
  preflight: 4 * mib,
  submitResult: 2 * maxPersistBytes + 2 * mib,
  syncSchema: 10 * mib,
  submitPreflightResult: 512 * 1024,
};

let api: TestApi;
let calls: AgentCalls;
let agent: Agent;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi());
  agent = await calls.known();
});
afterAll(() => api?.close());

const withBody = allRoutes(() => Promise.reject(new Error('only described')), defaultTimes).filter(
  ({ body }) => body !== undefined,
);

/** White space only, so that a body that is not too large is refused for its form and changes nothing. */
async function send({ method, path, access }: (typeof withBody)[number], bytes: number, id: string) {
  return api.call(method.toUpperCase(), path.replace(/:\w+/g, id), {
    token: access === 'agent' ? agent.token : api.tokens.admin,
    raw: ' '.repeat(bytes),
    headers: { 'content-type': 'application/json' },
  });
}

describe('the size of a body (HT-42, HT-50)', () => {
  it('names no route in the table that there is not', () => {
    const ids = withBody.map(({ operationId }) => operationId);
    expect(Object.keys(limits).filter((id) => !ids.includes(id))).toEqual([]);
  });

  it.each(withBody.map((route) => [route.operationId, route] as const))(
    'HT-50: %s takes its limit and not a byte more',
    async (operationId, route) => {
      const limit = limits[operationId] ?? others;
      // Only of an execution of its own does an agent hear that its result is too large (AG-47).
      const id = operationId === 'submitResult' ? await agent.run(await calls.dispatched()) : 'some-id';
      const within = await send(route, limit, id);
      expect([within.status, within.body.error]).toEqual([400, 'the body is not valid JSON']);
      const above = await send(route, limit + 1, id);
      expect([above.status, above.body]).toEqual([
        413,
        { error: `the body has more than ${limit} bytes`, code: 'payload.too_large', hint: null },
      ]);
    },
  );

  it('HT-50: a result may by default have 22 MiB', async () => {
    const other = await startTestApi();
    const route = withBody.find(({ operationId }) => operationId === 'submitResult')!;
    const limit = route.bodyLimit as Exclude<typeof route.bodyLimit, number | undefined>;
    expect(limit(other.config)).toBe(22 * mib);
    await other.close();
  });

  it.each([
    ['result', { result: { a: 'x'.repeat(262_144 - 7) } }, 262_144],
    ['error', { error: 'x'.repeat(4097) }, 4096],
  ])('HT-50: %s of a preflight result has a limit of its own', async (name, over, limit) => {
    const id = '00000000-0000-4000-8000-000000000000';
    const answer = await agent.post('preflight-result', { job_id: id, claim_token: id, ...over });
    expect([answer.status, answer.body]).toEqual([
      413,
      { error: `${name} has more than ${limit} bytes`, code: 'payload.too_large', hint: null },
    ]);
  });
});
