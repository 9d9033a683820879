import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { type FakeProvider, goodClaims, type Key, makeKey, oidcToml, startFakeProvider } from '../support/oidc.js';
import { dbaTeamToml, roleToml } from '../support/toml.js';

let provider: FakeProvider;
let api: TestApi;
let key: Key;
let issuer: string;
beforeAll(async () => {
  provider = await startFakeProvider();
  ({ issuer } = provider);
  key = await makeKey('RS256', 'k1');
  provider.keys(key.jwk);
  const mappings = `[[auth.oidc.role_mappings]]\nclaim = "realm.roles"\nvalue = "boss"\nrole = "admin"\n`;
  api = await startTestApi({ toml: `${shopToml}${roleToml('looker', ['request.view'])}${oidcToml(issuer, mappings)}` });
});
afterAll(async () => {
  await api?.close();
  await provider?.close();
});
let subject = '';
let count = 0;
beforeEach(() => {
  count++;
  subject = `olga-${count}`;
});

const claims = (over: Record<string, unknown> = {}) => goodClaims(issuer, { sub: subject, ...over });
const me = (token: string) => api.call('GET', '/api/me', { token });
const asked = async (over: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  me(await key.sign(claims(over), header));
const events = (type: string, id: string) =>
  api.services.database.query<{ metadata: string; reason: string | null }>(
    `select metadata_json as metadata, reason from audit_events where event_type = $1 and actor_id = $2 order by created_at`,
    [type, id],
  );

describe('a token of the identity provider', () => {
  it('makes the user at the first login, with the default role, and is audited once an hour (IM-33, IM-37, IM-51)', async () => {
    const first = await asked({ name: 'Olga', email: 'olga@example.net' });
    expect(first.body).toMatchObject({
      subject_id: subject,
      subject_type: 'user',
      display_name: 'Olga',
      email: 'olga@example.net',
      source: 'oidc',
      token: null,
      roles: [{ name: 'approver' }],
    });
    await asked();
    const other = await api.another();
    await other.call('GET', '/api/me', { token: await key.sign(claims()) });
    await other.close();
    expect((await events('user.created', subject)).map(({ metadata }) => JSON.parse(metadata))).toEqual([
      { source: 'oidc', roles: [], groups: [] },
    ]);
    expect((await events('auth.login_success', subject)).map(({ metadata }) => JSON.parse(metadata))).toEqual([
      { source: 'oidc' },
    ]);
    const { body } = await api.call('GET', `/api/users/${subject}`, { token: api.tokens.admin });
    expect(body).toMatchObject({ roles: [], groups: [], status: 'active', source: 'oidc', last_seen_at: expect.any(String) });
  });

  it('updates name and e-mail, and takes neither away, nor roles, status or source (IM-33)', async () => {
    await asked({ name: 'Olga', email: 'o@example.net' });
    const { body } = await asked({ name: 'Olga Two', email: 7 });
    expect(body).toMatchObject({ display_name: 'Olga Two', email: 'o@example.net', source: 'oidc' });
    expect((await asked({ name: '\0' })).body.display_name).toBe('Olga Two');
    await api.call('PATCH', `/api/users/${subject}`, { token: api.tokens.admin, body: { add_roles: ['requester'] } });
    expect((await asked()).body.roles).toMatchObject([{ name: 'requester' }]);
  });

  it('gives roles by mappings and groups for this call only (IM-36, IM-51, IM-52)', async () => {
    const { body } = await asked({ realm: { roles: ['x', 'boss'] }, groups: ['dba-team', 3, 'unknown'] });
    expect(body.roles.map(({ name }: { name: string }) => name)).toContain('admin');
    expect(body.groups).toEqual(expect.arrayContaining(['dba-team']));
    expect((await asked({ 'realm.roles': 'boss' })).body.roles).toMatchObject([{ name: 'admin' }]);
    expect((await asked({ groups: 'dba-team' })).body.groups).toEqual(['dba-team']);
    expect((await asked()).body).toMatchObject({ groups: [], roles: [{ name: 'approver' }] });
    expect(dbaTeamToml).toContain('dba-team');
  });

  it('with groups that no text can hold, and with an end that no calendar has, works everywhere (IM-31)', async () => {
    const token = await key.sign(claims({ groups: ['a\0b', 'a\ud800', 'dba-team'], exp: 1e300 }));
    expect((await me(token)).body.groups).toEqual(['dba-team']);
    for (const path of ['/api/requests', '/api/results', '/api/console/session'])
      expect([path, (await api.call('GET', path, { token })).status]).toEqual([path, 200]);
    expect((await api.call('POST', '/api/console/session', { body: { token } })).status).toBe(204);
    expect((await api.call('POST', '/api/console/code', { token })).status).toBe(201);
  });

  it('may approve by a group of its own, but not its own request (IM-52, RQ-9)', async () => {
    const token = await key.sign(claims({ groups: ['dba-team'] }));
    const alice = await api.createUser(`alice-${count}`, { roles: ['requester'] });
    const created = await api.call('POST', '/api/requests', {
      token: alice,
      body: { database: 'shop', environment: 'production', operation: 'execute_select', detail: 'select 1' },
    });
    expect(created.status).toBe(201);
    const approved = await api.call('POST', `/api/requests/${created.body.id}/approve`, { token, body: {} });
    expect([approved.status, approved.body.code]).toEqual([200, undefined]);
    await api.call('PATCH', `/api/users/${subject}`, { token: api.tokens.admin, body: { add_roles: ['requester'] } });
    const own = await api.call('POST', '/api/requests', {
      token,
      body: { database: 'shop', environment: 'production', operation: 'execute_select', detail: 'select 1' },
    });
    expect(own.status).toBe(201);
    expect((await api.call('POST', `/api/requests/${own.body.id}/approve`, { token, body: {} })).status).toBe(403);
  });

  it('is refused on every call once its user is suspended or deleted (IM-35)', async () => {
    const token = await key.sign(claims());
    expect((await me(token)).status).toBe(200);
    await api.call('POST', `/api/users/${subject}/suspend`, { token: api.tokens.admin });
    expect(await me(token)).toMatchObject({ status: 401, body: { code: 'auth.user_suspended' } });
    await api.call('DELETE', `/api/users/${subject}`, { token: api.tokens.admin });
    expect(await me(token)).toMatchObject({ status: 401, body: { code: 'auth.user_suspended' } });
  });

  it('of a subject that is a local user is refused (IM-34)', async () => {
    await api.createUser(subject);
    expect(await asked()).toMatchObject({ status: 401, body: { code: 'auth.oidc_failed' } });
    expect(await asked({ sub: 'admin' })).toMatchObject({ status: 401, body: { code: 'auth.oidc_failed' } });
  });

  it('that comes first a hundred times at once makes one user (IM-I5)', async () => {
    const token = await key.sign(claims());
    const answers = await Promise.all(Array.from({ length: 100 }, () => me(token)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(await events('user.created', subject)).toHaveLength(1);
    expect(await events('auth.login_success', subject)).toHaveLength(1);
  });
});

describe('a token is refused with one text, whatever is wrong with it (IM-6, IM-31, D11)', () => {
  const refused = async (answer: { status: number; body: { code: string; error: string } }) =>
    expect([answer.status, answer.body.code, answer.body.error]).toEqual([401, 'auth.oidc_failed', 'invalid token']);
  const secs = () => Math.floor(Date.now() / 1000);

  it.each<[string, () => Record<string, unknown>]>([
    ['another issuer', () => ({ iss: `${issuer}/` })],
    ['no issuer', () => ({ iss: undefined })],
    ['another audience', () => ({ aud: 'other' })],
    ['no audience', () => ({ aud: [] })],
    ['an audience that only begins so', () => ({ aud: 'svc2' })],
    ['an end of 31 seconds ago', () => ({ exp: secs() - 31 })],
    ['no end', () => ({ exp: undefined })],
    ['an end that is a text', () => ({ exp: String(secs() + 300) })],
    ['a beginning in 40 seconds', () => ({ nbf: secs() + 40 })],
    ['a beginning that is a text', () => ({ nbf: 'now' })],
    ['no subject', () => ({ sub: undefined })],
    ['a subject that is no user id', () => ({ sub: 'olga smith' })],
    ['a subject of another script', () => ({ sub: 'оlga' })],
    ['an empty subject', () => ({ sub: '' })],
    ['a subject that is too long', () => ({ sub: 'o'.repeat(129) })],
  ])('%s', async (_, over) => {
    await refused(await asked(over()));
    expect((await api.call('GET', `/api/users/${subject}`, { token: api.tokens.admin })).status).toBe(404);
  });

  it('but an end and a beginning within 30 seconds pass', async () => {
    expect((await asked({ exp: secs() - 25, nbf: secs() + 25 })).status).toBe(200);
    expect((await asked({ aud: ['x', 'svc'] })).status).toBe(200);
  });

  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

  it('without a signature, or with the public key as a secret', async () => {
    const body = encoded(claims());
    await refused(await me(`${encoded({ alg: 'none', kid: 'k1' })}.${body}.`));
    await refused(await me(`${encoded({ alg: 'none' })}.${body}.`));
    const head = `${encoded({ alg: 'HS256', kid: 'k1' })}.${body}`;
    for (const secret of [JSON.stringify(key.jwk), String(key.jwk.n), ''])
      await refused(await me(`${head}.${createHmac('sha256', secret).update(head).digest('base64url')}`));
  });

  it('with another text than the one that was signed, or none at all', async () => {
    const [head, body, signature] = (await key.sign(claims())).split('.');
    const [, other] = (await key.sign(claims({ sub: 'admin' }))).split('.');
    for (const token of [
      `${head}.${other}.${signature}`,
      `${head}.${body}.`,
      `${head}.${body}`,
      `${head}..${signature}`,
      'eyJ.eyJ.eyJ.eyJ',
    ])
      await refused(await me(token));
    expect((await me(`${encoded([])}.${body}.${signature}`)).body.code).toBe('auth.invalid_token');
    await refused(await me(`eyJ${'A'.repeat(8000)}`));
  });

  it('with keys that the token itself brings, or that are somebody else’s', async () => {
    const stranger = await makeKey('RS256', 'k1');
    await refused(await me(await stranger.sign(claims())));
    const trap = await startFakeProvider();
    trap.keys(stranger.jwk);
    for (const header of [
      ...[{ jwk: stranger.jwk }, { jku: `${trap.issuer}/keys` }, { x5u: `${trap.issuer}/keys` }, { kid: `${trap.issuer}/keys` }],
      ...[{ kid: '../../etc/passwd' }, { kid: "k1' or '1'='1" }, { kid: '__proto__' }, { kid: '' }],
    ])
      await refused(await me(await stranger.sign(claims(), header)));
    expect(trap.calls).toEqual([]);
    await trap.close();
  });

  it('with a critical extension', async () => {
    const [, body] = (await key.sign(claims())).split('.');
    for (const header of [
      { alg: 'RS256', kid: 'k1', crit: ['exp'] },
      { alg: 'RS256', kid: 'k1', crit: [] },
      { alg: 'RS256', kid: 7 },
    ])
      await refused(await me(`${encoded(header)}.${body}.AAAA`));
  });

  it('and what was wrong is in the audit log alone', async () => {
    await asked({ aud: 'other' });
    const [last] = await api.services.database.query<{ metadata: string }>(
      `select metadata_json as metadata from audit_events where event_type = 'auth.failure' order by created_at desc limit 1`,
    );
    expect(JSON.parse(last?.metadata ?? '')).toEqual({ failure_reason: 'jwt_audience', code: 'auth.oidc_failed' });
  });
});

describe('what the configuration says', () => {
  const server = (toml: string) => startTestApi({ toml: `${shopToml}${toml}` });

  it('the free plan has no OIDC, and without the section there is none (IM-30)', async () => {
    for (const toml of [`[auth.oidc]\nissuer = "${issuer}"\nclient_id = "svc"\n`, '']) {
      const own = await server(toml);
      const answer = await own.call('GET', '/api/me', { token: await key.sign(claims()) });
      expect([answer.status, answer.body.code, answer.body.error]).toEqual([
        401,
        'auth.oidc_not_configured',
        'OIDC not configured',
      ]);
      await own.close();
    }
  });

  it('existing users may be linked, the default role switched off, subject and groups read elsewhere, and users limited', async () => {
    const more = 'default_role = ""\nsubject_claim = "email"\ngroups_claim = "org.teams"\nlink_existing_users = true\n';
    const own = await server(oidcToml(issuer, more, { max_users: 3 }));
    const get = async (over: Record<string, unknown>) => own.call('GET', '/api/me', { token: await key.sign(claims(over)) });
    await own.createUser('local@example.net', { roles: ['requester'] });
    expect((await get({ email: 'local@example.net', org: { teams: ['dba-team'] } })).body).toMatchObject({
      subject_id: 'local@example.net',
      source: 'api',
      groups: ['dba-team'],
    });
    expect((await get({ email: 'local@example.net', email_verified: false })).body.code).toBe('auth.oidc_failed');
    expect((await get({ email: 'new@example.net' })).body.code).toBe('auth.no_roles_resolved');
    const over = await get({ email: 'more@example.net' });
    expect([over.status, over.body.code, over.body.error]).toEqual([402, 'plan.limit_exceeded', 'user limit reached: 3']);
    expect((await own.call('GET', '/api/users/more@example.net', { token: own.tokens.admin })).status).toBe(404);
    await own.close();
  });
});

describe('the keys of the provider (IM-32)', () => {
  const another = async (toml: string) => {
    const own = await startTestApi({ toml: `${shopToml}${toml}` });
    return { own, get: async (token: string) => own.call('GET', '/api/me', { token }) };
  };

  it('are fetched once for 200 calls at once, and again for a new kid', async () => {
    const fresh = await startFakeProvider();
    const [old, next] = [await makeKey('ES256', 'old'), await makeKey('EdDSA', 'next')];
    fresh.keys(old.jwk);
    const { own, get } = await another(oidcToml(fresh.issuer));
    const token = await old.sign(goodClaims(fresh.issuer));
    const answers = await Promise.all(Array.from({ length: 200 }, () => get(token)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(fresh.fetches()).toBe(1);
    fresh.keys(old.jwk, next.jwk);
    // Less than a minute after the first fetch.
    expect((await get(await next.sign(goodClaims(fresh.issuer)))).body.code).toBe('auth.oidc_failed');
    expect(fresh.fetches()).toBe(1);
    await own.close();
    await fresh.close();
  });

  it('that were never fetched make it 503, and the provider of another issuer none', async () => {
    const away = await startFakeProvider();
    const { own, get } = await another(oidcToml(away.issuer));
    const token = await key.sign(goodClaims(away.issuer));
    const bad = [
      { status: 500, body: {} },
      { body: 'x'.repeat(2 ** 20 + 1) },
      { body: { issuer: `${away.issuer}/`, jwks_uri: `${away.issuer}/keys` } },
      { status: 302, headers: { location: `${issuer}/.well-known/openid-configuration` }, body: '' },
    ];
    for (const reply of bad.slice(0, 1)) {
      away.on('GET /.well-known/openid-configuration', reply);
      expect(await get(token)).toMatchObject({
        status: 503,
        body: { code: 'service.unavailable', error: 'identity provider unreachable' },
      });
    }
    await own.close();
    for (const reply of bad.slice(1)) {
      away.on('GET /.well-known/openid-configuration', reply);
      const fresh = await another(oidcToml(away.issuer));
      expect((await fresh.get(token)).status).toBe(503);
      await fresh.own.close();
    }
    await away.close();
  });

  it('hold up those who come with a token of the provider alone, while it does not answer', async () => {
    const silent = await startFakeProvider();
    silent.on('GET /keys', { hang: true });
    const { own, get } = await another(oidcToml(silent.issuer));
    const waits = get(await key.sign(goodClaims(silent.issuer)));
    await expect.poll(() => silent.fetches()).toBe(1);
    const others = await Promise.all(Array.from({ length: 20 }, () => get(own.tokens.admin)));
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]));
    await silent.close();
    expect((await waits).body).toMatchObject({ code: 'service.unavailable', error: 'identity provider unreachable' });
    await own.close();
  });

  it('may take longer than the database may, within their own ten seconds', async () => {
    const slow = createServer((_, response) => setTimeout(() => response.end(JSON.stringify({ keys: [key.jwk] })), 4500));
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/keys`;
    const { own } = await another(oidcToml(issuer, `jwks_uri = "${address}"\n`));
    // A call that then needs the database for its own answer: it has the time for that.
    const answer = await own.call('GET', '/api/requests', { token: await key.sign(claims()) });
    expect([answer.status, answer.body]).toMatchObject([200, { requests: [] }]);
    await own.close();
    slow.close();
  });

  it('of one id: the one that fits the algorithm counts, and two that fit are none', async () => {
    const doubled = await startFakeProvider();
    const [first, second] = [await makeKey('ES256', 'same'), await makeKey('ES256', 'same')];
    const other = await makeKey('EdDSA', 'same');
    doubled.keys(first.jwk, other.jwk);
    const told = await another(oidcToml(doubled.issuer));
    for (const one of [first, other])
      expect((await told.get(await one.sign(goodClaims(doubled.issuer)))).status, one.jwk.kty).toBe(200);
    await told.own.close();
    doubled.keys(first.jwk, second.jwk);
    const fresh = await another(oidcToml(doubled.issuer));
    for (const one of [first, second])
      expect((await fresh.get(await one.sign(goodClaims(doubled.issuer)))).body.code).toBe('auth.oidc_failed');
    await fresh.own.close();
    await doubled.close();
  });

  it('may have a fixed address, and each algorithm of the list passes with the key that fits it alone (D11)', async () => {
    const fixed = await startFakeProvider();
    const algorithms = ['RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'EdDSA'];
    const keys = await Promise.all(algorithms.map((alg) => makeKey(alg, alg, alg === 'EdDSA' ? { alg: 'EdDSA' } : {})));
    fixed.keys(...keys.map(({ jwk }) => jwk), { kty: 'oct', k: 'c2VjcmV0', kid: 'oct' }, null, 'x');
    const { own, get } = await another(oidcToml('https://nobody.invalid', `jwks_uri = "${fixed.issuer}/keys"\n`));
    for (const each of keys)
      expect((await get(await each.sign(goodClaims('https://nobody.invalid')))).status, each.jwk.kid).toBe(200);
    const unnamed = await get(await keys[5]!.sign(goodClaims('https://nobody.invalid'), { kid: undefined }));
    expect(unnamed.body.code).toBe('auth.oidc_failed');
    for (const wrong of [
      await keys[0]!.sign(goodClaims('https://nobody.invalid'), { kid: 'PS256' }),
      await keys[5]!.sign(goodClaims('https://nobody.invalid'), { kid: 'ES384' }),
    ])
      expect((await get(wrong)).body.code).toBe('auth.oidc_failed');
    await own.close();
    await fixed.close();
  });
});
