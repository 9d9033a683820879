import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { consolePath } from '../../api/console/oidc.js';
import { sleep } from '../../lib/sleep.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { oidcToml } from '../support/oidc.js';
import { type RealProvider, startRealProvider } from '../support/real-provider.js';
import { type RawAnswer, rawCall } from './console-calls.js';

let provider: RealProvider;
let api: TestApi;
let other: TestApi;
beforeAll(async () => {
  provider = await startRealProvider(['dba-team']);
  api = await startTestApi({ toml: `${shopToml}${oidcToml(provider.issuer)}` });
  other = await api.another();
});
afterAll(async () => {
  await other?.close();
  await api?.close();
  await provider?.close();
});
afterEach(() => {
  provider.away = false;
});

const get = (path: string, cookie = '', where = api) => rawCall(where, 'GET', path, { headers: cookie === '' ? {} : { cookie } });
const start = (query = '', where = api) => get(`/api/console/oidc/start${query}`, '', where);
const cookiesOf = ({ headers }: RawAnswer): string[] => [headers['set-cookie'] ?? []].flat();
const firstCookie = (answer: RawAnswer) => cookiesOf(answer)[0]?.split(';')[0] ?? '';

/** To the provider and back: the cookie that the browser got, and the path that the provider sends it to. */
async function visited(account: string, query = ''): Promise<{ cookie: string; path: string }> {
  const begun = await start(query);
  const back = new URL(await provider.visit(String(begun.headers.location), account));
  return { cookie: firstCookie(begun), path: `${back.pathname}${back.search}` };
}

const isPage = (answer: RawAnswer, status: number, sentence: string) => {
  expect([answer.status, answer.headers['content-type']]).toEqual([status, 'text/html; charset=utf-8']);
  expect(answer.text).toContain(sentence);
  expect(answer.text).toContain(`default-src 'none'`);
  expect(cookiesOf(answer)).toEqual([]);
};
const notBegun = 'This sign-in was not begun in this browser, or too long ago.';
const notSignedIn = 'The identity provider did not sign you in.';

