import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';

const toml = `trusted_proxies = ["127.0.0.1"]
${shopToml}
[[auth.roles]]
name = "temporary"
permissions = ["token.create", "token.revoke"]
`;

let api: TestApi;
let admin: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  admin = api.tokens.admin;
});
afterAll(() => api?.close());

const me = (credential: string | null, headers: Record<string, string> = {}) =>
  api.call('GET', '/api/me', { headers: { ...headers, ...(credential === null ? {} : { authorization: credential }) } });

async function auditOf(clientIp: string) {
  return api.services.database.query<{
    reason: string | null;
    actorId: string;
    actorType: string;
    outcome: string;
    metadata: string;
  }>(
    `select reason, actor_id as "actorId", actor_type as "actorType", outcome, metadata_json as metadata
     from audit_events where event_type = 'auth.failure' and client_ip = $1 order by position`,
    [clientIp],
  );
}

/** Who sends nothing knows no more than that; who guesses learns nothing. */
const hints: Record<string, unknown> = { 'auth.missing_token': expect.stringContaining('Authorization: Bearer <token>') };

describe('refused credentials (identity section 1: IM-1, IM-2, HT-20)', () => {
  const unknown = `svc_${'0'.repeat(32)}`;

  it.each([
    ['no header', null, 'auth.missing_token'],
    ['another scheme', 'Basic YTpi', 'auth.missing_token'],
    ['an empty credential', 'Bearer ', 'auth.missing_token'],
    ['two spaces', `Bearer  ${unknown}`, 'auth.invalid_token'],
    ['eleven characters', 'Bearer svc_1234567', 'auth.invalid_token'],
    ['more than 8192 characters', `Bearer ${'a'.repeat(8193)}`, 'auth.invalid_token'],
    ['something without our prefix', 'Bearer 0123456789abcdef', 'auth.invalid_token'],
    ['a token nobody made', `Bearer ${unknown}`, 'auth.invalid_token'],
  ])('%s', async (_what, header, code) => {
    const answer = await me(header);
    expect([answer.status, answer.body, answer.headers.get('www-authenticate')]).toEqual([
      401,
      { error: 'invalid token', code, hint: hints[code] ?? null },
      'Bearer',
    ]);
  });

  it('says that OIDC is off to a JWT (IM-30)', async () => {
    const answer = await me('Bearer eyJhbGciOiJub25lIn0.e30.');
    expect([answer.status, answer.body.error, answer.body.code]).toEqual([
      401,
      'OIDC not configured',
      'auth.oidc_not_configured',
    ]);
  });

  it('answers unknown, revoked and malformed tokens with the same bytes (IM-I9)', async () => {
    const token = await api.createUser('revoked-one', { roles: ['requester'] });
    const mine = await me(`Bearer ${token}`);
    await api.call('DELETE', `/api/tokens/${mine.body.token.id}`, { token: admin });
    const texts = await Promise.all(
      [`Bearer ${token}`, `Bearer ${unknown}`, 'Bearer svc_xxxxxxxxxxxxxxxx'].map((header) => me(header)),
    );
    expect(new Set(texts.map((answer) => answer.text)).size).toBe(1);
  });

  it('tells the holder of an expired token, of a suspended user and of no role what is wrong (IM-7, IM-13, IM-35)', async () => {
    const { database } = api.services;
    const expired = await api.createUser('expired-one', { roles: ['requester'] });
    await database.query(
      `update tokens set expires_at = clock_timestamp() - interval '1 second' where subject_id = 'expired-one'`,
    );
    const suspended = await api.createUser('suspended-one', { roles: ['requester'] });
    await database.query(`update users set status = 'suspended' where id = 'suspended-one'`);
    const roleless = await api.createUser('roleless-one');
    const shrunk = await api.createUser('shrunk-one', { roles: ['requester'] });
    await database.query(`update users set roles = '{approver}' where id = 'shrunk-one'`);
    const answers = await Promise.all([expired, suspended, roleless, shrunk].map((token) => me(`Bearer ${token}`)));
    expect(answers.map(({ status, body }) => [status, body.code, body.error])).toEqual([
      [401, 'auth.token_expired', 'token expired'],
      [401, 'auth.user_suspended', 'user suspended'],
      [403, 'auth.no_roles_resolved', 'insufficient permissions'],
      [403, 'auth.insufficient_scope', 'insufficient permissions'],
    ]);
  });

  it('narrows existing tokens at once and never widens them (IM-20)', async () => {
    const token = await api.createUser('narrowed', { roles: ['requester', 'approver'] });
    const { database } = api.services;
    const roles = async () => (await me(`Bearer ${token}`)).body.roles.map((role: { name: string }) => role.name);
    await database.query(`update users set roles = '{approver,dba}' where id = 'narrowed'`);
    expect(await roles()).toEqual(['approver']);
  });
});

