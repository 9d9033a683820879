import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storedStart } from '../../api/results/stored-text.js';
import { findExecutionResult } from '../../db/results.js';
import type { TestApi } from '../support/api.js';
import { startCalls } from './calls-api.js';
import type { GatewayCalls } from './gateway-calls.js';
import { large } from './large-result.js';

let api: TestApi;
let calls: GatewayCalls;
let friend: string;
beforeAll(async () => {
  ({
    api,
    calls,
    tokens: { friend },
  } = await startCalls({ friend: { roles: ['requester'] } }, ['shop/staging']));
});
afterAll(() => api?.close());

const data = large('{"rows":[{"n":1}]}');

describe('the results of a user who goes', () => {
  it.each([
    ['suspended', 'POST', '/suspend'],
    ['deleted', 'DELETE', ''],
  ])('RS-61: stay as they are when the user is %s: stored, listed and read by whoever may', async (what, method, tail) => {
    const owner = await api.createUser(what, { roles: ['requester'] });
    const { id, executionId } = await calls.run(owner, { share_with: ['friend'] }, { success: true, result_data: data });
    const before = await calls.sql('select * from results where request_id = $1', [id]);
    const gone = await api.call(method, `/api/users/${what}${tail}`, { token: api.tokens.admin });
    expect(gone.status).toBe(200);
    expect(await calls.sql('select * from results where request_id = $1', [id])).toEqual(before);
    expect(await readFile(join(api.config.resultStorage.rootDir, id, executionId), 'utf8')).toBe(data);
    for (const token of [friend, api.tokens.admin]) {
      const content = await calls.content(token, id);
      expect([content.status, content.text.includes(data)]).toEqual([200, true]);
      const { results } = (await api.call('GET', '/api/results', { token })).body;
      expect(results.map(({ request_id }: { request_id: string }) => request_id)).toContain(id);
    }
    expect((await calls.content(owner, id)).status).toBe(401);
  });
});

describe('a large result that is removed while it is sent', () => {
  it.each([
    ['JSON', `{"rows":["${'x'.repeat(2 * 1024 * 1024)}"]}`],
    ['no JSON', 'x'.repeat(2 * 1024 * 1024)],
  ])('breaks the connection off: nobody takes a part of %s for the whole, or waits for the rest (RS-36)', async (what, rows) => {
    const owner = await api.createUser(`late-${what.replace(' ', '-')}`, { roles: ['requester'] });
    const { id } = await calls.run(owner, {}, { success: true, result_data: rows });
    const { results } = api.services;
    const { read } = results;
    let reads = 0;
    results.read = async (key) => {
      reads += 1;
      return reads === 1 ? read(key) : null;
    };
    try {
      for (const encoding of ['gzip', 'identity']) {
        reads = 0;
        const headers = { 'accept-encoding': encoding };
        const answer = api.call('GET', `/api/requests/${id}/result/content`, { token: owner, headers });
        await expect(answer).rejects.toThrow();
        expect(reads).toBe(2);
      }
    } finally {
      results.read = read;
    }
  });
});

describe('a large result of which a later read brings other bytes than the first', () => {
  const text = `{"rows":["${'x'.repeat(2 * 1024 * 1024)}"]}`;

  async function* damaged(pieces: AsyncIterable<Uint8Array>) {
    for await (const piece of pieces) yield piece.length > 100 ? Buffer.from(piece).fill('y', 100, 101) : piece;
  }

  /** Runs `work` while only the first read of an object is as it was stored. */
  async function afterFirstRead(work: () => Promise<void>): Promise<void> {
    const { results } = api.services;
    const { read } = results;
    let reads = 0;
    results.read = async (key) => {
      const found = await read(key);
      reads += 1;
      return found === null || reads === 1 ? found : damaged(found);
    };
    try {
      await work();
    } finally {
      results.read = read;
    }
  }

  it.each([
    ['JSON', text],
    ['no JSON', 'x'.repeat(2 * 1024 * 1024)],
  ])('breaks the connection off, so that nobody takes damaged %s for the stored one (RS-36)', async (what, rows) => {
    const owner = await api.createUser(`damaged-${what.replace(' ', '-')}`, { roles: ['requester'] });
    const { id } = await calls.run(owner, {}, { success: true, result_data: rows });
    for (const encoding of ['gzip', 'identity']) {
      await afterFirstRead(async () => {
        const answer = api.call('GET', `/api/requests/${id}/result/content`, {
          token: owner,
          headers: { 'accept-encoding': encoding },
        });
        await expect(answer).rejects.toThrow();
      });
    }
    expect((await calls.content(owner, id)).text).toContain(rows);
  });

  it('shows a start only of what was compared (RS-36)', async () => {
    const { id } = await calls.run(friend, {}, { success: true, result_data: text });
    const recorded = await findExecutionResult(api.services.database, id, null);
    await afterFirstRead(async () => {
      const start = await storedStart(api.services, recorded!, 1000);
      expect(Buffer.from(start).toString()).toBe(text.slice(0, 1000));
    });
  });
});
