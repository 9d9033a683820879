import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storeRequests } from '../../bench/stored-requests.js';
import type { Database } from '../../db/client.js';
import { openDatabase } from '../../db/open-database.js';
import { listRequests } from '../../db/request-list.js';
import type { RequestFilters } from '../../db/request-visibility.js';
import { mostCounted, totalBy, totalCounted } from '../../db/totals.js';
import { BUILTIN_ROLES } from '../../domain/builtin-roles.js';
import type { Caller, EffectiveRole } from '../../domain/caller.js';
import { noOrigins } from '../../domain/four-eyes.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

let own: TestDatabase;
let pool: pg.Pool;
let database: Database;
beforeAll(async () => {
  own = await createTestDatabase();
  pool = new pg.Pool({ connectionString: own.url, max: 1 });
  // The drop of the database may end a session that is closing.
  pool.on('error', () => {});
  const limits = { connectTimeoutMs: 10_000, statementTimeoutMs: 30_000, callTimeoutMs: 30_000 };
  database = openDatabase({ url: own.url, poolMax: 4, applicationName: 'test', ...limits });
  await pool.query('alter table requests set (autovacuum_enabled = off)');
  await storeRequests(pool, 14_000);
}, 120_000);
afterAll(async () => {
  await database?.close();
  await pool?.end();
  await own?.drop();
});

const viewer = (environment: string): EffectiveRole => ({
  name: 'viewer',
  permissions: [{ perm: 'request.view', ownership: 'any' }],
  databases: ['shop'],
  environments: [environment],
});
const user = (id: string, role: EffectiveRole, groups: string[] = []): Caller => ({
  kind: 'user',
  id,
  roles: [role],
  groups,
  memberOf: groups,
  origins: noOrigins,
  tokenId: null,
});
const builtin = (name: string) => BUILTIN_ROLES.find((role) => role.name === name)!;
const admin = user('root', builtin('admin'));

async function executed(caller: Caller, limit: number, offset: number) {
  const filters = { status: 'executed' };
  const { rows, total, isEstimate } = await listRequests(database, caller, filters, { limit, offset, pendingForMe: false });
  return { shown: rows.length, total, isEstimate };
}

/** So many are executed, the rest failed. As in a gateway, only rows that change are written. */
async function execute(count: number) {
  await pool.query(`with wanted as (
      select id, case when row_number() over (order by created_at, id) <= ${count} then 'executed' else 'failed' end as status from requests
    ) update requests r set updated_at = now(), step_selectors = '{}', open_selectors = '{}', status = wanted.status
      from wanted where r.id = wanted.id and (r.status <> wanted.status or r.step_selectors <> '{}')`);
}

describe('the total of a list with a status (HT-83)', () => {
  it('is counted up to 10,000, and an estimate of at least one more above', async () => {
    await execute(mostCounted);
    expect(await executed(admin, 50, 0)).toEqual({ shown: 50, total: 10_000, isEstimate: false });
    expect(await executed(admin, 50, 9_990)).toEqual({ shown: 10, total: 10_000, isEstimate: false });
    expect(await executed(admin, 50, 10_000)).toEqual({ shown: 0, total: 10_000, isEstimate: false });
    await execute(mostCounted + 1);
    const above = await executed(admin, 50, 0);
    expect(above).toEqual({ shown: 50, total: expect.any(Number), isEstimate: true });
    expect(above.total).toBeGreaterThan(mostCounted);
    expect(await executed(admin, 50, 10_000)).toEqual({ shown: 1, total: 10_001, isEstimate: false });
    expect(await executed(admin, 50, 10_001)).toEqual({ shown: 0, total: 10_001, isEstimate: true });
  });

  it('is near the truth after ANALYZE, and never below what the page shows, however wrong the statistics are', async () => {
    await execute(13_500);
    await pool.query('analyze requests');
    const { total } = await executed(admin, 50, 0);
    expect(Math.abs(total - 13_500)).toBeLessThan(1_350);
    await execute(2);
    await pool.query('analyze requests');
    await execute(13_500);
    for (const [limit, offset] of [
      [50, 0],
      [50, 12_000],
      [100, 13_400],
      [0, 0],
    ] as const) {
      const page = await executed(admin, limit, offset);
      expect(page).toMatchObject({ shown: limit, isEstimate: true });
      expect(page.total).toBeGreaterThanOrEqual(Math.max(10_001, offset + limit));
    }
    expect(await executed(admin, 50, 13_480)).toEqual({ shown: 20, total: 13_500, isEstimate: false });
  });

  it('tells of nothing that the caller may not see', async () => {
    await execute(14_000);
    await pool.query('analyze requests');
    expect(await executed(user('paul', viewer('production')), 50, 0)).toEqual({ shown: 50, total: 3_500, isEstimate: false });
    expect(await executed(user('alice', builtin('requester')), 50, 0)).toEqual({ shown: 50, total: 4_200, isEstimate: false });
    expect(await executed(user('mia', builtin('requester')), 50, 0)).toEqual({ shown: 0, total: 0, isEstimate: false });
    const staging = await executed(user('sam', viewer('staging')), 50, 0);
    expect(staging.isEstimate).toBe(true);
    expect(Math.abs(staging.total - 10_500)).toBeLessThan(1_050);
  });
});

