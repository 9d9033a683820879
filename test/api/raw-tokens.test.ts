import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, shopToml, startTestApi, type TestApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ toml: shopToml });
});
afterAll(() => api?.close());

const call = (token: string, method: string, path: string, body?: object): Promise<Answer> =>
  api.call(method, path, { token, body });

describe('where a raw token can be found', () => {
  it('IM-I7: in the answer that made it and in the bootstrap files, and nowhere else', async () => {
    const made: { token: string; times: number }[] = [];
    const texts: string[] = [];
    const answered = async (answer: Promise<Answer>) => {
      const { status, text, body, headers } = await answer;
      expect(status, text).toBeLessThan(300);
      texts.push(text, JSON.stringify([...headers]));
      if (typeof body?.token === 'string') made.push({ token: body.token, times: 0 });
    };
    const { admin } = api.tokens;
    await answered(call(admin, 'POST', '/api/users', { id: 'seen', roles: ['requester'] }));
    const token = made[0]!.token;
    await answered(call(token, 'POST', '/api/tokens', { subject_id: 'seen', subject_type: 'user', name: 'ci' }));
    await answered(call(admin, 'POST', '/api/tokens', { subject_id: 'eu-9', subject_type: 'agent' }));
    await answered(call(token, 'GET', '/api/me'));
    await answered(call(token, 'POST', '/api/requests', { database: 'shop', environment: 'staging', detail: 'select 1' }));
    await answered(call(admin, 'POST', '/api/users/seen/reissue-initial-token'));
    expect((await call(token, 'GET', '/api/me')).status).toBe(401);
    for (const path of [
      '/api/users/seen',
      '/api/users',
      '/api/tokens',
      '/api/audit/events?limit=200',
      '/metrics',
      '/openapi.json',
    ])
      await answered(call(admin, 'GET', path));
    const { tokens } = (await call(admin, 'GET', '/api/tokens')).body;
    for (const { id } of tokens.slice(0, 3)) await answered(call(admin, 'GET', `/api/tokens/${id}/inspect`));
    expect(made).toHaveLength(4);

    const secrets = [...made.map(({ token: text }) => text), ...Object.values(api.tokens)];
    const stored = await storedTexts();
    const files = await filesWith(secrets);
    for (const secret of secrets) {
      expect(stored.filter((row) => row.includes(secret))).toEqual([]);
      expect(api.logged.filter((line) => line.includes(secret))).toEqual([]);
    }
    for (const { token: text } of made) expect(texts.filter((each) => each.includes(text))).toHaveLength(1);
    for (const text of Object.values(api.tokens)) expect(texts.filter((each) => each.includes(text))).toEqual([]);
    expect(files).toEqual(['admin-token', 'agent-token', 'requester-token']);
  });
});

/** Every row of every table as text. */
async function storedTexts(): Promise<string[]> {
  const { database } = api.services;
  const tables = await database.query<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public'`);
  const rows = await Promise.all(
    tables.map(({ name }) => database.query<{ row: string }>(`select t::text as row from ${name} t`)),
  );
  expect(rows.flat().length).toBeGreaterThan(20);
  return rows.flat().map(({ row }) => row);
}

async function filesWith(secrets: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(api.stateDir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const text = await readFile(join(entry.parentPath, entry.name), 'utf8');
    if (secrets.some((secret) => text.includes(secret))) found.push(entry.name);
  }
  return found.sort();
}
