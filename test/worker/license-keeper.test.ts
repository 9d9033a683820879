import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import type { SharedConfig } from '../../domain/policies.js';
import { createLicenseKeeper } from '../../worker/license-keeper.js';
import { licenseFor } from '../support/license.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';

const end = Date.parse('2032-01-01T00:00:00Z');
const shared = {
  webhooks: [
    { id: 'all', events: [], format: 'generic' },
    { id: 'few', events: ['request.*'], format: 'generic' },
  ],
  notificationPolicies: [],
} as unknown as SharedConfig;

let stored: TestDatabase;
let database: Database;
beforeAll(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
});
afterAll(async () => {
  await database?.close();
  await stored?.drop();
});
beforeEach(() => database.query('truncate background_state, webhook_deliveries'));

const server = { listen: '', publicDocs: false, drainSecs: 0, publicUrl: null };

const look = (now: number, license: { key: string | null; publicKey: string | null }) =>
  createLicenseKeeper({
    database,
    log: pino({ level: 'silent' }),
    everyMs: 0,
    now: () => now,
    config: () => ({ license, server }),
    shared: () => shared,
  }).once();
const deliveries = () =>
  database.query<{ event: string; body: string }>(
    'select event_type as event, body from webhook_deliveries order by created_at, event_type',
  );
const changes = async (from: number) =>
  (
    await database.query<{ metadata: string }>(
      `select metadata_json as metadata from audit_events where event_type = 'plan.changed' order by created_at offset $1`,
      [from],
    )
  ).map(({ metadata }) => JSON.parse(metadata));

it('the end of a licence is told once for each key, however many workers look, and survives their restart (OP-45, NT-I1)', async () => {
  const before = (await changes(0)).length;
  const own = licenseFor(end);
  await look(0, own);
  expect(await changes(before)).toEqual([{ from: 'free', to: 'team', reason: 'license_key' }]);
  for (const now of [end - 1000, end - 500, end, end + 1000]) await Promise.all([1, 2, 3].map(() => look(now, own)));
  await look(end + 2000, own);
  expect((await deliveries()).map(({ event }) => event)).toEqual(['license_grace_warning', 'license_downgraded']);
  expect(JSON.parse((await deliveries())[1]!.body)).toMatchObject({
    event: 'license_downgraded',
    request_id: null,
    actor: 'system',
    detail: '{"reason":"local_expires_at"}',
  });
  expect((await changes(before)).slice(1)).toEqual([{ from: 'team', to: 'free', reason: 'local_expires_at' }]);
  await look(end + 3000, licenseFor(end + 4000, { key_id: 'lic-2' }));
  await look(end + 3500, { key: null, publicKey: null });
  expect((await changes(before)).slice(2)).toEqual([
    { from: 'free', to: 'team', reason: 'license_key' },
    { from: 'team', to: 'free', reason: 'license_key' },
  ]);
  expect((await deliveries()).map(({ event }) => event)).toEqual([
    ...['license_grace_warning', 'license_downgraded', 'license_grace_warning'],
  ]);
});

it('a look that fails half-way leaves nothing told', async () => {
  const before = (await changes(0)).length;
  const failing = createLicenseKeeper({
    database,
    log: pino({ level: 'silent' }),
    everyMs: 0,
    now: () => end,
    config: () => ({ license: licenseFor(end), server }),
    shared: () => ({ ...shared, webhooks: [{ ...shared.webhooks[0]!, id: null as never }] }),
  });
  await database.query(`insert into background_state (name, content) values ('plan', '{"plan": "team"}')`);
  await expect(failing.once()).rejects.toThrow();
  await database.query(`delete from background_state where name = 'license keeper'`);
  expect([await changes(before), await deliveries()]).toEqual([[], []]);
  await look(end, licenseFor(end));
  expect([(await changes(before)).length, (await deliveries()).length]).toEqual([1, 1]);
});