describe('pages deep in a list with a status (HT-82)', () => {
  it('hold what lies there, whatever has come into the status and left it since', async () => {
    const expected = async (caller: Caller) => {
      const whose = caller === admin ? '' : `and requester = 'alice'`;
      const { rows } = await pool.query<{ id: string }>(
        `select id from requests where status = 'executed' ${whose} order by created_at desc, id desc`,
      );
      return rows.map(({ id }) => id);
    };
    const expectPages = async () => {
      for (const caller of [admin, user('alice', builtin('requester'))]) {
        const all = await expected(caller);
        for (const offset of [2_001, 2_600, 3_990, 6_000, 9_999, 11_500, 13_000]) {
          const filters = { status: 'executed' };
          const { rows } = await listRequests(database, caller, filters, { limit: 50, offset, pendingForMe: false });
          expect({ caller: caller.id, offset, ids: rows.map(({ id }) => id) }).toEqual({
            caller: caller.id,
            offset,
            ids: all.slice(offset, offset + 50),
          });
        }
      }
    };
    const turn = (status: string, share: string) =>
      pool.query(
        `update requests set status = '${status}', step_selectors = '{}', updated_at = clock_timestamp() where ${share}`,
      );
    await execute(12_000);
    await expectPages();
    for (const [status, share] of [
      ['failed', 'hashtext(id::text) % 500 = 7'],
      ['running', 'hashtext(id::text) % 9000 = 1'],
      ['executed', 'hashtext(id::text) % 700 = 9'],
      ['failed', 'hashtext(id::text) % 4 = 3'],
      ['executed', 'true'],
    ] as const) {
      await turn(status, share);
      await expectPages();
    }
    const some = 'hashtext(id::text) % 50 = 11';
    await pool.query(`create table deleted as select * from requests where ${some}`);
    await pool.query(`delete from requests where ${some}`);
    await expectPages();
    // As many new ones of the same kind, which other tests count on.
    await pool.query(
      `insert into requests select (jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid()))).* from deleted d`,
    );
    await turn('executed', 'true');
    await expectPages();
  });
});

describe('the list of an approver (RQ-11, HT-83)', () => {
  it('knows up to 10,000 requests that wait, and follows what becomes of them', async () => {
    const approver = user('mia', builtin('requester'), ['dba-team']);
    const list = async (filters: RequestFilters = {}, offset = 1) => {
      const { rows, ...counted } = await listRequests(database, approver, filters, { limit: 2, offset, pendingForMe: false });
      return { ...counted, ids: rows.map(({ id }) => id) };
    };
    const end = (count: number) =>
      pool.query(`update requests set status = 'executed', step_selectors = '{}', updated_at = clock_timestamp()
        where id in (select id from requests where status = 'pending' order by created_at desc, id desc limit ${count})`);
    const newest = async (offset = 1) =>
      (
        await pool.query(
          `select id from requests where status = 'pending' order by created_at desc, id desc limit 2 offset ${offset}`,
        )
      ).rows.map(({ id }) => id);
    await pool.query(
      `update requests set status = 'pending', step_selectors = '{group:dba-team}', updated_at = clock_timestamp()`,
    );
    expect(await list()).toEqual({ total: expect.any(Number), isEstimate: true, ids: await newest() });
    expect((await list()).total).toBeGreaterThan(mostCounted);
    let left = 14_000;
    for (const count of [4_000, 1, 10, 3_000, 1]) {
      await end(count);
      left -= count;
      for (const filters of [{}, { status: 'pending' }, { environment: 'staging' }, { status: 'executed' }]) await list(filters);
      expect(await list()).toEqual({ total: left, isEstimate: false, ids: await newest() });
      expect(await list({ status: 'pending' })).toEqual({ total: left, isEstimate: false, ids: await newest() });
      for (const filters of [{}, { status: 'pending' }])
        expect(await list(filters, 5_000)).toEqual({ total: left, isEstimate: false, ids: await newest(5_000) });
      expect(await list({ status: 'executed' })).toEqual({ total: 0, isEstimate: false, ids: [] });
    }
  });
});

