import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { type AgentCalls, startAgentApi } from './agent-calls.js';

const mib = 1024 * 1024;
const headers = { 'content-type': 'application/json' };
const tooDeep = { error: 'the body is nested deeper than 64', code: 'validation.failed', hint: 'body' };

let api: TestApi;
let calls: AgentCalls;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi());
});
afterAll(() => api?.close());

/** What was parsed meanwhile; the server runs in this process. */
async function parsedWhile<T>(work: () => Promise<T>): Promise<{ answer: T; parsed: string[]; longest: number }> {
  const parse = vi.spyOn(JSON, 'parse');
  try {
    const answer = await work();
    const parsed = parse.mock.calls.map(([text]) => text);
    return { answer, parsed, longest: Math.max(0, ...parsed.map(({ length }) => length)) };
  } finally {
    parse.mockRestore();
  }
}

describe('a body of nothing but brackets (HD-90, HT-43)', () => {
  it.each([
    ['open ones', '['.repeat(4 * mib)],
    ['closed ones', '['.repeat(2 * mib) + ']'.repeat(2 * mib)],
    ['objects', '{"a":'.repeat(800_000)],
    ['after a string that holds some', `{"detail":"]]]]\\"]]","a":${'['.repeat(3 * mib)}`],
    ['and a byte order mark before them', `\ufeff${'['.repeat(mib)}`],
  ])('is refused before it is parsed, and nobody waits for it: %s', async (_, raw) => {
    const send = () => api.call('POST', '/api/requests', { token: api.tokens.admin, raw, headers });
    const { answer, longest } = await parsedWhile(() =>
      Promise.all([
        ...[1, 2, 3, 4].map(send),
        api.call('GET', '/health'),
        api.call('GET', '/api/requests', { token: api.tokens.admin }),
      ]),
    );
    expect(answer.slice(0, 4).map(({ status, body }) => [status, body])).toEqual(Array(4).fill([400, tooDeep]));
    expect(answer.slice(4).map(({ status }) => status)).toEqual([200, 200]);
    expect(longest).toBeLessThan(64 * 1024);
  });

  it.each(['result_data', 'metadata'])('in a result of an agent is refused like that too: %s', async (member) => {
    const agent = await calls.known();
    const id = await agent.run(await calls.dispatched());
    const raw = `{"success":true,"${member}":${'['.repeat(2 * mib)}`;
    const { answer, longest } = await parsedWhile(() =>
      api.call('POST', `/api/agent/jobs/${id}/result`, { token: agent.token, raw, headers }),
    );
    expect([answer.status, answer.body]).toEqual([400, tooDeep]);
    expect(longest).toBeLessThan(64 * 1024);
  });

  it('inside a text counts as the text it is', async () => {
    const other = await startTestApi();
    const answer = await other.call('POST', '/api/requests', {
      token: other.tokens.admin,
      body: { database: 'shop', environment: 'staging', detail: `select '${'['.repeat(50_000)}'`, reason: '"[['.repeat(100) },
    });
    expect(answer.status, answer.text).toBe(201);
    await other.close();
  });

  it('inside the detail of a migration is not parsed either', async () => {
    const detail = `{"a":${'['.repeat(900_000)}`;
    const { answer, parsed } = await parsedWhile(() =>
      api.call('POST', '/api/requests', {
        token: api.tokens.admin,
        raw: JSON.stringify({ database: 'shop', environment: 'staging', operation: 'migrate_up', detail }),
        headers,
      }),
    );
    expect([answer.status, answer.body.hint]).toEqual([400, 'body.detail']);
    expect(parsed.includes(detail)).toBe(false);
  });
});
