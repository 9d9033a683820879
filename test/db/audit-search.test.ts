import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AuditFilters, searchAuditEvents, visible } from '../../db/audit-search.js';
import type { Database } from '../../db/client.js';
import { parameters } from '../../db/parameters.js';
import type { EffectiveRole } from '../../domain/caller.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';

const sealed = 12_000;
const unsealed = 70;
let stored: TestDatabase;
let database: Database;
beforeAll(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
  // A second apart, but every 97th is sealed up to two hours after it was made, and some as if a clock had been set back.
  await database.query(
    `insert into audit_events (id, event_type, event_category, outcome, actor_id, actor_type, database_name, environment, request_id, metadata_json, created_at, seq)
     select md5(n::text)::uuid, case when n % 2 = 0 then 'execution.completed' else 'request.created' end, 'execution',
       case when n % 500 = 0 then 'failure' else 'success' end, 'user-' || n % 3, 'user', nullif('shop-' || n % 4, 'shop-3'),
       case when n % 4 = 3 then null when n % 8 < 4 then 'staging' else 'production' end, md5((n / 4)::text)::uuid, '{}',
       to_char(timestamp '2031-04-05' + interval '1 s' * (n - case when n % 97 = 0 then n % 7200 when n between 9000 and 9100 then 5000 else 0 end),
         'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), case when n <= 300 + $1 then n end
     from generate_series(301, 300 + $1 + $2) as n`,
    [sealed, unsealed],
  );
  await database.query('analyze audit_events');
});
afterAll(async () => {
  await database?.close();
  await stored?.drop();
});

const roleOf = (databases: string[], environments: string[]): EffectiveRole => ({
  name: 'r',
  permissions: [],
  databases,
  environments,
});
const everywhere = [roleOf(['*'], ['*'])];
const places: Record<string, EffectiveRole[]> = {
  everywhere,
  'one database': [roleOf(['shop-1'], ['*'])],
  'one pair': [roleOf(['shop-1'], ['production'])],
  'several pairs': [roleOf(['shop-0', 'shop-1'], ['staging']), roleOf(['shop-2'], ['*'])],
  nowhere: [],
};
const time = (second: number) => new Date(Date.UTC(2031, 3, 5, 0, 0, second)).toISOString().replace('Z', '000Z');
const filters: Record<string, AuditFilters> = {
  none: {},
  common: { event_type: 'execution.completed' },
  rare: { outcome: 'failure' },
  'of nobody': { actor_id: 'nobody' },
  two: { actor_id: 'user-1', database: 'shop-2' },
  'of a request': { request_id: '4c5bde74-a8f1-10b4-6c34-e2a9a0b3ba79' },
  'of no request': { request_id: 'not a UUID' },
  'since a time': { since: time(11_000) },
  'since the last minute': { since: time(12_300) },
  'until a time': { until: time(9050) },
  'until before all': { until: '1999-01-01T00:00:00.000000Z' },
  'between two times': { since: time(5000), until: time(9000), outcome: 'success' },
};

/** Every event, sorted and counted one by one. */
async function expected(roles: readonly EffectiveRole[], wanted: AuditFilters, limit: number, offset: number) {
  const { values, add } = parameters();
  const rows = await database.query<{ id: string }>(
    `select id from audit_events where ${visible(roles, wanted, add)} order by seq is null desc, seq desc, position desc`,
    values,
  );
  return { total: rows.length, ids: rows.slice(offset, offset + limit).map(({ id }) => id) };
}

describe.each(Object.entries(places))('a search of whoever sees %s (AU-60, AU-61)', (_, roles) => {
  it.each(Object.entries(filters))('with the filter %s', async (_, wanted) => {
    const all = (await expected(roles, wanted, 0, 0)).total;
    for (const offset of [0, 45, 69, 71, 4000, Math.floor(all / 2), Math.max(all - 20, 0), all, all + 100]) {
      const found = await searchAuditEvents(database, roles, wanted, { limit: 50, offset });
      const { total, ids } = await expected(roles, wanted, 50, offset);
      expect(
        found.events.map(({ id }) => id),
        `from ${offset}`,
      ).toEqual(ids);
      if (!found.isEstimate) expect(found.total).toBe(total);
      else
        expect([total > 10_000, found.total > 10_000, found.total >= offset + ids.length || ids.length === 0]).toEqual([
          true,
          true,
          true,
        ]);
    }
  });
});

it('counts the whole log, however long it is, and honours a limit of 0 (HT-80, HT-83)', async () => {
  for (const offset of [0, 12_000, 90_000]) {
    const whole = await searchAuditEvents(database, everywhere, {}, { limit: 0, offset });
    expect(whole).toEqual({ events: [], total: sealed + unsealed, isEstimate: false });
  }
  const filtered = await searchAuditEvents(database, everywhere, { outcome: 'success' }, { limit: 0, offset: 0 });
  expect(filtered).toMatchObject({ events: [], isEstimate: true });
  expect(Math.abs(filtered.total - sealed)).toBeLessThan(1000);
});

it('finds what a role may see in an empty log', async () => {
  const empty = await createTestDatabase();
  const own = openTestDatabase(empty.url);
  try {
    for (const wanted of Object.values(filters))
      expect(await searchAuditEvents(own, everywhere, wanted, { limit: 50, offset: 0 })).toEqual({
        events: [],
        total: 0,
        isEstimate: false,
      });
  } finally {
    await own.close();
    await empty.drop();
  }
});
