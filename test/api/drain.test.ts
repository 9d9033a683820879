import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ drainSecs: 2 });
});
afterAll(() => api?.close());

it('draining: tells /ready, ends waits, refuses creations, serves the rest, then stops (OP-60 to OP-64)', async () => {
  const { admin, requester, agent } = api.tokens;
  const body = { database: 'shop', environment: 'production', detail: 'select 1' };
  const created = await api.call('POST', '/api/requests', { token: requester, body });
  expect(created.status).toBe(201);
  const waiting = api.call('GET', `/api/requests/${created.body.id}?wait=60`, { token: requester });
  const polling = api.call('POST', '/api/agent/poll', { token: agent, body: { capabilities: { scopes: [] }, wait_ms: 30_000 } });
  const waits = async () => (await api.services.metrics.longPolls.get()).values.map(({ labels, value }) => [labels.kind, value]);
  await expect.poll(waits).toEqual(
    expect.arrayContaining([
      ['request', 1],
      ['agent', 1],
    ]),
  );
  api.drain();
  expect(await waiting.then(({ status, body: shown }) => [status, shown.status])).toEqual([200, 'pending']);
  expect(await polling.then(({ status, body: answer }) => [status, answer.jobs])).toEqual([200, []]);
  const ready = await api.call('GET', '/ready');
  expect([ready.status, ready.body]).toEqual([
    503,
    { status: 'draining', error: 'server is shutting down', code: 'service.draining', hint: null },
  ]);
  expect(ready.headers.get('retry-after')).toBe('1');
  const refused = await api.call('POST', '/api/requests', { token: requester, body });
  expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([503, 'service.draining', '1']);
  const served = await api.call('GET', '/api/me', { token: admin });
  expect([served.status, served.headers.get('connection')]).toEqual([200, 'close']);
  expect((await api.call('GET', '/health')).status).toBe(200);
  await api.close();
  await expect(api.call('GET', '/health')).rejects.toThrow();
});
