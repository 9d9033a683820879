import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { roleToml } from '../support/toml.js';

const toml = `allow_private_networks = true
${shopToml}${roleToml('stager', ['workflow.read'], { environments: ['staging'] })}
[[webhooks]]
id = "ops-feed"
url = "http://127.0.0.1:9/services/secret-path?key=secret-key"
events = ["request.*"]
secret = "secret-of-the-feed"

[[webhooks]]
id = "chat"
url = "http://127.0.0.1:9"
format = "slack"

[[notification_policies]]
database = "shop"
environment = "production"
webhooks = ["ops-feed"]
events = ["execution.failed"]

[[notification_policies]]
environment = "staging"
slack_channels = []
`;

let api: TestApi;
let requester: string;
let stager: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  requester = await api.createUser('requester', { roles: ['requester'] });
  stager = await api.createUser('stager', { roles: ['stager'] });
});
beforeEach(() => api.services.database.query(`delete from webhook_deliveries`));
afterAll(() => api?.close());

const as = (token: string) => (method: string, path: string) => api.call(method, path, { token });
const admin = (method: string, path: string) => as(api.tokens.admin)(method, path);

it('webhooks are shown in the order of the file, without path, query and secret (NT-60, NT-I7, C9)', async () => {
  const { body, text } = await admin('GET', '/api/webhooks');
  expect(body.webhooks).toEqual([
    {
      id: 'ops-feed',
      url: 'http://127.0.0.1:9/…',
      events: ['request.*'],
      format: 'generic',
      secret: '********',
      status: 'active',
      created_at: expect.any(String),
      updated_at: expect.any(String),
    },
    {
      id: 'chat',
      url: 'http://127.0.0.1:9',
      events: [],
      format: 'slack',
      secret: null,
      status: 'active',
      created_at: expect.any(String),
      updated_at: expect.any(String),
    },
  ]);
  expect(text).not.toContain('secret-');
});

it('a test is queued for a webhook that does not subscribe to it, and its delivery is listed without its body (NT-10, NT-61)', async () => {
  const { status, body } = await admin('POST', '/api/webhooks/ops-feed/test');
  expect([status, body]).toEqual([202, { delivery_id: expect.stringMatching(/^wd-[0-9a-f-]{36}$/) }]);
  const listed = await admin('GET', '/api/webhook-deliveries?event_type=webhook.test&webhook_id=ops-feed&status=pending');
  expect(listed.body).toEqual({
    deliveries: [
      {
        id: body.delivery_id,
        webhook_id: 'ops-feed',
        event_type: 'webhook.test',
        request_id: null,
        status: 'pending',
        attempts: 0,
        max_attempts: 10,
        last_error: null,
        finished_at: null,
        created_at: expect.any(String),
        next_retry_at: expect.any(String),
      },
    ],
    total: 1,
    limit: 50,
    offset: 0,
  });
  const [row] = await api.services.database.query<{ body: string }>('select body from webhook_deliveries where id = $1', [
    body.delivery_id.slice(3),
  ]);
  expect(JSON.parse(row?.body ?? '')).toMatchObject({ event: 'webhook.test', actor: 'admin', request_id: null });
});

it('a webhook tells what became of its deliveries, and one that has ended is sent again with the same bytes (NT-60, NT-63)', async () => {
  const first = (await admin('POST', '/api/webhooks/chat/test')).body.delivery_id as string;
  const again = `/api/webhook-deliveries/${first}/redeliver`;
  expect((await admin('POST', again)).body).toMatchObject({ code: 'delivery.conflict' });
  await api.services.database.query(
    `update webhook_deliveries set status = 'dead', next_retry_at = null, finished_at = clock_timestamp(), last_error = 'status 503', attempts = 10
     where id = $1`,
    [first.slice(3)],
  );
  const { status, body } = await admin('POST', again);
  expect(status).toBe(202);
  const rows = await api.services.database.query<{ body: string }>(
    'select body from webhook_deliveries where id = any($1::uuid[])',
    [[first.slice(3), body.delivery_id.slice(3)]],
  );
  expect(rows.length).toBe(2);
  expect(rows[0]?.body).toBe(rows[1]?.body);
  expect((await admin('GET', '/api/webhooks/chat')).body.deliveries).toEqual({
    pending: 1,
    in_progress: 0,
    delivered: 0,
    dead: 1,
    cancelled: 0,
    last_delivered_at: null,
    last_error: 'status 503',
  });
});

it('notification policies are shown in the order of the file, and each by its id (NT-62)', async () => {
  const production = {
    id: 'np:shop:production',
    database: 'shop',
    environment: 'production',
    webhooks: ['ops-feed'],
    events: ['execution.failed'],
    slack_channels: null,
  };
  const { body } = await admin('GET', '/api/notification-policies');
  expect(body.notification_policies[0]).toEqual({
    ...production,
    revision: 'r1',
    digest: expect.stringMatching(/^[0-9a-f]{12}$/),
  });
  expect(body.notification_policies[1]).toMatchObject({ id: 'np:*:staging', slack_channels: [] });
  expect((await admin('GET', '/api/notification-policies/np:shop:production')).body).toMatchObject(production);
});

it('bad input, unknown ids, callers without permission and writes are refused (section 8)', async () => {
  const rows: [string, string, number, string][] = [
    ['GET', '/api/webhooks/none', 404, 'webhook.not_found'],
    ['POST', '/api/webhooks/none/test', 404, 'webhook.not_found'],
    ['GET', '/api/notification-policies/none', 404, 'notification_policy.not_found'],
    ['GET', '/api/webhook-deliveries?status=lost', 400, 'validation.failed'],
    ['GET', '/api/webhook-deliveries?limit=-1', 400, 'validation.failed'],
    ['GET', '/api/webhook-deliveries?offset=x', 400, 'validation.failed'],
    ['POST', '/api/webhook-deliveries/wd-x/redeliver', 404, 'delivery.not_found'],
    ['POST', '/api/webhook-deliveries/8c1f0a34-1111-4222-8333-944445555666/redeliver', 404, 'delivery.not_found'],
    ['POST', '/api/webhooks', 405, 'config.read_only'],
    ['DELETE', '/api/notification-policies/np:shop:production', 405, 'config.read_only'],
  ];
  for (const [method, path, status, code] of rows) {
    const answer = await admin(method, path);
    expect([answer.status, answer.body.code], path).toEqual([status, code]);
  }
  for (const path of ['/api/webhooks', '/api/webhooks/ops-feed', '/api/notification-policies/np:shop:production'])
    expect((await as(stager)('GET', path)).status, path).toBeGreaterThanOrEqual(403);
  expect((await as(requester)('GET', '/api/webhook-deliveries')).body.code).toBe('auth.forbidden');
  for (const path of ['/api/webhooks/ops-feed/test', '/api/webhook-deliveries/wd-x/redeliver'])
    expect((await as(requester)('POST', path)).body.code, path).toBe('auth.forbidden');
});
