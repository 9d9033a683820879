import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { type AgentCalls, agentCalls, agentToml, coded } from './agent-calls.js';
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

it.each(['cut', 'freeze'] as const)(
  'with our Postgres away (%s) every call of an agent is 503 and changes nothing; its retries are then served (AG-48, AG-50)',
  async (how) => {
    const agent = await calls.known();
    const [offered, running] = [await calls.dispatched(), await calls.dispatched('delete from t where id = 1')];
    const executionId = await agent.run(running);
    const body = { success: true, rows_affected: 1 };
    proxy[how]();
    const answers = await Promise.all([
      agent.poll(),
      agent.claim(offered),
      agent.heartbeat(executionId),
      agent.submit(executionId, body),
      agent.submit(executionId, body),
    ]);
    for (const answer of answers) {
      expect(coded(answer)).toEqual([503, 'service.unavailable']);
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    proxy.heal();
    await expect.poll(async () => (await agent.heartbeat(executionId)).status, { timeout: 10_000 }).toBe(200);
    expect(await calls.statusOf(running)).toBe('running');
    expect((await agent.submit(executionId, body)).body.status).toBe('executed');
    expect(await calls.events(running, 'execution.completed')).toHaveLength(1);
    expect(await agent.offered()).toEqual([offered]);
    expect((await agent.claim(offered)).status).toBe(200);
  },
);

it('a connection that breaks inside a transaction fails that call and nothing else (HT-112)', async () => {
  const { database: ours } = api.services;
  const work = ours.transaction(async (tx) => {
    const [own] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
    const waiting = tx.query('select pg_sleep(30)');
    waiting.catch(() => {});
    await ours.query('select pg_terminate_backend($1::int)', [own!.pid]);
    await waiting;
  });
  await expect(work).rejects.toMatchObject({ code: 'service.unavailable' });
  expect((await api.call('GET', '/api/me', { token: calls.requester })).status).toBe(200);
});
