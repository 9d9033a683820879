import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
