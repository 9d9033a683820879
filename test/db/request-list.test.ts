import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storeRequests } from '../../bench/stored-requests.js';
import type { Database } from '../../db/client.js';
import { openDatabase } from '../../db/open-database.js';
import { listRequests } from '../../db/request-list.js';
import { step } from '../../db/request-places.js';
import type { RequestFilters } from '../../db/request-visibility.js';
import { mostCounted } from '../../db/totals.js';
import { BUILTIN_ROLES } from '../../domain/builtin-roles.js';
import type { Caller, EffectiveRole } from '../../domain/caller.js';
import { noOrigins } from '../../domain/four-eyes.js';
import { maySee } from '../../domain/request/relation.js';
import type { StoredRequest } from '../../domain/request/types.js';
import { createTestDatabase, type TestDatabase, testMacs } from '../support/postgres.js';

const stored = 4 * step + 700;
let own: TestDatabase;
let pool: pg.Pool;
let database: Database;
beforeAll(async () => {
  own = await createTestDatabase();
  pool = new pg.Pool({ connectionString: own.url, max: 2 });
  // The drop of the database may end a session that is closing.
  pool.on('error', () => {});
  const limits = { connectTimeoutMs: 10_000, statementTimeoutMs: 30_000, callTimeoutMs: 30_000 };
  database = openDatabase({ url: own.url, poolMax: 4, applicationName: 'test', macs: testMacs, ...limits });
  await storeRequests(pool, stored);
  await pool.query(`update requests set share_selectors = '{group:readers}' where hashtext(id::text) % 9 = 0`);
}, 120_000);
afterAll(async () => {
  await database?.close();
  await pool?.end();
  await own?.drop();
});

const builtin = (name: string) => BUILTIN_ROLES.find((role) => role.name === name)!;
const operator: EffectiveRole = {
  name: 'operator',
  permissions: [{ perm: 'request.view', ownership: 'any' }],
  databases: ['shop'],
  environments: ['production'],
};
const user = (id: string, roles: EffectiveRole[], groups: string[] = []): Caller => ({
  kind: 'user',
  id,
  roles,
  groups,
  memberOf: groups,
  origins: noOrigins,
  tokenId: null,
});
const callers = {
  admin: user('root', [builtin('admin')]),
  owner: user('alice', [builtin('requester')]),
  approver: user('bob', [builtin('requester'), builtin('approver')], ['dba-team']),
  reader: user('rita', [builtin('requester')], ['readers', 'dba-team']),
  operator: user('olga', [operator, builtin('requester')], ['readers']),
  stranger: user('sam', []),
};

type Row = Pick<
  StoredRequest,
  'id' | 'requester' | 'database' | 'environment' | 'operation' | 'status' | 'policy' | 'shareSelectors' | 'decisions'
> & {
  createdAt: Date;
};

async function allRows(): Promise<Row[]> {
  const { rows } = await pool.query<Row>(
    `select id, requester, database, environment, operation, status, workflow as policy, share_selectors as "shareSelectors", created_at as "createdAt",
       coalesce((select jsonb_agg(jsonb_build_object('userId', d.user_id, 'action', d.action)) from decisions d where d.request_id = r.id), '[]') as decisions
     from requests r`,
  );
  return rows.sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1));
}

const isWanted = (row: Row, { user: requester, ...rest }: RequestFilters) =>
  (requester === undefined || row.requester === requester) &&
  Object.entries(rest).every(([key, value]) => value === undefined || row[key as 'status'] === value);

const filters: fc.Arbitrary<RequestFilters> = fc.record({
  status: fc.option(fc.constantFrom('pending', 'executed', 'failed'), { nil: undefined, freq: 3 }),
  user: fc.option(fc.constantFrom('alice', 'bob', 'user-6', 'nobody'), { nil: undefined, freq: 3 }),
  database: fc.option(fc.constantFrom('shop', 'other'), { nil: undefined, freq: 5 }),
  environment: fc.option(fc.constantFrom('staging', 'production'), { nil: undefined, freq: 3 }),
  operation: fc.option(fc.constantFrom('execute_select'), { nil: undefined, freq: 5 }),
});

