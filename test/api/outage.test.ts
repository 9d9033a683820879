import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { type ProxiedApi, startProxiedApi } from './proxied-api.js';

let behind: ProxiedApi;
let api: TestApi;
let proxy: TcpProxy;
beforeAll(async () => {
  behind = await startProxiedApi();
  ({ api, proxy } = behind);
});
afterAll(() => behind?.close());

const lineOf = ({ headers }: { headers: Headers }) =>
  api.logged.map((line) => JSON.parse(line)).find((line) => line.call_id === headers.get('x-request-id') && line.msg === 'call');

describe('our own Postgres away (HT-112, HT-111, IM-8)', () => {
  it.each(['cut', 'freeze'] as const)('%s: every call is 503, the probes answer, and recovery needs no restart', async (how) => {
    const token = api.tokens.admin;
    expect((await api.call('GET', '/api/me', { token })).status).toBe(200);
    proxy[how]();
    const [me, create, nothing, health] = await Promise.all([
      api.call('GET', '/api/me', { token }),
      api.call('POST', '/api/users', { token, body: { id: `new-${how}` } }),
      api.call('GET', '/api/nothing', { token }),
      api.call('GET', '/health'),
    ]);
    for (const answer of [me, create, nothing]) {
      expect([answer.status, answer.body]).toEqual([
        503,
        { error: 'the gateway database is not reachable', code: 'service.unavailable', hint: null },
      ]);
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(lineOf(answer)).toMatchObject({ level: 'info', msg: 'call', status: 503, outage: expect.stringMatching(/^\w+$/) });
    }
    expect(health.status).toBe(200);
    const ready = await api.call('GET', '/ready');
    expect([ready.status, ready.body.checks.database]).toEqual([503, 'unavailable']);
    proxy.heal();
    await expect.poll(async () => (await api.call('GET', '/api/me', { token })).status, { timeout: 10_000 }).toBe(200);
    const shown = await api.call('GET', `/api/users/new-${how}`, { token });
    expect(shown.status).toBe(404);
  });
});
