import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { goodClaims, type Key, makeKey, oidcToml, startFakeProvider } from '../support/oidc.js';
import { cookieOf, fromOwnPage, rawCall, setCookieOf, signedIn } from './console-calls.js';

let provider: Awaited<ReturnType<typeof startFakeProvider>>;
let key: Key;
let api: TestApi;
let rita: string;
beforeAll(async () => {
  provider = await startFakeProvider();
  key = await makeKey('RS256', 'k1');
  provider.keys(key.jwk);
  api = await startTestApi({ toml: `${shopToml}[console]\nsession_secs = 3600\n${oidcToml(provider.issuer)}` });
  rita = await api.createUser('rita', { roles: ['requester', 'approver'] });
});
afterAll(async () => {
  await api?.close();
  await provider?.close();
});

const session = (method: string, cookie: string, headers: Record<string, string> = fromOwnPage) =>
  rawCall(api, method, '/api/console/session', { headers: { ...headers, cookie } });
const signIn = (token: unknown, headers: Record<string, string> = {}) =>
  rawCall(api, 'POST', '/api/console/session', { headers, body: { token } });
const get = (cookie: string, path = '/api/me') => rawCall(api, 'GET', path, { headers: { cookie } });
const tokenOfOwn = async (token: string, body: object = {}) =>
  (await api.call('POST', '/api/tokens', { token, body: { subject_id: 'rita', subject_type: 'user', ...body } })).body;
const events = (type: string, id: string) =>
  api.services.database.query<{ metadata: string }>(
    `select metadata_json as metadata from audit_events where event_type = $1 and resource_id = $2`,
    [type, id],
  );

