import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { latestGeneration } from '../../db/generations.js';
import { countBacklog, takeNews } from '../../db/outbox.js';
import { listActiveHolders } from '../../db/users.js';
import { hasAdmin } from '../../domain/last-admin.js';
import { lockWaits } from '../support/active-statement.js';
import { type Answer, startTestApi, type TestApi } from '../support/api.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls, untilTaken } from './gateway-calls.js';
import { reach } from './reach-status.js';
import { untilWaiting } from './until-waiting.js';

const toml = `${callsToml}
[[auth.groups]]
name = "chiefs"
roles = ["admin"]
`;

let api: TestApi;
let other: TestApi;
let calls: GatewayCalls;
let both: GatewayCalls[];
let admin: string;
let approver: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  other = await api.another();
  calls = gatewayCalls(api);
  both = [calls, gatewayCalls(other)];
  admin = api.tokens.admin;
  approver = await api.createUser('approver', { groups: ['dba-team'] });
  await calls.poll(['shop/staging', 'shop/production']);
});
afterAll(async () => {
  await other?.close();
  await api?.close();
});

const suspend = (id: string, token = admin, where = api) => where.call('POST', `/api/users/${id}/suspend`, { token });
const remove = (id: string, token = admin, where = api) => where.call('DELETE', `/api/users/${id}`, { token });
const openOf = (id: string) =>
  calls.sql(`select id, status from requests where requester = $1 and status in ('pending', 'approved', 'dispatched')`, [id]);

describe('a suspension beside everything else a user does (IM-65, IM-I4)', () => {
  it.each([0, 1, 2, 3, 4, 5])('RQ-I10: leaves nothing waiting and nothing untold, round %i', async (round) => {
    const id = `racer-${round}`;
    const token = await api.createUser(id, { roles: ['requester'] });
    const approved = await reach.approved!(calls, { owner: token, approver });
    const waiting = await calls.created(token);
    const dispatched = await calls.created(token, { environment: 'staging' });
    const where = (index: number) => both[index % 2]!;
    const created: Promise<Answer>[] = [];
    const starts = [
      () => suspend(id, admin, round % 2 === 0 ? api : other),
      ...Array.from({ length: 6 }, (_, index) => () => {
        const creation = where(index).create(token, { environment: index % 2 === 0 ? 'staging' : 'production' });
        created.push(creation);
        return creation;
      }),
      () => where(round).act(token, approved, 'resume'),
      () => where(round + 1).act(approver, waiting, 'approve'),
      () => where(round).claim(dispatched),
      () => where(round).act(token, waiting, 'cancel'),
      () => api.call('POST', '/api/tokens', { token, body: { subject_id: id, subject_type: 'user' } }),
    ];
    const first = starts.splice((round * 5) % starts.length);
    const answers = await Promise.all([...first, ...starts].map(untilTaken));
    for (const { status, text } of answers) expect([200, 201, 401, 403, 409], text).toContain(status);
    expect(await openOf(id)).toEqual([]);
    const told = answers.find(({ body }) => body.cancelled_requests !== undefined)!.body.cancelled_requests as string[];
    for (const { status, body } of await Promise.all(created)) if (status === 201) expect(told).toContain(body.id);
    const live = await calls.sql(`select id from tokens where subject_id = $1 and subject_type = 'user' and revoked_at is null`, [
      id,
    ]);
    expect(live).toEqual([]);
    const counted = await calls.sql<{ count: number }>(
      `select count(*) as count from audit_events where event_type = 'request.cancelled' and request_id = any($1::uuid[]) group by request_id`,
      [told],
    );
    expect(counted.every(({ count }) => count === 1)).toBe(true);
    expect((await calls.claim(approved)).status).toBe(409);
  });

  it('ends a waiting call of the user with 401 as soon as there is something to tell (HT-103)', async () => {
    const token = await api.createUser('watcher', { roles: ['requester'] });
    const id = await calls.created(token);
    const { answer } = await untilWaiting(other, () => both[1]!.show(token, id, '?wait=60'));
    await suspend('watcher');
    const { status, body } = await answer;
    expect([status, body.code]).toEqual([401, 'auth.invalid_token']);
  });
});