type Name = keyof typeof callers;
const names = Object.keys(callers) as Name[];
type Seen = Record<Name, Row[]>;

/** The rule for one request is asked once for each row and caller; filters choose among the rows afterwards. */
function seenBy(rows: Row[]): Seen {
  const seen = (name: Name) => rows.filter((row) => maySee(callers[name], row));
  return Object.fromEntries(names.map((name) => [name, seen(name)])) as Seen;
}

/** Compares total and page with what the rule for one request says of each row. */
async function expectTrue(seen: Seen, name: Name, wanted: RequestFilters, offset: number, limit = 50) {
  const visible = seen[name].filter((row) => isWanted(row, wanted));
  const listed = await listRequests(database, callers[name], wanted, { limit, offset, pendingForMe: false });
  const page = visible.slice(offset, offset + limit).map(({ id }) => id);
  const isExact = !listed.isEstimate || visible.length <= mostCounted || listed.total < offset + page.length;
  const total = isExact ? listed.total : visible.length;
  expect({ name, wanted, offset, total, ids: listed.rows.map(({ id }) => id) }).toEqual({
    name,
    wanted,
    offset,
    total: visible.length,
    ids: page,
  });
}

async function expectAllTrue(seedOffsets: number[]) {
  const seen = seenBy(await allRows());
  for (const name of names) for (const offset of seedOffsets) await expectTrue(seen, name, {}, offset);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...names),
      filters,
      fc.nat(stored + 10),
      fc.integer({ min: 0, max: 100 }),
      (name, wanted, offset, limit) => expectTrue(seen, name, wanted, offset, limit),
    ),
    { numRuns: 20 },
  );
}

const offsets = [0, 1, step - 1, step, step + 1, stored >> 1, stored - 50, stored - 1, stored, stored + 1];