describe('the session of a browser', () => {
  it('is a token of its own kind in a cookie that scripts and other sites do not get (CO-10, CO-11)', async () => {
    const answer = await signIn(rita, fromOwnPage);
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([204, '', undefined]);
    expect(setCookieOf(answer)).toMatch(
      /^svc_console=svc_[0-9a-f]{32}; Max-Age=(3600|3599); Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const cookie = cookieOf(answer);
    const me = await get(cookie);
    expect(me.body).toMatchObject({ subject_id: 'rita', token: { name: 'console' } });
    const listed = (await api.call('GET', '/api/tokens', { token: rita })).body.tokens;
    expect(listed[0]).toMatchObject({
      id: me.body.token.id,
      provisioning_kind: 'console',
      scope_ceiling: { roles: ['requester', 'approver'] },
      status: 'active',
    });
    const [{ metadata } = { metadata: '' }] = await events('token.created', me.body.token.id);
    expect(JSON.parse(metadata)).toMatchObject({ issued_by: 'rita', issued_for: 'rita', provisioning_kind: 'console' });
  });

  it('says who is signed in and until when (CO-12)', async () => {
    const cookie = await signedIn(api, rita);
    const { status, body } = await session('GET', cookie);
    expect([status, Object.keys(body).toSorted()]).toEqual([
      200,
      ['display_name', 'expires_at', 'permissions', 'roles', 'subject_id', 'version'],
    ]);
    expect(body).toMatchObject({ subject_id: 'rita', roles: ['requester', 'approver'], version: api.services.version });
    expect(Date.parse(body.expires_at)).toBeGreaterThan(Date.now() + 3000_000);
    expect(body.permissions).toContain('request.view');
    expect((await rawCall(api, 'GET', '/api/console/session')).body.code).toBe('auth.missing_token');
  });

  it('ends by signing out, once, with its event; without one there is nothing to do (CO-12)', async () => {
    const cookie = await signedIn(api, rita);
    const { id } = (await get(cookie)).body.token;
    const first = await session('DELETE', cookie);
    expect([first.status, setCookieOf(first)]).toEqual([204, 'svc_console=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict']);
    expect((await get(cookie)).body.code).toBe('auth.invalid_token');
    expect((await session('DELETE', cookie)).status).toBe(204);
    expect((await session('DELETE', 'svc_console=junk')).status).toBe(204);
    expect((await session('DELETE', '')).status).toBe(204);
    expect((await events('token.revoked', id)).map(({ metadata }) => JSON.parse(metadata))).toEqual([
      { issued_for: 'rita', cause: 'signed_out', auth_token_id: id },
    ]);
  });

  it('is never wider than the token that it was made from, and ends no later (CO-11)', async () => {
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const narrow = await tokenOfOwn(rita, { scope_ceiling: { roles: ['approver'] }, expires_at: expiresAt });
    const cookie = await signedIn(api, narrow.token);
    const { body } = await session('GET', cookie);
    expect([body.roles, body.expires_at]).toEqual([['approver'], expiresAt]);
    const refused = await rawCall(api, 'POST', '/api/requests', {
      headers: { cookie, ...fromOwnPage },
      body: { database: 'shop', environment: 'staging', detail: 'select 1' },
    });
    expect([refused.status, refused.body.code]).toEqual([403, 'auth.forbidden']);
    await api.call('DELETE', `/api/tokens/${narrow.id}`, { token: rita });
  });

  it('ends with the token that it was made from, and is listed as ended (CO-11)', async () => {
    const parent = await tokenOfOwn(rita);
    const cookie = await signedIn(api, parent.token);
    const { id } = (await get(cookie)).body.token;
    await api.call('DELETE', `/api/tokens/${parent.id}`, { token: rita });
    expect((await get(cookie)).body).toEqual({ error: 'invalid token', code: 'auth.invalid_token', hint: null });
    const { tokens } = (await api.call('GET', '/api/tokens', { token: rita })).body;
    const ended = tokens.find((token: { id: string }) => token.id === id);
    expect(ended.status).toBe('revoked');
    const again = await api.call('DELETE', `/api/tokens/${id}`, { token: api.tokens.admin });
    expect([again.status, again.body.revoked_at]).toEqual([200, ended.revoked_at]);
    expect(await events('token.revoked', id)).toEqual([]);
    await api.services.database.query('delete from tokens where id = $1', [parent.id]);
    expect(await api.services.database.query('select 1 from tokens where id = $1', [id])).toEqual([]);
  });

  it('ends when its user is suspended, on every server, and stays ended (CO-11, IM-I4)', async () => {
    const token = await api.createUser('sam', { roles: ['requester'] });
    const cookie = await signedIn(api, token);
    const other = await api.another();
    await api.call('POST', '/api/users/sam/suspend', { token: api.tokens.admin });
    for (const { url } of [api, other])
      expect((await rawCall({ url }, 'GET', '/api/me', { headers: { cookie } })).body.code).toBe('auth.invalid_token');
    await api.call('POST', '/api/users/sam/activate', { token: api.tokens.admin });
    expect((await get(cookie)).status).toBe(401);
    await other.close();
  });

  it('of a token of the identity provider has what the provider said, and its end (CO-11, IM-51)', async () => {
    const exp = Math.floor(Date.now() / 1000) + 120;
    const jwt = await key.sign(goodClaims(provider.issuer, { sub: 'olga', groups: ['dba-team'], exp }));
    const direct = (await api.call('GET', '/api/me', { token: jwt })).body;
    const cookie = await signedIn(api, jwt);
    const { body } = await get(cookie);
    expect([body.subject_id, body.groups, body.roles]).toEqual(['olga', ['dba-team'], direct.roles]);
    expect(body.token.expires_at).toBe(new Date(exp * 1000).toISOString());
  });

  it('does not count for the most active tokens of a user (CO-11, IM-16)', async () => {
    const token = await api.createUser('tess', { roles: ['requester'] });
    for (let count = 0; count < 6; count += 1) await signedIn(api, token);
    const made = await api.call('POST', '/api/tokens', { token, body: { subject_id: 'tess', subject_type: 'user' } });
    expect(made.status).toBe(201);
  });

  it('beyond a hundred of one user ends the oldest (CO-11)', async () => {
    const token = await api.createUser('mani', { roles: ['requester'] });
    const oldest = await signedIn(api, token);
    const second = await signedIn(api, token);
    await api.services.database.query(
      `insert into tokens (id, subject_type, subject_id, token_hash, token_prefix, scope_ceiling, provisioning_kind, expires_at, issued_by)
       select gen_random_uuid(), 'user', 'mani', 'x' || n, 'x', '{}', 'console', clock_timestamp() + interval '1 hour', '{"origins":[]}'
       from generate_series(1, 98) as n`,
    );
    await signedIn(api, token);
    expect([(await get(oldest)).status, (await get(second)).status]).toEqual([401, 200]);
  });

  it('lets approve what its token lets approve, and no more: who issued the token stays known (HD-70)', async () => {
    // A user for this test alone, because the reissue revokes her token.
    await api.createUser('vera', { roles: ['approver'], groups: ['dba-team'] });
    const issued = await api.call('POST', '/api/users/vera/reissue-initial-token', { token: api.tokens.admin });
    const asked = await api.call('POST', '/api/requests', {
      token: api.tokens.admin,
      body: {
        database: 'shop',
        environment: 'production',
        operation: 'execute_dml',
        detail: 'update a set b = 1 where c = 2',
        reason: 'x',
      },
    });
    const direct = await api.call('POST', `/api/requests/${asked.body.id}/approve`, { token: issued.body.token });
    const cookie = await signedIn(api, issued.body.token);
    const bySession = await rawCall(api, 'POST', `/api/requests/${asked.body.id}/approve`, {
      headers: { cookie, ...fromOwnPage },
    });
    expect([direct.status, bySession.status, bySession.text]).toEqual([403, 403, direct.text]);
  });
});
