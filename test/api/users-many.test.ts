import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGoneOwners } from '../../worker/gone-owners.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';

const copies = 5100;

let api: TestApi;
let calls: GatewayCalls;
beforeAll(async () => {
  api = await startTestApi({ toml: callsToml });
  calls = gatewayCalls(api);
  await calls.poll(['shop/staging', 'shop/production']);
});
afterAll(() => api?.close());

const suspend = (id: string) => api.call('POST', `/api/users/${id}/suspend`, { token: api.tokens.admin });

/** A user with more open requests than one transaction ends, one of them running. */
async function busy(id: string): Promise<string> {
  const token = await api.createUser(id, { roles: ['requester'] });
  await calls.claimed(await calls.created(token, { environment: 'staging' }));
  const pending = await calls.created(token);
  await calls.sql(
    `insert into requests select copy.* from requests r, generate_series(1, $2::int) as n,
       jsonb_populate_record(null::requests, to_jsonb(r) || jsonb_build_object('id', gen_random_uuid(), 'copy', n)) as copy
     where r.id = $1`,
    [pending, copies],
  );
  return token;
}

const left = async (id: string) =>
  calls.sql<{ status: string; count: number }>(
    `select status, count(*)::int as count from requests where requester = $1 group by status order by status`,
    [id],
  );
const events = async (id: string) =>
  calls.sql<{ actor: string; cause: string; count: number }>(
    `select actor_id as actor, metadata_json::jsonb->>'cause' as cause, count(*)::int as count from audit_events
     where event_type = 'request.cancelled' and request_id in (select id from requests where requester = $1) group by 1, 2`,
    [id],
  );
const ended = [
  { status: 'cancelled', count: copies + 1 },
  { status: 'running', count: 1 },
];

/** Lets the first transaction of the call commit, and no other. */
async function brokenOff<T>(call: () => Promise<T>): Promise<T> {
  const { database } = api.services;
  const { transaction } = database;
  let begun = 0;
  const failing: typeof transaction = (...work) => {
    begun += 1;
    return begun === 1 ? transaction(...work) : Promise.reject(new Error('gone'));
  };
  Object.assign(database, { transaction: failing });
  return call().finally(() => Object.assign(database, { transaction }));
}

/** One round of the worker's job. */
async function round(): Promise<void> {
  const job = createGoneOwners({ database: api.services.database, metrics: api.services.metrics, everyMs: 60_000 });
  await calls.sql(`delete from background_state where name = $1`, [job.name]);
  while ((await job.once()) === 0);
}

describe('ending a user with more open requests than one transaction takes (IM-65)', () => {
  it('cancels all before the answer, with an event each', async () => {
    const token = await busy('mira');
    const { status, body } = await suspend('mira');
    expect([status, body.revoked_tokens, new Set(body.cancelled_requests).size]).toEqual([200, 1, copies + 2]);
    expect(await left('mira')).toEqual(ended);
    expect(await events('mira')).toEqual([{ actor: 'admin', cause: 'user_suspended', count: copies + 1 }]);
    expect((await api.call('GET', '/api/me', { token })).status).toBe(401);
    expect((await suspend('mira')).body).toEqual({ id: 'mira', revoked_tokens: 0, cancelled_requests: [] });
  });

  it('shuts the user out even if it breaks off, and goes on when it is called again', async () => {
    const token = await busy('lost');
    expect((await brokenOff(() => suspend('lost'))).status).toBe(500);
    expect((await api.call('GET', '/api/me', { token })).status).toBe(401);
    const [{ count = 0 } = {}] = (await left('lost')).filter(({ status }) => status === 'pending');
    expect(count).toBeGreaterThan(0);
    const again = (await suspend('lost')).body;
    expect(again.revoked_tokens).toBe(0);
    expect(again.cancelled_requests.length).toBeGreaterThanOrEqual(count);
    expect(await left('lost')).toEqual(ended);
  });

  it('is finished by a worker when nobody calls again, also of a deleted user, and not of one who is active again', async () => {
    await busy('away');
    const remove = () => api.call('DELETE', '/api/users/away', { token: api.tokens.admin });
    expect((await brokenOff(remove)).status).toBe(500);
    await round();
    expect((await left('away')).map(({ status }) => status)).toContain('pending');
    await calls.sql(`update users set updated_at = updated_at - interval '61 seconds' where id = 'away'`);
    await round();
    expect(await left('away')).toEqual(ended);
    expect((await events('away')).map(({ actor, cause }) => [actor, cause]).sort()).toEqual([
      ['admin', 'user_deleted'],
      ['system', 'user_deleted'],
    ]);
    await busy('back');
    await brokenOff(() => suspend('back'));
    await api.call('POST', '/api/users/back/activate', { token: api.tokens.admin });
    await calls.sql(`update users set updated_at = updated_at - interval '61 seconds' where id = 'back'`);
    await round();
    expect((await left('back')).map(({ status }) => status)).toContain('pending');
  });
});
