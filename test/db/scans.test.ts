import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database, Transaction } from '../../db/client.js';
import { countDeliveries } from '../../db/delivery-list.js';
import { recentNews } from '../../db/notifications.js';
import { nextNewsInMs, takeNews } from '../../db/outbox.js';
import { listPurgeableWithObjects, purgeRequests } from '../../db/purge.js';
import { deleteEndedWindows } from '../../db/rate-windows.js';
import { deleteExpiredRows, listExpiredObjects } from '../../db/result-cleaning.js';
import { deleteOldSignatures } from '../../db/slack-signatures.js';
import { deleteFinishedDeliveries } from '../../db/webhook-deliveries.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { cancel, storeRequest } from '../support/requests.js';

let stored: TestDatabase;
let database: Database;
const copies = 3000;

beforeAll(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
  const id = await storeRequest(database);
  await cancel(database, id);
  await fill();
});
afterAll(async () => {
  await database?.close();
  await stored?.drop();
});

/** Rows that are too old for some of the statements below, and too new for the others. */
async function fill(): Promise<void> {
  const client = new pg.Client({ connectionString: stored.adminUrl });
  await client.connect();
  const ago = `clock_timestamp() - interval '8 days'`;
  const ahead = `clock_timestamp() + interval '8 days'`;
  const many = `generate_series(1, ${copies}) n`;
  for (const text of [
    // Without foreign keys.
    'set session_replication_role = replica',
    `insert into requests select copy.* from requests r, ${many},
       jsonb_populate_record(r, jsonb_build_object('id', md5(n::text)::uuid, 'updated_at', ${ago})) copy`,
    `insert into results (execution_id, request_id, backend, data, content_length, sha256, valid_json, stored_at, retention_days, expires_at,
       requester, database, environment, share_selectors)
     select gen_random_uuid(), gen_random_uuid(), 'database', '1', 1, '', true, ${ago}, 90, ${ahead}, 'alice', 'shop', 'production', '{}' from ${many}`,
    `insert into webhook_deliveries (id, webhook_id, event_type, body, status, created_at, next_retry_at, finished_at)
     select gen_random_uuid(), 'hook', 'request.created', '{}', 'delivered', ${ago}, null, ${ago} from ${many}`,
    `insert into rate_windows (key, taken, ends_at) select n::text, 1, ${ahead} from ${many}`,
    `insert into outbox (request_id, version, signal, actor, starts, lingers, yields, due_at)
     select md5(n::text)::uuid, 2, 'change', 'x', false, false, n % 2 = 0, ${ago} from ${many}`,
    `insert into slack_signatures (signature, seen_at) select n::text::bytea, ${ahead} from ${many}`,
    'analyze',
  ])
    await client.query(text);
  await client.end();
}

const pairs = [{ database: 'shop', environment: 'production', retentionDays: 90 }];

const statements: Record<string, { table: string; run: (db: Transaction) => Promise<unknown> }> = {
  'what was moved lately (HT-102)': { table: 'requests', run: (db) => recentNews(clientOf(db), 32_000) },
  'requests to purge (ST-20)': { table: 'requests', run: (db) => purgeRequests(db, 90, 100) },
  'requests to purge with objects': { table: 'requests', run: (db) => listPurgeableWithObjects(db, 90, 'local', 100) },
  'expired results': { table: 'results', run: (db) => deleteExpiredRows(db, pairs, 100) },
  'expired objects of results': { table: 'results', run: (db) => listExpiredObjects(db, pairs, 100, 'local') },
  'deliveries of the last days (NT-60)': { table: 'webhook_deliveries', run: (db) => countDeliveries(db, 'hook') },
  'deliveries that ended long ago (NT-55)': { table: 'webhook_deliveries', run: (db) => deleteFinishedDeliveries(db, 30, 100) },
  'news to publish': { table: 'outbox', run: (db) => takeNews(db, 20) },
  'when news is due': { table: 'outbox', run: (db) => nextNewsInMs(db) },
  'ended windows of rates': { table: 'rate_windows', run: (db) => deleteEndedWindows(db, 100) },
  'old signatures of Slack': { table: 'slack_signatures', run: (db) => deleteOldSignatures(db, 100) },
};

/** The connection of a transaction as the listener has one. */
const clientOf = (tx: Transaction) =>
  ({
    query: async ({ text, values = [] }: pg.QueryConfig) => ({ rows: await tx.query(text, values as never[]) }),
  }) as unknown as pg.Client;

describe('a look for rows by an instant reads only those rows, however many are stored', () => {
  it.each(Object.entries(statements))('%s', async (_name, { table, run }) => {
    const read = await database.transaction(async (tx) => {
      await run(tx);
      const [counted] = await tx.query<{ rows: number }>(
        'select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows from pg_stat_xact_user_tables where relname = $1',
        [table],
      );
      return counted!.rows;
    });
    expect(read).toBeLessThan(copies / 10);
  });
});
