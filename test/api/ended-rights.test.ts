import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, startTestApi, type TestApi } from '../support/api.js';
import { callsToml } from './calls-toml.js';
import { duringEnd, revocation, suspension } from './during-end.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { reach } from './reach-status.js';

let api: TestApi;
let calls: GatewayCalls;
let approver: string;
beforeAll(async () => {
  api = await startTestApi({ toml: callsToml });
  calls = gatewayCalls(api);
  approver = await api.createUser('approver', { groups: ['dba-team'] });
});
afterAll(() => api?.close());

describe('a call that was let in before its right to it ended', () => {
  const during = (end: string, subject: string, send: () => Promise<Answer>) =>
    duringEnd(api.database.adminUrl, { end, subject }, send);
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
});