describe('signing in at the identity provider (CO-14)', () => {
  it('leads there bound to the browser, and back to where the person wanted to go, signed in', async () => {
    expect((await get('/api/console/sign-in')).body).toEqual({ oidc: true });
    const begun = await start('?return_to=/console/requests%3Fstatus=pending');
    const to = new URL(String(begun.headers.location));
    expect([begun.status, to.origin, to.searchParams.get('code_challenge_method')]).toEqual([302, provider.issuer, 'S256']);
    expect(to.searchParams.get('redirect_uri')).toBe(`${api.url}/api/console/oidc/callback`);
    for (const name of ['state', 'nonce', 'code_challenge']) expect(to.searchParams.get(name)?.length).toBeGreaterThan(40);
    expect(cookiesOf(begun)).toEqual([
      expect.stringMatching(/^svc_console_login=v2\.\S+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    const back = new URL(await provider.visit(to.href, 'paula'));
    const answer = await get(`${back.pathname}${back.search}`, firstCookie(begun));
    expect([answer.status, answer.headers.location]).toEqual([302, '/console/requests?status=pending']);
    expect(cookiesOf(answer)).toEqual([
      expect.stringMatching(/^svc_console=svc_[0-9a-f]{32}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict$/),
      'svc_console_login=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
    ]);
    const me = await get('/api/me', firstCookie(answer));
    expect(me.body).toMatchObject({ subject_id: 'paula', source: 'oidc', groups: ['dba-team'], token: { name: 'console' } });
  });

  it('may take the provider longer than the database may take', async () => {
    const { cookie, path } = await visited('paula');
    const { codeLogin } = api.services;
    const { finish } = codeLogin;
    codeLogin.finish = async (...args) => {
      await sleep(4200);
      return finish(...args);
    };
    try {
      expect((await get(path, cookie)).status).toBe(302);
    } finally {
      codeLogin.finish = finish;
    }
  });

  it('may come back to another server', async () => {
    const { cookie, path } = await visited('peter');
    const answer = await get(path, cookie, other);
    expect([answer.status, (await get('/api/me', firstCookie(answer))).body.subject_id]).toEqual([302, 'peter']);
  });

  it('is refused without the cookie, with that of another sign-in, and with one that was changed or made elsewhere', async () => {
    const [first, second] = [await visited('paula'), await visited('paula')];
    const changed = `${first.cookie.slice(0, -6)}AAAA==`;
    for (const cookie of [
      '',
      second.cookie,
      changed,
      'svc_console_login=v2.',
      'svc_console_login=x',
      `${first.cookie}; ${first.cookie}`,
    ])
      isPage(await get(first.path, cookie), 400, notBegun);
    isPage(await get('/api/console/oidc/callback', first.cookie), 400, notBegun);
    const stranger = await startTestApi({ toml: `${shopToml}${oidcToml(provider.issuer)}`, secretKey: 'ab'.repeat(32) });
    isPage(await get(first.path, first.cookie, stranger), 400, notBegun);
    await stranger.close();
    expect((await get(first.path, first.cookie)).status).toBe(302);
  });

  it('takes a code once, and no answer but the provider’s own', async () => {
    const { cookie, path } = await visited('paula');
    expect((await get(path, cookie)).status).toBe(302);
    isPage(await get(path, cookie), 400, notSignedIn);
    const next = await visited('paula');
    isPage(await get(next.path.replace(/code=[^&]+/, 'code=forged'), next.cookie), 400, notSignedIn);
    const third = await visited('paula');
    isPage(await get(`${third.path}&code=twice`, third.cookie), 400, notSignedIn);
  });

  it('shows nothing that the provider or the address says', async () => {
    const { cookie, path } = await visited('paula');
    const state = new URL(path, api.url).searchParams.get('state');
    const iss = encodeURIComponent(provider.issuer);
    const refused = `/api/console/oidc/callback?state=${state}&iss=${iss}&error=access_denied&error_description=%3Cscript%3Eevil%3C/script%3E`;
    const answer = await get(refused, cookie);
    isPage(answer, 400, notSignedIn);
    for (const text of ['evil', '<script', 'access_denied', 'paula']) expect(answer.text).not.toContain(text);
  });

  it('lets nobody in whom a call with the token would not', async () => {
    const { cookie, path } = await visited('admin');
    isPage(await get(path, cookie), 403, 'The identity provider knows you, but this gateway does not let you in.');
    const [failure] = await api.services.database.query<{ reason: string }>(
      `select metadata_json::jsonb->>'failure_reason' as reason from audit_events where event_type = 'auth.failure' order by position desc limit 1`,
    );
    expect(failure?.reason).toBe('local_user');
  });

  it('says that the provider is away, and goes on when it is back', async () => {
    const { cookie, path } = await visited('paula');
    provider.away = true;
    const answer = await get(path, cookie);
    isPage(answer, 503, 'The identity provider cannot be reached at the moment.');
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    const fresh = await api.another();
    expect((await start('', fresh)).status).toBe(503);
    provider.away = false;
    expect((await start('', fresh)).status).toBe(302);
    await fresh.close();
  });

  it('counts sign-ins that fail as wrong tokens (OP-33)', async () => {
    const strict = await api.another({
      toml: `${shopToml}${oidcToml(provider.issuer)}[rate_limits]\nauth_failures_per_address = 1\nstore = "memory"\n`,
    });
    const wrong = () => get('/api/console/oidc/callback?state=x&code=y', '', strict);
    expect([(await wrong()).status, (await wrong()).status]).toEqual([400, 429]);
    await strict.close();
  });

  it('is not there without a provider, with the console off, or by plain http from elsewhere', async () => {
    const none = await api.another({ toml: shopToml });
    expect((await get('/api/console/sign-in', '', none)).body).toEqual({ oidc: false });
    const off = await api.another({ toml: `${shopToml}[console]\nenabled = false\n${oidcToml(provider.issuer)}` });
    for (const where of [none, off])
      for (const path of ['/api/console/oidc/start', '/api/console/oidc/callback?state=x'])
        expect((await get(path, '', where)).body.code).toBe('route.not_found');
    const { status, text } = await rawCall(api, 'GET', '/api/console/oidc/start', { headers: { host: 'gateway.example' } });
    expect([status, text.includes('Signing in needs https.')]).toEqual([400, true]);
    await Promise.all([none.close(), off.close()]);
  });
});

describe('where a sign-in leads (CO-14)', () => {
  it.each(['/console/', '/console/requests', '/console/requests/1?x=%2F%2Fevil&y=1'])('keeps %s', (path) => {
    expect(consolePath(path)).toBe(path);
  });

  it.each([
    undefined,
    '',
    '/',
    '/console',
    '/api/me',
    '//evil.example/console/',
    'https://evil.example/console/',
    '/console/../api/me',
    '/console/%2e%2e/api/me',
    '/console/..\\..\\evil',
    '/console/\r\nset-cookie: a=b',
    '/console/\u0000',
    '/console/ä',
    'javascript:alert(1)//console/',
  ])('is the console itself for %j', (path) => {
    expect(consolePath(path)).toBe('/console/');
  });
});
