import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { notificationEvents } from '../../domain/notifications/events.js';
import { createDeliveryKeeper } from '../../worker/delivery-keeper.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { reach } from './reach-status.js';

const hook = (id: string, events: string[] = []) =>
  `[[webhooks]]\nid = "${id}"\nurl = "http://127.0.0.1:9/secret-path"\nevents = ${JSON.stringify(events)}\n\n`;
const hooks = [hook('all'), hook('ends', ['execution.*', 'request.rejected']), hook('staging')].join('');
const policy = '[[notification_policies]]\nenvironment = "staging"\nwebhooks = ["staging"]\nevents = ["request.*"]\n\n';
const toml = `allow_private_networks = true\n${shopToml}${hooks}${policy}`;

let api: TestApi;
let calls: GatewayCalls;
let tokens: { owner: string; approver: string };
beforeAll(async () => {
  api = await startTestApi({ toml });
  calls = gatewayCalls(api);
  tokens = {
    owner: await api.createUser('owner', { roles: ['requester'] }),
    approver: await api.createUser('approver', { groups: ['dba-team'] }),
  };
  await calls.poll(['shop/production', 'shop/staging']);
});
afterAll(() => api?.close());

interface Row {
  webhook_id: string;
  event_type: string;
  request_id: string | null;
  body: string;
}
const stored = () =>
  api.services.database.query<Row>(
    'select webhook_id, event_type, request_id, body from webhook_deliveries order by created_at, id',
  );

/** What the audit log says should have been told, by rules written a second time. The first user is made before any configuration is in force (NT-14). */
async function expected(): Promise<string[]> {
  const events = await api.services.database.query<{ type: string; request: string | null; environment: string | null }>(
    `select event_type as type, request_id as request, environment from audit_events where created_at::timestamptz > (select min(created_at) from config_generations)`,
  );
  return events
    .filter(({ type }) => Object.hasOwn(notificationEvents, type))
    .flatMap(({ type, request, environment }) => {
      const isEnd = type.startsWith('execution.') || type === 'request.rejected';
      const all = ['all', 'staging', ...(isEnd ? ['ends'] : [])];
      const to = environment === 'staging' ? (type.startsWith('request.') ? ['staging'] : []) : all;
      return to.map((webhook) => `${webhook} ${type} ${request}`);
    })
    .toSorted();
}
const told = async () => (await stored()).map((row) => `${row.webhook_id} ${row.event_type} ${row.request_id}`).toSorted();

/** The last test takes a webhook away. */
describe('deliveries', { shuffle: false }, () => {
  it('are stored with each change once for every webhook that routing selects, for every way that a request can go (NT-I1, NT-2, NT-3)', async () => {
    for (const to of Object.values(reach)) await to(calls, tokens);
    await calls.create(tokens.owner, { environment: 'staging' });
    await api.call('POST', '/api/users/approver/suspend', { token: api.tokens.admin });
    await api.call('POST', '/api/users/approver/activate', { token: api.tokens.admin });
    const rows = await told();
    expect(rows).toEqual(await expected());
    const types = new Set(rows.map((row) => row.split(' ')[1]));
    for (const type of [
      'request.created',
      'request.auto_approved',
      'request.dispatched',
      'request.expired',
      'execution.lost',
      'user.suspended',
    ])
      expect(types).toContain(type);
  });

  it('are none for a change that is refused or rolled back (NT-3)', async () => {
    const before = (await stored()).length;
    expect((await calls.create(tokens.owner, { detail: 'drop table x' })).status).toBeGreaterThanOrEqual(400);
    const key = { idempotency_key: 'once' };
    expect((await calls.create(tokens.owner, key)).status).toBe(201);
    const after = (await stored()).length;
    expect(after).toBeGreaterThan(before);
    expect((await calls.create(tokens.owner, key)).status).toBe(200);
    expect((await calls.create(tokens.owner, { ...key, detail: 'select 2' })).status).toBe(409);
    expect((await stored()).length).toBe(after);
  });

  it('of a user who is suspended tell of every request that it cancels, after all others (OP-72, NT-I1)', async () => {
    const leaver = await api.createUser('leaver', { roles: ['requester'] });
    const ids = [await calls.created(leaver), await calls.created(leaver)];
    await api.call('POST', '/api/users/leaver/suspend', { token: api.tokens.admin });
    const rows = await api.services.database.query<{ request_id: string; yields: boolean }>(
      `select request_id, yields from webhook_deliveries where event_type = 'request.cancelled' and webhook_id = 'all' and request_id = any($1::uuid[])`,
      [ids],
    );
    expect(rows.map((row) => row.request_id).toSorted()).toEqual(ids.toSorted());
    expect(rows.every(({ yields }) => yields)).toBe(true);
    expect(await told()).toEqual(await expected());
  });

  it('hold neither URL nor secret nor a constant of the SQL (NT-I7, AU-I7)', async () => {
    await calls.create(tokens.owner, { detail: "select * from parts where name = 'marker-8f3a91c2' and n = 8316420977" });
    const rows = JSON.stringify(await stored());
    expect(rows).toContain('select * from parts');
    for (const secret of ['secret-path', 'marker-8f3a91c2', '8316420977']) expect(rows).not.toContain(secret);
  });

  it('of a webhook that left the file are cancelled by the keeper, and no others (section 7)', async () => {
    const open = () =>
      api.services.database.query<{ webhook_id: string; status: string; told: boolean }>(
        'select distinct webhook_id, status, told from webhook_deliveries order by 1',
      );
    const without = toml.replace(hook('ends', ['execution.*', 'request.rejected']), '');
    const second = await api.another({ toml: without });
    await second.close();
    const { database } = api.services;
    await createDeliveryKeeper({ database, log: pino({ level: 'silent' }) }).once();
    expect(await open()).toEqual([
      { webhook_id: 'all', status: 'pending', told: false },
      { webhook_id: 'ends', status: 'cancelled', told: false },
      { webhook_id: 'staging', status: 'pending', told: false },
    ]);
  });
});
