import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { cookieOf, fromOwnPage, rawCall, setCookieOf, signedIn } from './console-calls.js';

let api: TestApi;
let behind: TestApi;
let rita: string;
let cookie: string;
beforeAll(async () => {
  api = await startTestApi();
  behind = await api.another({ toml: `trusted_proxies = ["127.0.0.1"]\n${shopToml}` });
  rita = await api.createUser('rita', { roles: ['requester'] });
  cookie = await signedIn(api, rita);
});
afterAll(async () => {
  await behind?.close();
  await api?.close();
});

const signIn = (headers: Record<string, string>, token: unknown = rita, where = api) =>
  rawCall(where, 'POST', '/api/console/session', { headers, body: { token } });
const me = (headers: Record<string, string | string[]>, where = api) => rawCall(where, 'GET', '/api/me', { headers });
const create = (headers: Record<string, string>) =>
  rawCall(api, 'POST', '/api/requests', {
    headers: { cookie, ...headers },
    body: { database: 'shop', environment: 'staging', detail: 'select 1', reason: 'x' },
  });
const value = () => cookie.slice('svc_console='.length);

describe('signing in', () => {
  it.each([
    ['an unknown token', () => `svc_${'0'.repeat(32)}`, 401, 'auth.invalid_token'],
    ['a text that is no token', () => 'password', 401, 'auth.invalid_token'],
    ['control characters', () => `${rita}\r\nset-cookie: a=b`, 401, 'auth.invalid_token'],
    ['a JWT without a provider', () => 'eyJhbGciOiJub25lIn0.e30.', 401, 'auth.oidc_not_configured'],
    ['the token of a session', () => value(), 401, 'auth.invalid_token'],
    ['an agent token', () => api.tokens.agent, 403, 'auth.forbidden'],
    ['nothing', () => '', 400, 'validation.failed'],
    ['no text', () => 5, 400, 'validation.failed'],
    ['too long a text', () => 'a'.repeat(8193), 400, 'validation.failed'],
  ])('with %s is refused as a call with it would be, and sets no cookie (CO-10)', async (_what, token, status, code) => {
    const answer = await signIn(fromOwnPage, token());
    expect([answer.status, answer.body.code, setCookieOf(answer)]).toEqual([status, code, '']);
  });

  it('with what has ended says so as a call does, and counts as a failure (CO-10, IM-7)', async () => {
    const token = await api.createUser('ended', { roles: ['requester'] });
    await api.services.database.query(
      `update tokens set expires_at = clock_timestamp() - interval '1 s' where subject_id = 'ended'`,
    );
    expect((await signIn({}, token)).body.code).toBe('auth.token_expired');
    await api.services.database.query(`update tokens set expires_at = null where subject_id = 'ended'`);
    await api.services.database.query(`update users set status = 'suspended' where id = 'ended'`);
    expect((await signIn({}, token)).body.code).toBe('auth.user_suspended');
    const failures = await api.services.database.query<{ count: string }>(
      `select count(*)::text as count from audit_events where event_type = 'auth.failure' and actor_id = 'ended'`,
    );
    expect(failures[0]?.count).toBe('2');
  });

  it('too often with wrong tokens is 429, as for calls (CO-10, OP-33)', async () => {
    const strict = await api.another({ toml: `${shopToml}[rate_limits]\nauth_failures_per_address = 2\nstore = "memory"\n` });
    const wrong = () => signIn({}, `svc_${'1'.repeat(32)}`, strict);
    expect([(await wrong()).status, (await wrong()).status, (await wrong()).status]).toEqual([401, 401, 429]);
    await strict.close();
  });

  it('from the page of another site is refused, so that nobody is signed in as somebody else (CO-13)', async () => {
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ])
      expect((await signIn(headers)).body).toMatchObject({ code: 'auth.forbidden', hint: 'cross-site call' });
    const form = await rawCall(api, 'POST', '/api/console/session', {
      headers: { 'content-type': 'text/plain' },
      body: `{"token":"${rita}"}`,
    });
    expect(form.status).toBe(415);
  });

  it.each([
    'gateway.example',
    'gateway.example:3000',
    '10.0.0.1',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '[::1',
    'a@127.0.0.1',
  ])('by plain http at the host %j is 400 and says to use https (CO-11)', async (host) => {
    const answer = await signIn({ ...fromOwnPage, host });
    expect([answer.status, answer.body.code, answer.body.hint, setCookieOf(answer)]).toEqual([
      400,
      'validation.failed',
      expect.stringContaining('https'),
      '',
    ]);
  });

  it.each(['localhost', 'localhost:3000', '127.0.0.1', '127.0.0.2:1', '[::1]:3000'])(
    'works at the loopback host %s (CO-11)',
    async (host) => {
      expect((await signIn({ ...fromOwnPage, host })).status).toBe(204);
    },
  );

  it('takes the word of a trusted proxy, and of nobody else, that the browser came by https (CO-11)', async () => {
    const headers = { ...fromOwnPage, host: 'gateway.example', 'x-forwarded-proto': 'https' };
    const secure = await signIn(headers, rita, behind);
    expect(setCookieOf(secure)).toMatch(
      /^__Host-svc_console=svc_[0-9a-f]{32}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    );
    expect((await signIn(headers)).status).toBe(400);
    for (const proto of ['http', 'https, http', 'http, https', '', 'httpsx'])
      expect((await signIn({ ...headers, 'x-forwarded-proto': proto }, rita, behind)).status).toBe(400);
    const at = { host: 'gateway.example', 'x-forwarded-proto': 'https' };
    expect((await me({ ...at, cookie: cookieOf(secure) }, behind)).status).toBe(200);
    // What a page below the same domain could set counts for nothing there.
    expect((await me({ ...at, cookie: cookieOf(secure).replace('__Host-', '') }, behind)).body.code).toBe('auth.missing_token');
    expect((await me({ host: 'gateway.example', cookie: cookieOf(secure) }, behind)).body.code).toBe('auth.missing_token');
  });

  it('is by https where the public address is (CO-11)', async () => {
    const open = await api.another();
    Object.assign(open.services, {
      config: () => ({ ...open.config, server: { ...open.config.server, publicUrl: 'https://g.example/x' } }),
    });
    const answer = await signIn({ origin: 'https://g.example', host: '10.1.2.3' }, rita, open);
    expect(setCookieOf(answer)).toMatch(/^__Host-svc_console=.*; Secure$/);
    await open.close();
  });
});

