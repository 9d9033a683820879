import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { TestApi } from '../support/api.js';
import { ownerAndApprover, startCalls } from './calls-api.js';
import type { GatewayCalls } from './gateway-calls.js';

/** 40 of them are more than a page reads at once. What JSON escapes, and what it does not. */
const odd = `"\\ \n\t\r \u007f \u0085 \u2028 \u00e4 \u{1f600}`;
const detailOf = (number: number) => `select ${number} -- ${'x'.repeat(60_000)}\n, E'\\\\', '${odd}' as "${odd.slice(3)}"`;
const mostBytes = 1024 * 1024;

let api: TestApi;
let calls: GatewayCalls;
let tokens: Record<'owner' | 'approver' | 'admin', string>;
const details = new Map<string, string>();
beforeAll(async () => {
  ({ api, calls, tokens } = await startCalls(ownerAndApprover, ['shop/production']));
  for (let number = 0; number < 40; number += 1) {
    const detail = detailOf(number);
    details.set(await calls.created(tokens.owner, { detail }), detail);
  }
});
afterAll(() => api?.close());

const shownIn = (answer: { body: { requests: { id: string; detail: string }[] } }) =>
  new Map(answer.body.requests.map(({ id, detail }) => [id, detail]));

describe('a list of long texts', () => {
  it.each(['?limit=100', '?limit=100&pending_for_me=true', '?limit=100&status=pending'])(
    'tells each in full (%s)',
    async (query) => {
      const answer = await calls.list(tokens.approver, query);
      expect(answer.status).toBe(200);
      expect(shownIn(answer)).toEqual(details);
      const few = await calls.list(tokens.approver, query.replace('100', '2'));
      expect({ ...answer.body, requests: answer.body.requests.slice(0, 2), limit: 2 }).toEqual(few.body);
    },
  );

  it('has no more than a MiB of them in memory for each reader (RQ-I13)', async () => {
    const query = vi.spyOn(api.services.database, 'query');
    onTestFinished(() => void vi.restoreAllMocks());
    expect(shownIn(await calls.list(tokens.owner, '?limit=100'))).toEqual(details);
    const read = await Promise.all(query.mock.results.map(({ value }) => value as Promise<object[]>));
    expect(Math.max(...read.map((rows) => Buffer.byteLength(JSON.stringify(rows))))).toBeLessThan(1.1 * mostBytes);
  });

  it('breaks off when a request is purged while they are sent', async () => {
    const { database } = api.services;
    const query = database.query.bind(database);
    vi.spyOn(database, 'query').mockImplementation(async (text, values) =>
      text.includes('to_json(r.detail)::text as text') ? [] : ((await query(text, values)) as never),
    );
    onTestFinished(() => void vi.restoreAllMocks());
    await expect(calls.list(tokens.owner, '?limit=100')).rejects.toThrow();
    expect(api.logged.some((line) => line.includes('answer broken off') && line.includes('was purged'))).toBe(true);
  });
});
