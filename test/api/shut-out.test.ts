import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keepStanding, type Standing } from '../../db/standing.js';
import { lockWaits } from '../support/active-statement.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { callsToml } from './calls-toml.js';
import { fromOwnPage, rawCall, signedIn } from './console-calls.js';

let api: TestApi;
let admin: string;
beforeAll(async () => {
  api = await startTestApi({ toml: callsToml });
  admin = api.tokens.admin;
});
afterAll(() => api?.close());

const tokenIdOf = async (token: string) => (await api.call('GET', '/api/me', { token })).body.token.id as string;
const waits = async () => (await api.services.database.query(lockWaits)).length;

/** Ends a standing while one piece of work relies on it and another one comes after; resolves with what became of both. */
async function endedBetween(standing: Standing, end: () => Promise<{ status: number }>) {
  const { database } = api.services;
  const order: string[] = [];
  let release = () => {};
  const isHeld = new Promise<void>((held) => {
    void database.transaction(async (tx) => {
      await keepStanding(tx, standing);
      held();
      await new Promise<void>((resolve) => {
        release = resolve;
      });
    });
  });
  await isHeld;
  const ended = end().then(({ status }) => order.push(`ended with ${status}`));
  await expect.poll(waits, { interval: 10 }).toBe(1);
  const later = database
    .transaction((tx) => keepStanding(tx, standing))
    .then(
      () => order.push('went ahead'),
      (error) => order.push(error.code),
    );
  await expect.poll(async () => order.length > 0 || (await waits()) === 2, { interval: 10 }).toBe(true);
  release();
  await Promise.all([ended, later]);
  return order;
}

describe('who calls without a pause does not go ahead of what ends it (IM-65, IM-72)', () => {
  const standingOf = async (id: string): Promise<Standing & { token: string; tokenId: string }> => {
    const token = await api.createUser(id, { roles: ['requester'] });
    return { id, type: 'user', token, tokenId: await tokenIdOf(token) };
  };

  it.each([
    ['a suspension', 'POST', '/suspend'],
    ['a deletion', 'DELETE', ''],
  ])('%s', async (_what, method, path) => {
    const user = await standingOf(`busy-${method}`);
    const order = await endedBetween(user, () => api.call(method, `/api/users/${user.id}${path}`, { token: admin }));
    expect(order.toSorted()).toEqual(['auth.user_suspended', 'ended with 200']);
  });

  it('the revocation of the token of a user', async () => {
    const user = await standingOf('busy-token');
    const order = await endedBetween(user, () => api.call('DELETE', `/api/tokens/${user.tokenId}`, { token: admin }));
    expect(order.toSorted()).toEqual(['auth.invalid_token', 'ended with 200']);
  });

  it('the revocation of the token of an agent', async () => {
    const body = { subject_type: 'agent', subject_id: 'busy' };
    const { id: tokenId } = (await api.call('POST', '/api/tokens', { token: admin, body })).body;
    const order = await endedBetween({ id: 'busy', type: 'agent', tokenId }, () =>
      api.call('DELETE', `/api/tokens/${tokenId}`, { token: admin }),
    );
    expect(order.toSorted()).toEqual(['auth.invalid_token', 'ended with 200']);
  });

  it('a sign-out', async () => {
    const { token, ...user } = await standingOf('busy-browser');
    const headers = { ...fromOwnPage, cookie: await signedIn(api, token) };
    const { body } = await rawCall(api, 'GET', '/api/me', { headers });
    const order = await endedBetween({ ...user, tokenId: body.token.id }, () =>
      rawCall(api, 'DELETE', '/api/console/session', { headers }),
    );
    expect(order.toSorted()).toEqual(['auth.invalid_token', 'ended with 204']);
  });
});

it('sessions that revoke the token that all of them were made from do not stop each other: one does it (IM-72)', async () => {
  const token = await api.createUser('four-browsers', { roles: ['requester'] });
  const id = await tokenIdOf(token);
  const cookies = await Promise.all([1, 2, 3, 4].map(() => signedIn(api, token)));
  const client = new pg.Client({ connectionString: api.database.adminUrl });
  await client.connect();
  await client.query('begin');
  await client.query(`select id from users where id = 'four-browsers' for update`);
  const answers = Promise.all(
    cookies.map((cookie) => rawCall(api, 'DELETE', `/api/tokens/${id}`, { headers: { ...fromOwnPage, cookie } })),
  );
  await expect.poll(waits, { interval: 10 }).toBe(4);
  await client.query('commit');
  await client.end();
  expect((await answers).map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401]);
});
