import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { deleteFinishedDeliveries, insertDeliveries } from '../../db/webhook-deliveries.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';

let stored: TestDatabase;
let database: Database;
beforeAll(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
});
afterAll(async () => {
  await database.close();
  await stored.drop();
});

async function store(webhookId: string, daysSinceEnd: number | null): Promise<void> {
  const one = { webhookId, eventType: 'user.created', requestId: null, body: '{}', yields: false };
  await database.transaction((tx) => insertDeliveries(tx, [{ id: randomUUID(), ...one }]));
  if (daysSinceEnd === null) return;
  await database.query(
    `update webhook_deliveries set status = 'dead', next_retry_at = null, finished_at = clock_timestamp() - $2::int * interval '1 day'
     where webhook_id = $1`,
    [webhookId, daysSinceEnd],
  );
}

it('deletes deliveries that ended long enough ago, the oldest first, and no open one (NT-55)', async () => {
  await store('open', null);
  await store('six-days', 6);
  await store('eight-days', 8);
  await store('nine-days', 9);
  const left = async () =>
    (await database.query<{ id: string }>('select webhook_id as id from webhook_deliveries order by id')).map(({ id }) => id);
  expect(await deleteFinishedDeliveries(database, 7, 1)).toBe(1);
  expect(await left()).toEqual(['eight-days', 'open', 'six-days']);
  expect(await deleteFinishedDeliveries(database, 7, 5)).toBe(1);
  expect(await left()).toEqual(['open', 'six-days']);
});
