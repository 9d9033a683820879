import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFullBlock, storeBlock } from '../../db/audit-blocks.js';
import { type AuditFilters, type AuditQuery, visible } from '../../db/audit-filters.js';
import { searchAuditEvents } from '../../db/audit-search.js';
import type { Database, Queryable } from '../../db/client.js';
import { parameters } from '../../db/parameters.js';
import type { EffectiveRole } from '../../domain/caller.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';

const [first, sealed, unsealed] = [4301, 16_000, 70];
let stored: TestDatabase;
let database: Database;

/**
 * The log begins in the middle of a block, as after a purge. Its events are a second apart, but every 97th is sealed up to two hours after it was
 * made, and some as if a clock had been set back. It was sealed a day later, when its checkpoints were made.
 */
beforeAll(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
  for (let from = first; from < first + sealed + unsealed; from += 4000) await insertEvents(from, 4000);
  await database.query('analyze audit_events');
});
const insertEvents = (from: number, count: number) =>
  database.query(
    `insert into audit_events (id, event_type, event_category, outcome, actor_id, actor_type, database_name, environment, operation, request_id, metadata_json, created_at, seq)
     select md5(n::text)::uuid, case when n % 101 = 0 then 'audit.signed_checkpoint' when n % 2 = 0 then 'execution.completed' else 'request.created' end, 'execution',
       case when n % 500 = 0 then 'failure' else 'success' end, case when n % 1500 = 7 then 'rare' else 'user-' || n % 3 end, 'user',
       nullif('shop-' || n % 4, 'shop-3'), case when n % 4 = 3 then null when n % 8 < 4 then 'staging' else 'production' end,
       case when n between 9000 and 10000 then 'migrate_up' end, md5((n / 4)::text)::uuid, '{}',
       to_char(timestamp '2031-04-05' + interval '1 s' * (n - case when n % 101 = 0 then -86400 when n % 97 = 0 then n % 7200 when n between 9000 and 9100 then 5000 else 0 end),
         'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), case when n < $3::integer then n end
     from generate_series($1::integer, least($1 + $2::integer, $3 + $4::integer) - 1) as n`,
    [from, count, first + sealed, unsealed],
  );
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
  'one environment': [roleOf(['*'], ['production', 'nowhere'])],
  nowhere: [],
};
const time = (second: number) => new Date(Date.UTC(2031, 3, 5, 0, 0, second)).toISOString().replace('Z', '000Z');
const filters: Record<string, AuditFilters> = {
  none: {},
  common: { event_type: 'execution.completed' },
  rare: { outcome: 'failure' },
  'rarer than blocks': { actor_id: 'rare' },
  'of nobody': { actor_id: 'nobody' },
  two: { actor_id: 'user-1', database: 'shop-2' },
  'two that meet nowhere': { event_type: 'execution.completed', actor_id: 'rare' },
  'of a request': { request_id: 'a35fe7f7-fe82-17b4-369a-0af4244d1fca' },
  'of no request': { request_id: 'not a UUID' },
  'since a time': { since: time(15_000) },
  'since the last minute': { since: time(20_300) },
  'until a time': { until: time(9050) },
  'until before all': { until: '1999-01-01T00:00:00.000000Z' },
  'between two times': { since: time(9000), until: time(16_000), outcome: 'success' },
};

/** Every event, sorted and counted one by one. */
async function expected(wanted: AuditQuery, limit: number, offset: number) {
  const p = parameters();
  const rows = await database.query<{ id: string }>(
    `select id from audit_events where ${visible(wanted, p)} order by seq is null desc, seq desc, position desc`,
    p.values,
  );
  return { total: rows.length, ids: rows.slice(offset, offset + limit).map(({ id }) => id) };
}

async function compare(wanted: AuditQuery, limit: number, offset: number): Promise<void> {
  const { events, total } = await searchAuditEvents(database, wanted, { limit, offset });
  const found = { total, ids: events.map(({ id }) => id) };
  expect(found, JSON.stringify({ ...wanted.filters, limit, offset })).toEqual(await expected(wanted, limit, offset));
}

const storeAll = async () => {
  for (let block = await findFullBlock(database); block !== null; block = await findFullBlock(database))
    await storeBlock(database, block);
};

