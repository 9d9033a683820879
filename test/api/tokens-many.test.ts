import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Queryable } from '../../db/client.js';
import { type Answer, startTestApi, type TestApi } from '../support/api.js';

let api: TestApi;
let db: Queryable;
beforeAll(async () => {
  api = await startTestApi();
  db = api.services.database;
});
afterAll(() => api?.close());

/** Tokens of the past, of which the first is the oldest: some revoked, some expired, all of them ended. */
const store = (subjectType: string, subjectId: string, count: number) =>
  db.query(
    `insert into tokens (id, subject_type, subject_id, token_hash, token_prefix, scope_ceiling, name, created_at, expires_at, revoked_at)
     select gen_random_uuid(), $1, $2, '', '', '{requester}', n, clock_timestamp() - (10000 - n) * interval '1 minute',
       case when n % 2 = 0 then clock_timestamp() - interval '1 second' end, case when n % 2 = 1 then clock_timestamp() end
     from generate_series(1, $3::int) as n`,
    [subjectType, subjectId, count],
  );

const namesOf = async (subjectId: string) => {
  const { body } = await api.call('GET', '/api/tokens', { token: api.tokens.admin });
  const of = body.tokens.filter((token: { subject_id: string }) => token.subject_id === subjectId);
  return of.map(({ name, status }: { name: string | null; status: string }) => [name, status]);
};

const secure = { 'x-forwarded-proto': 'https', host: 'localhost' };
const ways: [string, string, (token: string) => Promise<Answer>][] = [
  ['a token', 'anna', (token) => api.call('POST', '/api/tokens', { token, body: { subject_id: 'anna', subject_type: 'user' } })],
  ['a session', 'sam', (token) => api.call('POST', '/api/console/session', { body: { token }, headers: secure })],
  [
    'a first token',
    'rita',
    () => api.call('POST', '/api/users/rita/reissue-initial-token', { token: api.tokens.admin, body: {} }),
  ],
];

describe('ended tokens of a subject (IM-17)', () => {
  it.each(ways)('are kept up to 1000, the newest, when %s is made; active ones always', async (_, id, make) => {
    const token = await api.createUser(id, { roles: ['requester'] });
    await db.query(`update tokens set created_at = created_at - interval '1 year' where subject_id = $1`, [id]);
    await store('user', id, 1300);
    expect((await make(token)).status).toBeLessThan(300);
    const left = await namesOf(id);
    const ended = left.filter(([, status]: [string, string]) => status !== 'active').map(([name]: [string]) => name);
    expect([ended.length, ended[0], ended.at(-1)]).toEqual([1000, '1300', '301']);
    expect(left.length - ended.length).toBe(id === 'rita' ? 1 : 2);
  });

  it('of agents too, and of many at most a thousand are deleted at once', async () => {
    await store('agent', 'much', 2500);
    await store('user', 'much', 1100);
    const body = { subject_id: 'much', subject_type: 'agent', agent_scopes: ['*/*'] };
    const count = async () =>
      (await db.query<{ n: number }>(`select count(*) as n from tokens where subject_id = 'much' and subject_type = 'agent'`))[0]
        ?.n;
    for (const left of [1501, 1002]) {
      expect((await api.call('POST', '/api/tokens', { token: api.tokens.admin, body })).status).toBe(201);
      expect(await count()).toBe(left);
    }
    expect((await namesOf('much')).length).toBe(1002 + 1100);
  });
});
