import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { insertGeneration, lockGenerations } from '../../db/generations.js';
import { insertDeliveries } from '../../db/webhook-deliveries.js';
import type { SharedConfig } from '../../domain/policies.js';
import { createDeliveryKeeper } from '../../worker/delivery-keeper.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually, log } from './support.js';

let stored: TestDatabase;
let database: ReturnType<typeof openTestDatabase>;
beforeAll(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
});
afterAll(async () => {
  await database.close();
  await stored.drop();
});

const withWebhooks = (...ids: string[]) => ({ webhooks: ids.map((id) => ({ id })) }) as unknown as SharedConfig;
const waitingForLock = async () => {
  const [row] = await database.query<{ count: number }>(
    `select count(*) as count from pg_locks where locktype = 'advisory' and not granted`,
  );
  return (row?.count ?? 0) > 0;
};

it('the first deliveries of a webhook that a reload is adding are not cancelled with the removed ones (NT-3)', async () => {
  await database.transaction((tx) => insertGeneration(tx, 'before', withWebhooks('ops')));
  const one = { id: randomUUID(), webhookId: 'added', eventType: 'user.created', requestId: null, body: '{}', yields: false };
  let round: Promise<number> | undefined;
  await database.transaction(async (tx) => {
    await lockGenerations(tx);
    await insertGeneration(tx, 'after', withWebhooks('ops', 'added'));
    await database.transaction((other) => insertDeliveries(other, [one]));
    round = createDeliveryKeeper({ database, log, everyMs: 0 }).once();
    await eventually(waitingForLock);
  });
  await round;
  expect(await database.query('select status from webhook_deliveries')).toEqual([{ status: 'pending' }]);
});