it('a search finds in a log without blocks what looking at every event finds', async () => {
  for (const wanted of Object.values(filters)) await compare({ roles: places['several pairs']!, filters: wanted }, 50, 45);
});

describe.each(Object.entries(places))('a search of whoever sees %s (AU-60, AU-61, AU-63)', (_, roles) => {
  beforeAll(storeAll);

  it.each(Object.entries(filters))('with the filter %s', async (_, wanted) => {
    const all = (await expected({ roles, filters: wanted }, 0, 0)).total;
    for (const offset of [0, 45, 69, 71, 4000, Math.floor(all / 2), Math.max(all - 20, 0), all, all + 100])
      await compare({ roles, filters: wanted }, 50, offset);
  });
});

it('a search finds what looking at every event finds, whatever is asked for', async () => {
  await storeAll();
  let state = 20_310_405;
  const below = (count: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
  const oneOf = <T>(values: readonly T[]): T => values[below(values.length)]!;
  for (let round = 0; round < 100; round += 1) {
    const some = Object.assign({}, oneOf(Object.values(filters)), oneOf(Object.values(filters)));
    if (below(3) === 0) some.since = time(first + below(sealed));
    if (below(3) === 0) some.until = time(first + below(sealed));
    const roles = oneOf(Object.values(places));
    await compare({ roles, filters: some }, oneOf([0, 1, 50, 200]), below(oneOf([10, 1000, sealed])));
  }
});

it('counts the whole log, however long it is, and honours a limit of 0 (HT-80, HT-83)', async () => {
  for (const offset of [0, 12_000, 90_000]) {
    const whole = await searchAuditEvents(database, { roles: everywhere, filters: {} }, { limit: 0, offset });
    expect(whole).toEqual({ events: [], total: sealed + unsealed });
  }
});

describe('a page reads (AU-63)', () => {
  beforeAll(storeAll);

  /** How many events of the log the statement of a search reads, wherever in its plan. */
  async function eventsRead(wanted: AuditQuery, offset: number): Promise<number> {
    const read: number[] = [];
    const explained: Queryable = {
      query: async (text, values) => {
        const [row] = await database.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(`explain (analyze, format json) ${text}`, values);
        walk(row!['QUERY PLAN'][0].Plan, (node) => {
          if (node['Relation Name'] !== 'audit_events') return;
          expect(node['Node Type']).toMatch(/Index/);
          read.push((node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']);
        });
        return [];
      },
    };
    await searchAuditEvents(explained, wanted, { limit: 50, offset });
    return read.reduce((sum, count) => sum + count, 0);
  }
  interface Node {
    'Node Type': string;
    'Relation Name'?: string;
    'Actual Rows': number;
    'Actual Loops': number;
    'Rows Removed by Filter'?: number;
    Plans?: Node[];
  }
  const walk = (node: Node, visit: (node: Node) => void): void => {
    visit(node);
    for (const each of node.Plans ?? []) walk(each, visit);
  };

  const block = 4096;
  const sinceBlock = (first + sealed) % block;
  /** The page, what no block has, and the ends of the log. */
  const few = 50 + sinceBlock + unsealed + 10;
  it.each([
    ['the page and what no block has', filters.common!, few],
    ['nothing of what two filters leave out', filters['two that meet nowhere']!, few],
    ['the two blocks in which a span begins', { since: time(12_000), actor_id: 'user-1' }, few + 2 * block],
  ])('%s, however deep it is', async (_, wanted, most) => {
    for (const roles of [everywhere, places['several pairs']!])
      for (const offset of [0, 4000]) expect(await eventsRead({ roles, filters: wanted }, offset)).toBeLessThanOrEqual(most);
  });
});

it('finds what a role may see in an empty log', async () => {
  const empty = await createTestDatabase();
  const own = openTestDatabase(empty.url);
  try {
    expect(await findFullBlock(own)).toBe(null);
    for (const wanted of Object.values(filters))
      expect(await searchAuditEvents(own, { roles: everywhere, filters: wanted }, { limit: 50, offset: 0 })).toEqual({
        events: [],
        total: 0,
      });
  } finally {
    await own.close();
    await empty.drop();
  }
});
