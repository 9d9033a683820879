import { afterEach, beforeEach, expect, it } from 'vitest';
import { claimJob } from '../../agent/claim.js';
import { createGatewayClient, type GatewayClient } from '../../agent/gateway-client.js';
import { defaultTimings } from '../../agent/timings.js';
import { type FakeApi, type FakeReply, startFakeApi } from '../support/fake-api.js';

const id = '6b0c6c1e-3c39-4f6c-9a0e-7a1b3a7f0a11';
const route = `POST /api/agent/jobs/${id}/claim`;

let api: FakeApi;
let client: GatewayClient;
beforeEach(async () => {
  api = await startFakeApi();
  client = createGatewayClient({ url: api.url, token: 'svc_test', ca: null, userAgent: 'test', connectTimeoutMs: 1000 });
});
afterEach(async () => {
  client.close();
  await api.close();
});

function claim() {
  const quiet = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
  const never = new AbortController().signal;
  const timings = { ...defaultTimings, claimBackoffMs: [1], httpMs: 2000 };
  return claimJob(
    { id, operation: 'execute_dml', environment: 'staging', database: 'shop', fence: 1 },
    { client, timings, log: quiet, stop: never, abandoned: never },
  );
}

it.each<[string, FakeReply]>([
  ['the 404 of a proxy', { status: 404, body: '404 page not found' }],
  ['the 409 of a proxy', { status: 409, body: '' }],
  ['a 408', { status: 408, body: { code: 'validation.failed' } }],
  ['no answer', { drop: true }],
])('AP-08: a claim is repeated with its claim_id after %s, until the gateway answers', async (_, reply) => {
  api.on(route, reply, reply, { status: 409, body: { code: 'request.conflict' } });
  expect(await claim()).toBeNull();
  const bodies = api.bodies(route) as { claim_id: string }[];
  expect(bodies).toHaveLength(3);
  expect(new Set(bodies.map(({ claim_id }) => claim_id)).size).toBe(1);
});