describe('the record of refused credentials (AU-12, AU-21)', () => {
  it('names the cause and the prefix, and the subject only when the credential was right', async () => {
    const token = await api.createUser('late', { roles: ['requester'] });
    await api.services.database.query(
      `update tokens set expires_at = clock_timestamp() - interval '1 second' where subject_id = 'late'`,
    );
    await me(`Bearer ${token}`, { 'x-forwarded-for': '203.0.113.1' });
    await me(`Bearer svc_${'ab'.repeat(16)}`, { 'x-forwarded-for': '203.0.113.1' });
    await me(null, { 'x-forwarded-for': '203.0.113.1' });
    const [first, second, third] = await auditOf('203.0.113.1');
    expect(first).toMatchObject({ actorId: 'late', actorType: 'user', reason: 'auth.token_expired', outcome: 'denied' });
    expect(JSON.parse(first?.metadata ?? '')).toEqual({
      failure_reason: 'expired',
      code: 'auth.token_expired',
      token_prefix: token.slice(4, 12),
      auth_token_id: expect.any(String),
    });
    expect(second).toMatchObject({ actorId: 'anonymous', reason: 'auth.invalid_token' });
    expect(JSON.parse(second?.metadata ?? '')).toMatchObject({ failure_reason: 'unknown', token_prefix: 'abababab' });
    expect(third).toBeUndefined();
  });

  it('writes at most 60 per address and minute and sums up the rest', async () => {
    const bad = { 'x-forwarded-for': '203.0.113.2' };
    for (let round = 0; round < 7; round += 1)
      await Promise.all(Array.from({ length: 10 }, () => me(`Bearer svc_${'cd'.repeat(16)}`, bad)));
    expect(await auditOf('203.0.113.2')).toHaveLength(60);
    const second = await api.another();
    const other = { token: `svc_${'ef'.repeat(16)}`, headers: { 'x-forwarded-for': '203.0.113.3' } };
    for (let round = 0; round < 7; round += 1)
      await Promise.all(Array.from({ length: 9 }, () => second.call('GET', '/api/me', other)));
    await second.close();
    const events = await auditOf('203.0.113.3');
    expect(events).toHaveLength(61);
    expect(events.at(-1)?.metadata).toBe('{"suppressed":3}');
  });

  it('counts the addresses of one IPv6 network, which one host can have, as one', async () => {
    const third = await api.another();
    const from = (host: number) =>
      third.call('GET', '/api/me', { token: `svc_${'ef'.repeat(16)}`, headers: { 'x-forwarded-for': `2001:db8:0:7::${host}` } });
    for (let host = 10; host < 73; host += 9) await Promise.all(Array.from({ length: 9 }, (_, index) => from(host + index)));
    await third.close();
    const events = await api.services.database.query<{ suppressed: number | null }>(
      `select (metadata_json::jsonb->>'suppressed')::int as suppressed
       from audit_events where event_type = 'auth.failure' and client_ip like '2001:db8:0:7:%' order by position`,
    );
    expect([events.length, events.at(-1)?.suppressed]).toEqual([61, 3]);
  });
});
