import { afterAll, beforeAll, expect, it } from 'vitest';
import { evidenceTools } from '../../crypto/evidence-tools.js';
import { verifyEvidence } from '../../domain/evidence/verify.js';
import type { TestApi } from '../support/api.js';
import { sealAll } from '../support/audit-api.js';
import { type RedeliveryApi, redeliveryCalls, startRedeliveryApi } from './redelivery-calls.js';

let own: RedeliveryApi;
let api: TestApi;
let deliveries: ReturnType<typeof redeliveryCalls>;
beforeAll(async () => {
  own = await startRedeliveryApi();
  api = own.api;
  deliveries = redeliveryCalls(own);
});
afterAll(() => api?.close());

it('the audit log says who had what sent again, and neither what it said nor where it went (NT-63, AU-10, NT-I7)', async () => {
  const { id, request } = await deliveries.ended();
  const { status, body } = await deliveries.redeliver(id);
  expect(status).toBe(202);
  const event = (await deliveries.events()).at(-1)!;
  expect(event).toMatchObject({
    event_category: 'policy',
    outcome: 'success',
    actor_id: 'admin',
    actor_type: 'user',
    resource_type: 'delivery',
    resource_id: body.delivery_id,
    request_id: null,
    database_name: 'shop',
    environment: 'production',
    detail_raw: null,
    detail_fingerprint: null,
    reason: null,
  });
  const { auth_token_id, ...metadata } = JSON.parse(event.metadata_json);
  expect(metadata).toEqual({
    webhook_id: 'feed',
    event_type: 'request.created',
    former_delivery_id: id,
    request_id: request,
  });
  expect(auth_token_id).toMatch(/^\S+$/);
  for (const secret of ['secret-', '127.0.0.1:9', 'select']) expect(JSON.stringify(event)).not.toContain(secret);
});

it('a delivery that is sent again leaves the evidence of its request whole (NT-63, AU-85)', async () => {
  const { id, request } = await deliveries.ended();
  expect((await deliveries.redeliver(id)).status).toBe(202);
  await sealAll(api);
  const { text } = await api.call('GET', `/api/requests/${request}/evidence`, { token: api.tokens.admin });
  expect(verifyEvidence(text, { trustedKeys: null, anchor: null }, evidenceTools)).toMatchObject({ fault: null, evidence: {} });
});

it('a delivery of an event without a request is sent again, and its event names no pair (NT-63)', async () => {
  const id = await deliveries.endedOfUser('lena');
  expect((await deliveries.redeliver(id)).status).toBe(202);
  const event = (await deliveries.events()).at(-1)!;
  expect(event).toMatchObject({ database_name: null, environment: null });
  expect(Object.keys(JSON.parse(event.metadata_json))).toEqual([
    'webhook_id',
    'event_type',
    'former_delivery_id',
    'auth_token_id',
  ]);
});

it('a caller without the right, with an ended token or of an unknown delivery leaves neither event nor delivery (NT-63, IM-72)', async () => {
  const { id } = await deliveries.ended();
  const revoked = await api.createUser('leaver', { roles: ['admin'] });
  await api.call('POST', '/api/users/leaver/suspend', { token: api.tokens.admin });
  const before = [await deliveries.stored(), await deliveries.events()];
  expect((await deliveries.redeliver(id, own.owner)).body.code).toBe('auth.forbidden');
  expect((await deliveries.redeliver(id, api.tokens.agent)).status).toBeGreaterThanOrEqual(401);
  expect((await deliveries.redeliver(id, revoked)).status).toBe(401);
  expect((await deliveries.redeliver('wd-8c1f0a34-1111-4222-8333-944445555666')).body.code).toBe('delivery.not_found');
  expect([await deliveries.stored(), await deliveries.events()]).toEqual(before);
});

it('two at once are two deliveries, each with its own event (NT-63, AU-10)', async () => {
  const { id } = await deliveries.ended();
  const before = (await deliveries.events()).length;
  const answers = await Promise.all([deliveries.redeliver(id), deliveries.redeliver(id)]);
  expect(answers.map(({ status }) => status)).toEqual([202, 202]);
  const made = answers.map(({ body }) => body.delivery_id).toSorted();
  expect(new Set([id, ...made]).size).toBe(3);
  const told = (await deliveries.events()).slice(before);
  expect(told.map((event) => event.resource_id).toSorted()).toEqual(made);
  expect(told.map((event) => JSON.parse(event.metadata_json).former_delivery_id)).toEqual([id, id]);
  expect(await deliveries.stored()).toEqual(expect.arrayContaining(made));
});

it('without the event there is no delivery (AU-10)', async () => {
  const { id } = await deliveries.ended();
  const before = await deliveries.stored();
  const table = 'alter table audit_events';
  await own.calls.sql(`${table} add constraint full_disk check (event_type <> 'webhook.redelivered') not valid`);
  try {
    expect((await deliveries.redeliver(id)).status).toBeGreaterThanOrEqual(500);
    expect(await deliveries.stored()).toEqual(before);
  } finally {
    await own.calls.sql(`${table} drop constraint full_disk`);
  }
});
