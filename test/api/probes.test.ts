import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { callsToml } from './calls-toml.js';

/** Takes connections and never answers, as a store and a Temporal that hang. */
let hanging: TcpProxy;
let database: TestDatabase;
let postgres: TcpProxy;
let api: TestApi;
beforeAll(async () => {
  database = await createTestDatabase();
  postgres = await startTcpProxy(database.url);
  hanging = await startTcpProxy(database.url);
  hanging.freeze();
  const { host } = new URL(hanging.url);
  const store = `[result_storage]\nbackend = "s3"\nendpoint = "http://${host}"\naccess_key_id = "a"\nsecret_access_key = "b"\npath_style = true\n`;
  api = await startTestApi({ toml: `${callsToml}\n${store}`, database, databaseUrl: postgres.url, temporalAddress: host });
});
afterAll(async () => {
  postgres?.heal();
  await api?.close();
  await hanging?.close();
  await postgres?.close();
  await database?.drop();
});

describe('the probes while everything hangs (OP-1, OP-10, OP-11, HT-111)', () => {
  it('OP-I4: /health is 200 before /ready has asked anybody, and /ready names what does not answer (HT-27)', async () => {
    postgres.freeze();
    const order: string[] = [];
    const ask = async (path: string) => {
      const answer = await api.call('GET', path);
      order.push(path);
      return answer;
    };
    const ready = ask('/ready');
    const healths = await Promise.all(Array.from({ length: 20 }, () => ask('/health')));
    for (const { status, body } of healths) expect([status, body.status]).toEqual([200, 'ok']);
    const { status, body, text, headers } = await ready;
    expect([status, body]).toEqual([
      503,
      {
        status: 'unavailable',
        checks: { database: 'unavailable', temporal: 'unavailable', worker: 'not_seen', result_storage: 'unavailable' },
        error: 'not ready',
        code: 'service.unavailable',
        hint: expect.any(String),
      },
    ]);
    expect(headers.get('retry-after')).toBe('1');
    expect(order.at(-1)).toBe('/ready');
    for (const address of [new URL(postgres.url).port, new URL(hanging.url).port, '127.0.0.1', '0.1.0'])
      expect(text).not.toContain(address);
    expect((await api.call('GET', '/metrics', { token: api.tokens.admin })).status).toBe(503);
    postgres.heal();
    await expect.poll(async () => (await api.call('GET', '/ready')).body.checks.database, { timeout: 15_000 }).toBe('ok');
  }, 60_000);
});
