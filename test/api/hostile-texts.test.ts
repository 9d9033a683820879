import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, TestApi } from '../support/api.js';
import { share } from '../support/share.js';
import { startCalls } from './calls-api.js';
import type { GatewayCalls } from './gateway-calls.js';

let api: TestApi;
let calls: GatewayCalls;
let alice: string;
let hostile: string[];
beforeAll(async () => {
  ({
    api,
    calls,
    tokens: { alice },
  } = await startCalls({ alice: { roles: ['requester'] } }));
  hostile = await Promise.all(share([1], [1, 2, 3, 4, 5]).map((n) => api.createUser(`mallory-${n}`, { roles: ['requester'] })));
});
afterAll(() => api?.close());

const nested = (open: string, inner: string, close: string, n: number): string => open.repeat(n) + inner + close.repeat(n);

/** The first runs until the classifier gives it up; none may become a request. */
const texts: (string | Uint8Array)[] = [
  `SELECT 1${'+'.repeat(99_000)}1`,
  `SELECT ${nested('(', '1', ')', 20_000)}`,
  `SELECT ${'NOT '.repeat(20_000)}true`,
  nested('SELECT (', '1', ')', 10_000),
  `SELECT 1${' UNION SELECT 1'.repeat(6_500)}`,
  `DELETE FROM t; SELECT * FROM t WHERE a IN (1${',1'.repeat(49_000)})`,
  `SELECT ${'*'.repeat(1_900)}1`,
  'SELECT 1\0; DROP TABLE t',
  `SELECT 1 /*${'/*'.repeat(10_000)}`,
  new Uint8Array([0x22, 0xc3, 0x28, 0x22]),
];

function send(token: string, text: string | Uint8Array): Promise<Answer> {
  if (typeof text === 'string') return calls.create(token, { detail: text });
  const [before, after] = ['{"database":"shop","environment":"production","detail":', '}'].map((part) => Buffer.from(part));
  const raw = Buffer.concat([before!, text, after!]);
  return api.call('POST', '/api/requests', { token, raw, headers: { 'content-type': 'application/json' } });
}

/** Repeats a call that a stalled machine made fail, because its text waited or ran too long. */
async function turnOf(call: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await call();
    if ((answer.status !== 503 && !/took too long/.test(answer.body.error ?? '')) || tries === 20) return answer;
  }
}

describe('20 hostile texts of each of several callers at once (SQ-7, SQ-I6)', () => {
  it('are 400 or 503, while the calls of others are answered, and a long text among them has its turn', async () => {
    const sent = [...texts, ...texts.slice(1), ...texts.slice(-1)].flatMap((text) => hostile.map((token) => send(token, text)));
    const mine = turnOf(() => calls.create(alice, { detail: `select 1 -- ${'x'.repeat(5_000)}` }));
    for (let n = 0; n < 5; n += 1) {
      expect((await calls.create(alice)).status).toBe(201);
      expect((await api.call('GET', '/health')).status).toBe(200);
    }
    const answers = await Promise.all(sent);
    expect(answers).toHaveLength(20 * hostile.length);
    const codes = new Set(answers.map(({ status, body }) => `${status} ${body.code}`));
    expect([...codes].filter((code) => code !== '400 validation.failed' && code !== '503 service.unavailable')).toEqual([]);
    expect((await mine).status).toBe(201);
  }, 120_000);

  it('leave a classifier that works', async () => {
    const long = `select 1 -- ${'x'.repeat(5_000)}`;
    expect((await turnOf(() => calls.create(hostile[0]!, { detail: long }))).status).toBe(201);
    expect((await calls.create(hostile[0]!, { detail: `${long}\n; commit` })).status).toBe(400);
  }, 60_000);

  it('are 503 beyond one caller’s share, with a time to try again, in preflight too', async () => {
    const preflight = (sql: unknown) =>
      api.call('POST', '/api/preflight', { token: alice, body: { database: 'shop', environment: 'production', sql } });
    const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => preflight(texts[n === 0 ? 0 : 1])));
    const busy = answers.filter(({ status }) => status === 503);
    expect(busy.length).toBeGreaterThan(0);
    expect(busy[0]!.body.code).toBe('service.unavailable');
    expect(busy[0]!.headers.get('retry-after')).toBe('1');
    expect(answers.filter(({ status }) => status === 200).length + busy.length).toBe(60);
  }, 60_000);
});