describe('lists of many requests hold exactly what each caller may see, in order, with their number (RQ-11, HT-83)', {
  shuffle: false,
}, () => {
  it('at any depth and with any filter', () => expectAllTrue(offsets), 120_000);

  it('when requests were created since, few or more than lie between two marks', async () => {
    await addRecent(30);
    await expectAllTrue(offsets.slice(0, 6));
    await addRecent(step + 300);
    await expectAllTrue(offsets.slice(0, 6));
  }, 120_000);

  it('when requests waiting for a caller have been decided, old ones too', async () => {
    await pool.query(`update requests set status = 'executed', step_selectors = '{}', updated_at = now()
      where status = 'pending' and hashtext(id::text) % 2 = 0`);
    await expectAllTrue(offsets.slice(0, 6));
  }, 120_000);

  it('when a caller has decided on requests, on old ones too, and never sees more than that (RQ-8)', async () => {
    const deciders = { approver: 'bob', reader: 'rita', stranger: 'sam' };
    for (const [index, id] of Object.values(deciders).entries()) await decide(id, `hashtext(id::text) % 7 = ${index}`);
    await expectAllTrue(offsets.slice(0, 6));
    const [seen, strange] = [seenBy(await allRows()), await decidedBy('stranger', 0)];
    for (const name of ['approver', 'reader'] as const) {
      const own = seen[name].filter(({ decisions }) => decisions.some(({ userId }) => userId === deciders[name]));
      const listed = await decidedBy(name, 40);
      expect([own.length > 600, listed.total]).toEqual([true, own.length]);
      expect(listed.rows.map(({ id }) => id)).toEqual(own.slice(40, 90).map(({ id }) => id));
      expect(new Set(listed.rows.map(({ decided }) => decided))).toEqual(new Set([true]));
    }
    expect(strange).toMatchObject({ total: 0, rows: [] });
    await pool.query(`delete from decisions where user_id = 'bob'`);
    await pool.query(`update requests set updated_at = now() where status = 'executed'`);
    await expectAllTrue(offsets.slice(0, 3));
  }, 120_000);

  it('when a caller has decided on more than a list counts (RQ-8)', async () => {
    await addRecent(mostCounted - stored + 3000);
    await decide('rita', `requester <> 'alice'`);
    const seen = seenBy(await allRows());
    expect(seen.reader.length).toBeGreaterThan(mostCounted);
    for (const offset of [0, step + 1, mostCounted]) await expectTrue(seen, 'reader', {}, offset);
    for (const status of ['pending', 'executed']) await expectTrue(seen, 'reader', { status }, 100);
  }, 120_000);

  it('when requests were purged or written anew behind the marks', async () => {
    await pool.query(`delete from requests where hashtext(id::text) % 5 = 1`);
    await expectAllTrue(offsets.slice(0, 6));
    await pool.query(`update requests set requester = 'bob' where requester = 'user-6'`);
    await expectAllTrue(offsets.slice(0, 4));
  }, 120_000);

  it('while a transaction that began earlier has yet to store an older one', async () => {
    const late = new pg.Client({ connectionString: own.url });
    await late.connect();
    await late.query('begin');
    const [{ at }] = (await late.query('select clock_timestamp() as at')).rows;
    await new Promise((resolve) => setTimeout(resolve, 1200));
    await addRecent(step + 10);
    await expectAllTrue([0, stored >> 1]);
    await late.query(copyText('$1::timestamptz', 1), [at]);
    await late.query('commit');
    await late.end();
    await expectAllTrue([0, step, stored >> 1]);
  }, 120_000);

  it('when more waits for a caller than a list counts, of which the first pages need no second look (RQ-36)', async () => {
    await addRecent(5000);
    await pool.query(
      `update requests set status = 'pending', expires_at = null, open_selectors = '{group:dba-team}', current_step = 0 where requester <> 'bob'`,
    );
    await pool.query('analyze requests');
    const { rows } = await pool.query(
      `select id from requests r where requester <> 'bob' and not exists (select 1 from decisions d where d.request_id = r.id and d.user_id = 'bob')
       order by created_at desc, id desc`,
    );
    expect(rows.length).toBeGreaterThan(mostCounted + 100);
    for (const offset of [0, 100, mostCounted - 50, mostCounted - 49, mostCounted + 20]) {
      const { total, ...listed } = await waitingFor('approver', offset);
      expect(listed.rows.map(({ id }) => id)).toEqual(rows.slice(offset, offset + 50).map(({ id }) => id));
      expect([listed.isEstimate, total > mostCounted]).toEqual([true, true]);
    }
    expect(await waitingFor('approver', rows.length - 20)).toMatchObject({ total: rows.length, isEstimate: false });
  }, 120_000);
});

const waitingFor = (name: Name, offset: number) =>
  listRequests(database, callers[name], {}, { limit: 50, offset, pendingForMe: true });

const decidedBy = (name: Name, offset: number) =>
  listRequests(database, callers[name], {}, { limit: 50, offset, pendingForMe: false, decidedByMe: true });

/** Rejections, which leave each request in its step. */
async function decide(id: string, which: string) {
  await pool.query(
    `with chosen as (update requests set updated_at = now() where ${which} returning id)
     insert into decisions (id, request_id, step, user_id, action, selector, decided_at)
     select gen_random_uuid(), id, 0, $1, 'reject', 'group:dba-team', now() from chosen`,
    [id],
  );
}

/** Copies stored requests as new ones made at `at`. */
const copyText = (at: string, count: number) =>
  `insert into requests select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'created_at', ${at}, 'updated_at', ${at}, 'idempotency_key', null))).*
   from requests r where r.id in (select id from requests order by md5(id::text) limit ${count})`;
const addRecent = (count: number) => pool.query(copyText('clock_timestamp()', count));