describe('a call by cookie', () => {
  it('may read, and change only from a page of the server itself (CO-13)', async () => {
    expect((await me({ cookie, 'sec-fetch-site': 'cross-site', origin: 'null' })).status).toBe(200);
    const own = new URL(api.url).host;
    for (const headers of [fromOwnPage, { origin: `http://${own}` }]) expect((await create(headers)).status).toBe(201);
    for (const headers of [
      {},
      { origin: 'null' },
      { origin: `https://${own}` },
      { origin: 'http://127.0.0.1:1' },
      { origin: `http://${own}.evil.example` },
      { origin: `http://${own}`, 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'same-origin, cross-site' },
    ]) {
      const { status, body } = await create(headers);
      expect([status, body]).toEqual([403, { error: 'forbidden', code: 'auth.forbidden', hint: 'cross-site call' }]);
    }
    for (const method of ['PATCH', 'DELETE', 'PUT'])
      expect((await rawCall(api, method, '/api/users/rita', { headers: { cookie } })).body.hint).toBe('cross-site call');
    expect((await rawCall(api, 'DELETE', '/api/console/session', { headers: { cookie } })).body.hint).toBe('cross-site call');
    expect((await me({ cookie })).status).toBe(200);
  });

  it('counts only below /api/ (CO-13)', async () => {
    const admin = await signedIn(api, api.tokens.admin);
    for (const path of ['/metrics', '/mcp', '/openapi.json', '/docs', '/nothing', '//api/me', '/API/me'])
      expect((await rawCall(api, 'GET', path, { headers: { cookie: admin } })).body.code).toBe('auth.missing_token');
    expect((await rawCall(api, 'POST', '/mcp', { headers: { cookie: admin, ...fromOwnPage }, body: {} })).status).toBe(401);
    const poll = await rawCall(api, 'POST', '/api/agent/poll', { headers: { cookie: admin, ...fromOwnPage }, body: {} });
    expect(poll.body.error).toBe('agent token required');
  });

  it('loses to an Authorization header of any kind (CO-13)', async () => {
    const other = await api.createUser('otto', { roles: ['requester'] });
    expect((await me({ cookie, authorization: `Bearer ${other}` })).body.subject_id).toBe('otto');
    for (const authorization of ['Bearer svc_00000000000000000000000000000000', 'Basic YTpi', 'Bearer ', ''])
      expect((await me({ cookie, authorization })).status).toBe(401);
    expect((await me({ cookie, authorization: [`Bearer ${other}`, `Bearer ${other}`] })).status).toBe(401);
  });

  it('takes the token of a session only, and that token counts nowhere else (CO-13)', async () => {
    expect((await me({ cookie: `svc_console=${rita}` })).body.code).toBe('auth.invalid_token');
    expect((await me({ authorization: `Bearer ${value()}` })).body.code).toBe('auth.invalid_token');
    expect((await rawCall(api, 'GET', '/metrics', { headers: { authorization: `Bearer ${value()}` } })).status).toBe(401);
    expect((await me({ cookie: `svc_console=${api.tokens.agent}` })).status).toBe(401);
    expect((await me({ cookie: 'svc_console=eyJhbGciOiJub25lIn0.e30.' })).status).toBe(401);
  });

  it('with two cookies of the name, or a broken one, is 401 and loses the cookie (CO-13)', async () => {
    for (const sent of [
      `${cookie}; ${cookie}`,
      `${cookie}; svc_console=x`,
      'svc_console=',
      `svc_console="${value()}"`,
      `svc_console=${value()}x`,
      `svc_console=${value().toUpperCase()}`,
    ]) {
      const answer = await me({ cookie: sent });
      expect([answer.status, answer.body.code, setCookieOf(answer)]).toEqual([
        401,
        'auth.invalid_token',
        'svc_console=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict',
      ]);
    }
    const among = await me({ cookie: `a=b;svc_console_x=1;${cookie} ; xsvc_console=2` });
    expect(among.status).toBe(200);
  });

  it('is none at all by plain http from elsewhere (CO-11)', async () => {
    expect((await me({ cookie, host: 'gateway.example' })).body.code).toBe('auth.missing_token');
  });
});

it('with the console off nobody signs in, and no cookie counts (CO-10)', async () => {
  const off = await api.another({ toml: `${shopToml}[console]\nenabled = false\n` });
  expect((await signIn(fromOwnPage, rita, off)).body.code).toBe('route.not_found');
  expect((await me({ cookie }, off)).body.code).toBe('auth.missing_token');
  const answers = await Promise.all(
    ['GET', 'DELETE'].map((method) =>
      rawCall(off, method, '/api/console/session', { headers: { authorization: `Bearer ${rita}`, ...fromOwnPage } }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual([404, 404]);
  await off.close();
});
