import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockWaits } from '../support/active-statement.js';
import { type Answer, startTestApi, type TestApi } from '../support/api.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { reach } from './reach-status.js';

let api: TestApi;
let calls: GatewayCalls;
let approver: string;
beforeAll(async () => {
  api = await startTestApi({ toml: callsToml });
  calls = gatewayCalls(api);
  approver = await api.createUser('approver', { groups: ['dba-team'] });
  await calls.poll(['shop/staging', 'shop/production']);
});
afterAll(() => api?.close());

describe('a call that was let in before its right to it ended', () => {
  /** Sends the call while another transaction ends something, and commits that once the call waits for it. */
  async function during(end: string, subject: string, send: () => Promise<Answer>): Promise<Answer> {
    const client = new pg.Client({ connectionString: api.database.adminUrl });
    await client.connect();
    await client.query('begin');
    await client.query(end, [subject]);
    const answer = send();
    await expect.poll(async () => (await client.query(lockWaits)).rows, { timeout: 20_000, interval: 20 }).toHaveLength(1);
    await client.query('commit');
    await client.end();
    return answer;
  }
  const suspension = `with held as (select id from users where id = $1 for update) update users u set status = 'suspended' from held where u.id = held.id`;
  const revocation = 'update tokens set revoked_at = clock_timestamp() where subject_id = $1';
  const moves = [
    ['approve', 'pending'],
    ['reject', 'pending'],
    ['cancel', 'approved'],
    ['resume', 'approved'],
  ] as const;

  it.each([
    ...moves.map(([what, status]) => [what, status, suspension, 'auth.user_suspended'] as const),
    ...moves.map(([what, status]) => [what, status, revocation, 'auth.invalid_token'] as const),
  ])('%s of a request that is %s is 401 after it and changes nothing: %s (IM-I4, IM-72)', async (what, status, end, code) => {
    const name = `${what}-${code === 'auth.invalid_token' ? 'revoked' : 'suspended'}`;
    const token = await api.createUser(name, { roles: ['admin'], groups: ['dba-team'] });
    const owner = await api.createUser(`owner-${name}`, { roles: ['requester'] });
    const id = status === 'pending' ? await calls.created(owner) : await reach.approved!(calls, { owner, approver });
    const answer = await during(end, name, () => api.call('POST', `/api/requests/${id}/${what}`, { token }));
    expect([answer.status, answer.body.code]).toEqual([401, code]);
    expect(await calls.sql('select status from requests where id = $1', [id])).toEqual([{ status }]);
  });

  it.each([
    ['a request', 'requests', (token: string) => calls.create(token)],
    ['a user', 'users', (token: string) => api.call('POST', '/api/users', { token, body: { id: 'late', roles: ['requester'] } })],
    [
      'a token',
      'tokens',
      (token: string) =>
        api.call('POST', '/api/tokens', { token, body: { subject_type: 'agent', subject_id: 'late', scope_ceiling: null } }),
    ],
  ] as const)('does not make %s with a token that has been revoked (IM-72)', async (what, table, make) => {
    const name = `maker-of-${what.slice(2)}`;
    const token = await api.createUser(name, { roles: ['admin'] });
    const rows = async () => (await calls.sql(`select count(*) as n from ${table}`))[0];
    const before = await rows();
    const answer = await during(revocation, name, () => make(token));
    expect([answer.status, answer.body.code]).toEqual([401, 'auth.invalid_token']);
    expect(await rows()).toEqual(before);
  });

  it.each([
    ['revoked', revocation, 'auth.invalid_token'],
    ['suspended', suspension, 'auth.user_suspended'],
  ])('does not revoke the token of another once its own is %s (IM-I4, IM-72)', async (how, end, code) => {
    const thief = `thief-${how}`;
    const token = await api.createUser(thief, { roles: ['admin'] });
    const body = { subject_type: 'agent', subject_id: `victim-${how}` };
    const { id } = (await api.call('POST', '/api/tokens', { token: api.tokens.admin, body })).body;
    const answer = await during(end, thief, () => api.call('DELETE', `/api/tokens/${id}`, { token }));
    expect([answer.status, answer.body.code]).toEqual([401, code]);
    expect(await calls.sql('select revoked_at from tokens where id = $1', [id])).toEqual([{ revoked_at: null }]);
  });

  it('does not give work to an agent whose token has been revoked (IM-72)', async () => {
    const body = { subject_type: 'agent', subject_id: 'old-agent' };
    const { token } = (await api.call('POST', '/api/tokens', { token: api.tokens.admin, body })).body;
    await calls.poll(['shop/staging'], token);
    const id = await calls.created(api.tokens.admin, { environment: 'staging' });
    const answer = await during(revocation, 'old-agent', () => calls.claim(id, token));
    expect([answer.status, answer.body.code]).toEqual([401, 'auth.invalid_token']);
    expect(await calls.sql('select status from requests where id = $1', [id])).toEqual([{ status: 'dispatched' }]);
    expect((await calls.claim(id)).status).toBe(200);
  });
});
