import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc } from './run-svc.js';

let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
});
afterEach(() => api.close());
const svc = (...argv: string[]) => runSvc(argv, { environment: login(api.url), limits: { deliveryMs: 2000 } });

const id = 'wd-6f1e2d3c-4b5a-4978-8675-645342312011';
const webhook = {
  id: 'ops-feed',
  url: 'https://hooks.example.net/…',
  events: ['request.*'],
  format: 'generic',
  secret: '********',
  status: 'active',
  created_at: '2031-02-03T04:05:06.000Z',
  updated_at: '2031-02-03T04:05:06.000Z',
};
const delivery = {
  id,
  webhook_id: 'ops-feed',
  event_type: 'webhook.test',
  request_id: null as string | null,
  status: 'pending',
  attempts: 3,
  max_attempts: 10,
  last_error: 'status 503' as string | null,
  created_at: '2031-02-03T04:05:06.700Z',
  next_retry_at: '2031-02-03T04:06:13.100Z' as string | null,
  finished_at: null as string | null,
};
const page = (...deliveries: object[]) => ({ body: { deliveries, total: 12, limit: 50, offset: 0 } });

describe('svc webhook list and show', () => {
  it('lists webhooks, also one that the server has no URL of', async () => {
    const bare = { ...webhook, id: 'x\u001b[2J', url: null, events: [], secret: null };
    api.on('GET /api/webhooks', { body: { webhooks: [webhook, bare] } });
    expect((await svc('webhook', 'list')).stdout).toBe(
      [
        'ID          URL                          EVENTS     FORMAT   SECRET',
        '----------  ---------------------------  ---------  -------  ------',
        'ops-feed    https://hooks.example.net/…  request.*  generic  set',
        'x\\u001b[2J  not in its file              all        generic  none',
        '',
      ].join('\n'),
    );
    expect(JSON.parse((await svc('webhook', 'list', '--json')).stdout).data).toEqual({ webhooks: [webhook, bare] });
  });

  it('says that there are none', async () => {
    api.on('GET /api/webhooks', { body: { webhooks: [] } });
    expect(await svc('webhook', 'list')).toMatchObject({ code: 0, stdout: '', stderr: 'no webhooks\n' });
  });

  it('shows what became of the deliveries of one', async () => {
    const counts = { pending: 1, in_progress: 0, delivered: 40, dead: 2, cancelled: 0 };
    const deliveries = { ...counts, last_delivered_at: '2031-02-03T05:00:00.000Z', last_error: 'status 503\u001b[2J' };
    api.on('GET /api/webhooks/ops-feed', { body: { ...webhook, deliveries } });
    const { stdout } = await svc('webhook', 'show', 'ops-feed');
    expect(stdout).toContain('events  request.*\n');
    expect(stdout).toMatch(/deliveries of the last 7 days\npending +1\nin progress +0\ndelivered +40\ndead +2\ncancelled +0\n/);
    expect(stdout).toMatch(/last delivered +2031-02-03T05:00:00\.000Z\nlast error +status 503\\u001b\[2J\n$/);
  });

  it('passes on that there is no such webhook', async () => {
    api.on('GET /api/webhooks/no', { status: 404, body: { error: 'no such webhook', code: 'webhook.not_found', hint: null } });
    const { code, stdout } = await svc('webhook', 'show', 'no', '--json');
    expect([code, JSON.parse(stdout).error.code]).toEqual([1, 'webhook.not_found']);
  });
});

describe('svc webhook deliveries', () => {
  it('lists them with attempts, the next one and the last error, and says of how many', async () => {
    const ended = { ...delivery, status: 'delivered', attempts: 1, last_error: null, next_retry_at: null, request_id: 'r\u001b' };
    api.on('GET /api/webhook-deliveries', page(delivery, ended));
    const { stdout, stderr } = await svc('webhook', 'deliveries');
    const [first, second] = stdout.split('\n').slice(2);
    expect(first).toMatch(
      /^wd-\S+ {2}pending +ops-feed +webhook\.test +3\/10 +2031-02-03T04:05:06\.700Z +2031-02-03T04:06:13\.100Z +status 503$/,
    );
    expect(second).toMatch(/delivered +ops-feed +webhook\.test +r\\u001b +1\/10 +2031-02-03T04:05:06\.700Z$/);
    expect(stderr).toBe('2 of 12 deliveries\n');
  });

  it('sends its filters under the names of the endpoint, and colours the status', async () => {
    api.on('GET /api/webhook-deliveries', page({ ...delivery, status: 'dead' }));
    const options = ['--status', 'dead', '--webhook', 'ops-feed', '--event', 'webhook.test', '--limit', '5', '--offset', '10'];
    const { stdout } = await runSvc(['webhook', 'deliveries', ...options], { environment: login(api.url), terminal: true });
    expect(stdout).toContain('\u001b[31mdead\u001b[39m');
    expect(Object.fromEntries(api.calls[0]!.query)).toEqual({
      status: 'dead',
      webhook_id: 'ops-feed',
      event_type: 'webhook.test',
      limit: '5',
      offset: '10',
    });
    expect((await svc('webhook', 'deliveries', '--status', 'lost')).code).toBe(2);
  });

  it('sends one again and prints the id of the new one', async () => {
    api.on(`POST /api/webhook-deliveries/${id}/redeliver`, { status: 202, body: { delivery_id: 'wd-new' } });
    expect(await svc('webhook', 'redeliver', id)).toMatchObject({ code: 0, stdout: 'wd-new\n' });
  });

  it('says why one is not sent again (NT-63)', async () => {
    const body = {
      error: 'it goes elsewhere now',
      code: 'delivery.conflict',
      hint: 'the policy has changed',
      reason: 'not_routed',
    };
    api.on(`POST /api/webhook-deliveries/${id}/redeliver`, { status: 409, body });
    const { code, stdout, stderr } = await svc('webhook', 'redeliver', id);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('it goes elsewhere now');
    expect(stderr).toContain('the policy has changed');
  });
});

describe('svc webhook test', () => {
  beforeEach(() => void api.on('POST /api/webhooks/ops-feed/test', { status: 202, body: { delivery_id: id } }));
  const list = 'GET /api/webhook-deliveries';

  it('prints the id of the delivery and asks nothing more', async () => {
    expect(await svc('webhook', 'test', 'ops-feed')).toMatchObject({ code: 0, stdout: `${id}\n` });
    expect(api.calls).toHaveLength(1);
  });

  it('waits until it is delivered, whatever others become', async () => {
    const other = { ...delivery, id: 'wd-other', status: 'dead' };
    const ended = { ...delivery, status: 'delivered', next_retry_at: null };
    api.on(list, page(other), page(other, delivery), page(other, ended));
    const { code, stdout, stderr } = await svc('webhook', 'test', 'ops-feed', '--wait');
    expect([code, stdout, stderr]).toEqual([0, `${id}\n`, 'delivered, attempt 3/10\n']);
    expect(api.calls).toHaveLength(4);
    expect(JSON.parse((await svc('webhook', 'test', 'ops-feed', '--wait', '--json')).stdout).data).toEqual(ended);
  });

  it('says why it was not delivered', async () => {
    api.on(list, page({ ...delivery, status: 'dead', attempts: 10 }));
    const dead = await svc('webhook', 'test', 'ops-feed', '--wait');
    expect([dead.code, dead.stderr]).toEqual([1, expect.stringContaining(`${id} is dead: status 503 (attempt 10/10)`)]);
    api.on(list, page({ ...delivery, status: 'cancelled', last_error: null }));
    const { code, stdout } = await svc('webhook', 'test', 'ops-feed', '--wait', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout).error).toMatchObject({ code: 'not_delivered', message: expect.stringMatching(/is cancelled$/) });
  });

  it('gives up after a while, with what is known and when the next attempt is due', async () => {
    api.on(list, page(delivery));
    const late = await svc('webhook', 'test', 'ops-feed', '--wait', '--json');
    expect([late.code, JSON.parse(late.stdout)]).toMatchObject([
      124,
      { data: { attempts: 3 }, error: { code: 'timeout', hint: 'the next attempt is due 2031-02-03 04:06:13 UTC' } },
    ]);
    api.on(list, page());
    expect((await svc('webhook', 'test', 'ops-feed', '--wait')).stderr).toContain('is a worker running?');
  });
});
