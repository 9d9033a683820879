import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { type AgentCalls, agentCalls, agentToml, pollBody } from './agent-calls.js';
import { type ProxiedApi, startProxiedApi } from './proxied-api.js';

let behind: ProxiedApi;
let api: TestApi;
let proxy: TcpProxy;
let calls: AgentCalls;
beforeAll(async () => {
  behind = await startProxiedApi({ toml: agentToml });
  ({ api, proxy } = behind);
  calls = await agentCalls(api);
});
afterAll(() => behind?.close());

describe('our own Postgres goes away while a preflight waits for its plan', () => {
  it.each(['cut', 'freeze'] as const)(
    'HT-131, HT-112: %s: it is 503, and the next one works',
    async (how) => {
      const agent = await calls.known();
      const ask = (sql: string) =>
        api.call('POST', '/api/preflight', {
          token: calls.requester,
          body: { database: 'shop', environment: 'staging', sql, explain_timeout_ms: 2500 },
        });
      const asked = ask('select * from parts');
      let jobs: unknown[] = [];
      while (jobs.length === 0) jobs = (await agent.poll(pollBody({ wait_ms: 1000 }))).body.preflight_jobs;
      proxy[how]();
      const { status, body, headers } = await asked;
      proxy.heal();
      expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'service.unavailable', '1']);
      await expect.poll(async () => (await ask('select 1')).status, { timeout: 15_000 }).toBe(200);
    },
    60_000,
  );
});