describe('the last admin (IM-64, IM-I6)', () => {
  const admins = async () => {
    const auth = (await latestGeneration(api.services.database))!.content.auth;
    return hasAdmin(await listActiveHolders(api.services.database), auth);
  };

  /** The bootstrap tokens of a suspended admin stay revoked. */
  const restoreAdmin = async (token: string) => {
    await api.call('POST', '/api/users/admin/activate', { token });
    admin = (await api.call('POST', '/api/users/admin/reissue-initial-token', { token })).body.token;
    api.tokens.admin = admin;
  };

  it('cannot be suspended, deleted or made less, by nobody and in no way', async () => {
    const events = () => calls.sql(`select position from audit_events where resource_id = 'admin' order by position`);
    const before = await events();
    const answers = [
      await suspend('admin'),
      await remove('admin'),
      await api.call('PATCH', '/api/users/admin', { token: admin, body: { rm_roles: ['admin'] } }),
      await api.call('PATCH', '/api/users/admin', { token: admin, body: { roles: ['requester'] } }),
    ];
    for (const { status, body } of answers) {
      expect([status, body.code]).toEqual([400, 'validation.failed']);
      expect(body.error).toContain('last active admin');
    }
    expect((await api.call('GET', '/api/me', { token: admin })).status).toBe(200);
    expect(await events()).toEqual(before);
  });

  it('is not tripped by who is no active admin, and counts admins by a group', async () => {
    await api.createUser('chief', { groups: ['chiefs'] });
    expect((await api.call('PATCH', '/api/users/admin', { token: admin, body: { add_roles: ['dba'] } })).status).toBe(200);
    const chief = (await api.call('POST', '/api/users/chief/reissue-initial-token', { token: admin })).body.token;
    expect((await suspend('admin', chief)).status).toBe(200);
    for (const act of [
      () => remove('chief', chief),
      () => api.call('PATCH', '/api/users/chief', { token: chief, body: { rm_groups: ['chiefs'] } }),
    ])
      expect((await act()).status).toBe(400);
    await restoreAdmin(chief);
    expect((await remove('chief')).status).toBe(200);
  });

  it.each([0, 1, 2, 3])('is left when two admins remove each other at once, round %i', async (round) => {
    const one = await api.createUser(`one-${round}`, { roles: ['admin'] });
    const two = await api.createUser(`two-${round}`, { roles: ['admin'] });
    await suspend('admin', one);
    const [a, b] = await Promise.all([
      (round % 2 === 0 ? suspend : remove)(`two-${round}`, one, api),
      (round < 2 ? suspend : remove)(`one-${round}`, two, other),
    ]);
    // The loser is either the last admin's remover (400) or no longer anybody (401).
    expect([a!.status, b!.status].filter((status) => status === 200)).toHaveLength(1);
    for (const { status } of [a!, b!]) expect([200, 400, 401]).toContain(status);
    expect(await admins()).toBe(true);
    const winner = a!.status === 200 ? one : two;
    await restoreAdmin(winner);
    await remove(`${a!.status === 200 ? 'one' : 'two'}-${round}`);
  });
});

// The second test reads the news that the suspension in the first has made.
describe('a user with thousands of open requests', { shuffle: false }, () => {
  const many = 1200;
  const owner = 'hoarder';
  const batchEnds = [0, many - 1];

  /** Copies a request, its context and its EXPLAIN job as rows, which is quicker than as many calls. */
  async function hoard(): Promise<void> {
    const token = await api.createUser(owner, { roles: ['requester'] });
    const id = await calls.created(token);
    await calls.sql(
      `insert into requests select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid()))).* from requests r, generate_series(2, $2::int) where r.id = $1`,
      [id, many],
    );
    await calls.sql(
      `insert into dry_run_jobs (request_id, statement_index, database, environment, sql, created_at)
       select id, 0, database, environment, detail, created_at from requests where requester = $1 on conflict do nothing`,
      [owner],
    );
  }

  const counts = async () => {
    const [row] = await calls.sql(
      `select (select status from users where id = $1) as status,
         (select count(*) from requests where requester = $1 and status = 'pending') as pending,
         (select count(*) from tokens where subject_id = $1 and revoked_at is not null) as revoked,
         (select count(*) from audit_events where event_type = 'request.cancelled' and request_id in (select id from requests where requester = $1)) as events,
         (select count(*) from outbox where yields and request_id in (select id from requests where requester = $1)) as news,
         (select count(*) from dry_run_jobs where state = 'pending' and request_id in (select id from requests where requester = $1)) as jobs`,
      [owner],
    );
    return row;
  };

  it('is suspended wholly or not at all, whatever is killed in between (HT-I7, IM-I8)', async () => {
    await hoard();
    const before = { status: 'active', pending: many, revoked: 0, events: 0, news: 0, jobs: many };
    expect(await counts()).toEqual(before);
    const client = new pg.Client({ connectionString: api.database.adminUrl });
    await client.connect();
    for (const place of batchEnds) {
      // Somebody holds a row that the first or the last batch writes: the suspension is then in the middle of its work.
      await client.query('begin');
      await client.query(
        `select 1 from dry_run_jobs where request_id = (select id from requests where requester = $1 order by id offset $2 limit 1) for update`,
        [owner, place],
      );
      const answer = suspend(owner);
      const waiting = async () => (await client.query<{ pid: number }>(lockWaits)).rows;
      await expect.poll(waiting, { timeout: 20_000, interval: 20 }).toHaveLength(1);
      await client.query('select pg_terminate_backend($1)', [(await waiting())[0]!.pid]);
      await client.query('rollback');
      const { status, body } = await answer;
      expect([status, body.code]).toEqual([503, 'service.unavailable']);
      expect(await counts()).toEqual(before);
    }
    await client.end();
    const { status, body } = await suspend(owner);
    expect([status, new Set(body.cancelled_requests).size]).toEqual([200, many]);
    expect(await counts()).toEqual({ status: 'suspended', pending: 0, revoked: 1, events: many, news: many, jobs: 0 });
  });

  it('holds back neither creation nor the news of others (OP-72)', async () => {
    const { database } = api.services;
    // Requests of the tests above may have news of both kinds, which a take counts twice.
    await calls.sql('delete from outbox where request_id not in (select id from requests where requester = $1)', [owner]);
    await calls.sql('update outbox set taken_until = null');
    const backlog = await countBacklog(database);
    const id = await calls.created(admin);
    expect(await countBacklog(database)).toBe(backlog + 1);
    await calls.sql(`update outbox set due_at = clock_timestamp() - interval '1 hour' where yields`);
    const pressing = await database.transaction((tx) => takeNews(tx, backlog + 1));
    expect(pressing.map(({ requestId }) => requestId)).toContain(id);
    const rest = await database.transaction((tx) => takeNews(tx, 50));
    expect(rest).toHaveLength(50);
    for (const { news } of rest) expect(news.at(-1)).toMatchObject({ signal: 'cancellation', actor: 'admin' });
  });
});
