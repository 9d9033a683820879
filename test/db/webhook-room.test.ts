import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { followConfiguredWebhooks } from '../../db/configured-webhooks.js';
import { beginAttempt } from '../../db/delivery-attempts.js';
import { insertGeneration } from '../../db/generations.js';
import { countBacklog } from '../../db/outbox.js';
import { cancelDeliveriesExcept, insertDeliveries } from '../../db/webhook-deliveries.js';
import type { SharedConfig } from '../../domain/policies.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';

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
beforeEach(() => database.query('truncate webhook_deliveries, config_generations'));

async function store(webhookId = 'ops'): Promise<string> {
  const id = randomUUID();
  const one = { id, webhookId, eventType: 'user.created', requestId: null, body: '{}', yields: false };
  await database.transaction((tx) => insertDeliveries(tx, [one]));
  return id;
}

const webhooks = { isConfigured: followConfiguredWebhooks(), isKnown: () => true };
const begin = (id: string) => database.transaction((tx) => beginAttempt(tx, id, webhooks));

async function find(id: string) {
  const [row] = await database.query<{ status: string; attempts: number; lastError: string | null }>(
    'select status, attempts, last_error as "lastError" from webhook_deliveries where id = $1',
    [id],
  );
  return row;
}

/** Eight attempts of the webhook that run. */
async function fill(): Promise<void> {
  for (let count = 0; count < 8; count += 1) expect(await begin(await store())).toMatchObject({ kind: 'begin' });
}

const ago = (id: string, column: 'attempt_started_at' | 'next_retry_at', hours: number) =>
  database.query(`update webhook_deliveries set ${column} = clock_timestamp() - $2::int * interval '1 hour' where id = $1`, [
    id,
    hours,
  ]);

const putInForce = (...ids: string[]) =>
  database.transaction((tx) =>
    insertGeneration(tx, ids.join(), { webhooks: ids.map((id) => ({ id })) } as unknown as SharedConfig),
  );

describe('a delivery whose webhook has no room (NT-54)', () => {
  it('waits, and is dead once it has found none for five hours, even without an attempt', async () => {
    await fill();
    const id = await store();
    expect(await begin(id)).toMatchObject({ kind: 'busy' });
    expect(await find(id)).toEqual({ status: 'pending', attempts: 0, lastError: null });
    await ago(id, 'next_retry_at', 0);
    await ago(id, 'attempt_started_at', 4);
    expect(await begin(id)).toMatchObject({ kind: 'busy' });
    await ago(id, 'next_retry_at', 0);
    await ago(id, 'attempt_started_at', 6);
    expect(await begin(id)).toMatchObject({ kind: 'dead' });
    expect(await find(id)).toEqual({ status: 'dead', attempts: 0, lastError: 'webhook busy' });
  });

  it('is not dead because nobody looked at it for long: an outage of the workers does not count', async () => {
    await fill();
    const [fresh, waited] = [await store(), await store()];
    await database.query(`update webhook_deliveries set created_at = created_at - interval '3 days' where id = $1`, [fresh]);
    await ago(fresh, 'next_retry_at', 72);
    await ago(waited, 'attempt_started_at', 72);
    await ago(waited, 'next_retry_at', 71);
    for (const id of [fresh, waited]) {
      expect(await begin(id)).toMatchObject({ kind: 'busy' });
      await ago(id, 'next_retry_at', 0);
      expect(await begin(id)).toMatchObject({ kind: 'busy' });
    }
  });

  it('is found however many are due', async () => {
    await database.query(
      `insert into webhook_deliveries (id, webhook_id, event_type, body) select gen_random_uuid(), 'ops', 'user.created', '{}' from generate_series(1, 6000)`,
    );
    await fill();
    expect(await begin(await store())).toMatchObject({ kind: 'busy' });
  });

  it('is found without waiting for another attempt that is about to begin', async () => {
    const [first, second] = [await store(), await store()];
    await database.transaction(async (tx) => {
      expect(await beginAttempt(tx, first, webhooks)).toMatchObject({ kind: 'begin' });
      expect(await begin(second)).toMatchObject({ kind: 'wait', reason: 'another attempt begins' });
    });
    expect(await find(second)).toMatchObject({ status: 'pending', attempts: 0 });
    expect(await begin(second)).toMatchObject({ kind: 'begin' });
  });
});

describe('a delivery whose webhook was removed', () => {
  it('is cancelled by the next look at it and never sent, from the commit of the generation on (section 7)', async () => {
    await putInForce('ops', 'removed');
    const [kept, removed] = [await store(), await store('removed')];
    await ago(removed, 'next_retry_at', -1);
    expect(await begin(removed)).toMatchObject({ kind: 'wait' });
    await putInForce('ops');
    expect(await begin(removed)).toMatchObject({ kind: 'cancelled' });
    expect(await find(removed)).toMatchObject({ status: 'cancelled', attempts: 0 });
    expect(await begin(kept)).toMatchObject({ kind: 'begin' });
    await putInForce('ops', 'added');
    expect(await begin(await store('added'))).toMatchObject({ kind: 'begin' });
  });

  it('is cancelled with many others in parts, which wait for none that is in use', async () => {
    const ids = await Promise.all(Array.from({ length: 5 }, () => store('removed')));
    const kept = await store();
    const cancel = () => database.transaction((tx) => cancelDeliveriesExcept(tx, ['ops'], 3));
    await database.transaction(async (tx) => {
      await tx.query('select from webhook_deliveries where id = $1 for update', [ids[0]]);
      expect([await cancel(), await cancel()]).toEqual([3, 1]);
    });
    expect(await cancel()).toBe(1);
    expect(await find(kept)).toMatchObject({ status: 'pending' });
    for (const id of ids) expect(await find(id)).toMatchObject({ status: 'cancelled' });
  });

  it('is told to Temporal without counting as backlog, so that creations go on (OP-72)', async () => {
    const id = await store('removed');
    await database.query('update webhook_deliveries set told = true');
    const before = await countBacklog(database);
    await database.transaction((tx) => cancelDeliveriesExcept(tx, ['ops'], 10));
    expect(await countBacklog(database)).toBe(before);
    const untold = await database.query('select id, status from webhook_deliveries where not told');
    expect(untold).toEqual([{ id, status: 'cancelled' }]);
  });
});