describe('the inbox of an approver (RQ-36, HT-83)', () => {
  const approver = user('ida', builtin('approver'), ['dba-team']);
  const inbox = async (offset = 0) => {
    const { rows, ...counted } = await listRequests(database, approver, {}, { limit: 2, offset, pendingForMe: true });
    return { ...counted, shown: rows.length };
  };
  /** So many have waited for longer than a commit takes, `short` of them until a moment from now; the others have ended. */
  const wait = (count: number, short: number) =>
    pool.query(`update requests r set status = case when n <= ${count} then 'pending' else 'executed' end,
        step_selectors = case when n <= ${count} then '{group:dba-team}'::text[] else '{}' end,
        open_selectors = case when n <= ${count} then '{group:dba-team}'::text[] else '{}' end, updated_at = clock_timestamp() - interval '1 minute',
        expires_at = clock_timestamp() + case when n <= ${short} then interval '2 seconds' else interval '1 day' end
      from (select id, row_number() over (order by id) as n from requests) as numbered where numbered.id = r.id`);
  const some = (count: number) =>
    `id in (select id from requests where status = 'pending' and expires_at > clock_timestamp() + interval '1 hour' limit ${count})`;
  const end = (count: number) =>
    pool.query(
      `update requests set status = 'executed', step_selectors = '{}', open_selectors = '{}', updated_at = clock_timestamp() where ${some(count)}`,
    );

  it('is estimated as long as more than 10,000 wait, and counted once some have been decided and others have expired', async () => {
    await wait(11_000, 500);
    expect(await inbox()).toEqual({ total: expect.any(Number), isEstimate: true, shown: 2 });
    await end(400);
    const { total, ...rest } = await inbox();
    expect([rest, total > mostCounted]).toEqual([{ isEstimate: true, shown: 2 }, true]);
    const waits = `select 1 from requests where status = 'pending' and expires_at > clock_timestamp()`;
    await expect.poll(async () => (await pool.query(waits)).rows.length).toBe(10_100);
    await end(99);
    expect(await inbox()).toMatchObject({ isEstimate: true, shown: 2 });
    expect(await inbox(10_000)).toEqual({ total: 10_001, isEstimate: false, shown: 1 });
    await end(1);
    expect(await inbox()).toEqual({ total: 10_000, isEstimate: false, shown: 2 });
    expect(await inbox(9_999)).toEqual({ total: 10_000, isEstimate: false, shown: 1 });
  });

  it('is estimated near the truth where PostgreSQL has statistics', async () => {
    await wait(11_000, 0);
    await pool.query('analyze requests');
    const { total, isEstimate } = await inbox();
    expect([isEstimate, Math.abs(total - 11_000) < 300]).toEqual([true, true]);
  });

  it('is counted again once requests were purged', async () => {
    await wait(14_000, 0);
    expect(await inbox()).toMatchObject({ isEstimate: true });
    expect(await inbox()).toMatchObject({ isEstimate: true });
    await pool.query(`create table purged as select * from requests where ${some(4_000)}`);
    await pool.query('delete from requests where id in (select id from purged)');
    expect(await inbox()).toEqual({ total: 10_000, isEstimate: false, shown: 2 });
    await pool.query('insert into requests select * from purged');
    await pool.query('drop table purged');
  });
});

describe('an estimate beside its page', () => {
  it.each([
    ['the estimate', 50_000, { limit: 50, offset: 0 }, 50, { total: 50_000, isEstimate: true }],
    ['one more than is counted', 12, { limit: 50, offset: 0 }, 50, { total: 10_001, isEstimate: true }],
    ['what the page reaches', 12, { limit: 50, offset: 20_000 }, 50, { total: 20_050, isEstimate: true }],
    ['the place of the last request', 50_000, { limit: 50, offset: 20_000 }, 7, { total: 20_007, isEstimate: false }],
    [
      'the place of the last request, also when few are left',
      50_000,
      { limit: 50, offset: 9_000 },
      7,
      { total: 9_007, isEstimate: false },
    ],
    ['no more than was skipped to find none', 50_000, { limit: 50, offset: 20_000 }, 0, { total: 20_000, isEstimate: true }],
    ['the estimate without a page', 50_000.4, { limit: 0, offset: 20_000 }, 0, { total: 50_000, isEstimate: true }],
  ])('is %s', (_what, estimated, page, shown, expected) => {
    expect(totalBy(estimated, page, shown)).toEqual(expected);
  });
});

describe('a total that was counted before its page was read', () => {
  it.each([
    ['as it was counted', 70, { offset: 50 }, 20, 70],
    ['never less than the page reaches', 70, { offset: 50 }, 21, 71],
    ['as it was counted beside a page behind the end', 70, { offset: 90 }, 0, 70],
  ])('is %s', (_what, counted, page, shown, total) => {
    expect(totalCounted(counted, page, shown)).toEqual({ total, isEstimate: false });
  });
});
