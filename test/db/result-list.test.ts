import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database, Transaction } from '../../db/client.js';
import { listResults, type OpenPair } from '../../db/result-list.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { storeRequest } from '../support/requests.js';

let stored: TestDatabase;
let database: Database;
const count = 6000;

/** Results of three pairs, several of one instant: half shared with analysts, of the newest half one in twenty with a team, and few with rare. */
beforeAll(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
  const id = await storeRequest(database);
  const client = new pg.Client({ connectionString: stored.adminUrl });
  await client.connect();
  // Without foreign keys.
  await client.query('set session_replication_role = replica');
  await client.query(
    `insert into results (execution_id, request_id, backend, data, content_length, sha256, valid_json, stored_at, retention_days, expires_at,
       requester, database, environment, share_selectors)
     select md5(n::text)::uuid, $1, 'database', '1', n, '', true, at, 30, at + interval '30 days', 'user-' || n % 50, 'shop',
       case when n % 10 = 0 then 'production' when n % 7 = 0 then 'test' else 'staging' end,
       case when n % 2 = 0 then array['group:analysts', 'user:x'] when n % 20 = 1 and n < 3000 then array['group:team'] when n % 997 = 3 then array['group:rare']
         else '{}' end
     from generate_series(1, ${count}) n, lateral (select date_trunc('second', clock_timestamp()) - n / 3 * interval '5 minutes' as at) as made`,
    [id],
  );
  await client.query('analyze results');
  await client.end();
}, 60_000);
afterAll(async () => {
  await database?.close();
  await stored?.drop();
});

interface Row {
  execution_id: string;
  environment: string;
  requester: string;
  shares: string[];
  at: number;
}

const open = (selectors: string[], wide: string[] = []): OpenPair[] =>
  ['production', 'staging', 'test'].map((environment) => ({
    database: 'shop',
    environment,
    whole: wide.includes(environment),
    selectors: environment === 'test' ? selectors.filter((one) => one !== 'group:team') : selectors,
    retentionDays: environment === 'production' ? 10 : 30,
  }));

/** What RS-41 says, of all rows one by one. */
async function expected(callerId: string, pairs: readonly OpenPair[], limit: number): Promise<string[]> {
  const rows = await database.query<Row>(
    `select execution_id, environment, requester, share_selectors as shares, stored_at as at from results order by stored_at desc, execution_id`,
  );
  const readable = rows.filter(({ environment, requester, shares, at }) => {
    const pair = pairs.find((one) => one.environment === environment);
    if (pair === undefined || at <= Date.now() - pair.retentionDays * 86_400_000) return false;
    return pair.whole || requester === callerId || shares.some((one) => pair.selectors.includes(one));
  });
  return readable.slice(0, limit).map(({ execution_id }) => execution_id);
}

const callers: [string, string, OpenPair[]][] = [
  ['whom half is shared with', 'nobody', open(['group:analysts'])],
  ['whom one in twenty is shared with', 'nobody', open(['group:team'])],
  ['whom little is shared with', 'user-7', open(['group:rare'])],
  ['whom all of it is shared with in several ways', 'user-7', open(['group:analysts', 'user:x', 'group:team', 'group:rare'])],
  ['whom nothing is shared with', 'nobody', open(['group:none'])],
  ['who reads one pair whole', 'nobody', open(['group:team'], ['production'])],
  ['who reads all pairs whole', 'nobody', open([], ['production', 'staging', 'test'])],
  ['who reads no pair', 'user-7', []],
];

/** By this connection, as far as it has not reported it yet. */
async function rowsRead(tx: Transaction): Promise<number> {
  const [row] = await tx.query<{ rows: number }>(
    `select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows from pg_stat_xact_user_tables where relname = 'results'`,
  );
  return row!.rows;
}

describe('the list of stored results (RS-41)', () => {
  it.each(callers)('has the newest that somebody may read %s', async (_name, callerId, pairs) => {
    for (const limit of [1, 20, 50, 100]) {
      const listed = await listResults(database, callerId, pairs, limit);
      expect(listed.map(({ execution_id }) => execution_id)).toEqual(await expected(callerId, pairs, limit));
    }
  });

  it('reads few results for somebody whom half is shared with', async () => {
    const read = await database.transaction(async (tx) => {
      const before = await rowsRead(tx);
      await listResults(tx, 'nobody', open(['group:analysts']), 50);
      return (await rowsRead(tx)) - before;
    });
    expect(read).toBeLessThan(count / 4);
  });
});
