import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGatewayClient, type GatewayClient } from '../../agent/gateway-client.js';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';

let api: FakeApi;
let client: GatewayClient;
beforeAll(async () => {
  api = await startFakeApi();
  client = createGatewayClient({ url: api.url, token: null, ca: null, userAgent: 'test', connectTimeoutMs: 1000 });
});
afterAll(async () => {
  client.close();
  await api.close();
});

describe('how long the gateway wants to be left alone (AG-10)', () => {
  it.each([
    [429, '3600', 3_600_000],
    [429, '99999999999', 86_400_000],
    [503, '3600', 30_000],
    [502, '1', 1000],
    [503, 'Wed, 21 Oct 2037 07:28:00 GMT', null],
    [429, '-1', null],
  ])('by a %i with Retry-After %s: %s ms', async (status, said, expected) => {
    api.on('GET /health', { status, body: '<html>', headers: { 'retry-after': said } });
    expect((await client.get('/health', { timeoutMs: 10_000 })).retryAfterMs).toBe(expected);
  });
});
