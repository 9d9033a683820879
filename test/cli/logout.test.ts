import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { claimsOf, type LoginPlace, openLoginPlace, past, tomlFor } from './login-place.js';
import { runSvc, login as withToken } from './run-svc.js';

let place: LoginPlace;
beforeEach(async () => {
  place = await openLoginPlace();
  await place.logIn();
});
afterEach(() => place.close());

const revocations = () => place.provider.calls.filter((path) => path === '/token/revocation').length;

it('svc logout revokes the refresh token at the provider and removes the file (CL-44)', async () => {
  const refresh_token = place.stored()[0]!.refresh_token!;
  const before = place.file();
  expect((await place.svc(['logout'])).line).toEqual({ ok: true, data: { removed: [place.api.url] } });
  expect([existsSync(before), readdirSync(place.credentials)]).toEqual([false, []]);
  expect(revocations()).toBe(1);
  const answer = await fetch(`${place.provider.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'refresh_token', client_id: 'svc', refresh_token }),
  });
  expect(await answer.json()).toMatchObject({ error: 'invalid_grant' });
  expect((await place.svc(['whoami'])).line.error).toMatchObject({
    code: 'auth_error',
    hint: `svc --config ${place.config} login`,
  });
  expect((await place.svc(['logout'])).line).toEqual({ ok: true, data: { removed: [] } });
});

it('a revocation that fails is a warning, and the login is gone here all the same (CL-44)', async () => {
  place.provider.away = true;
  const { code, line } = await place.svc(['logout']);
  expect({ code, line }).toMatchObject({
    code: 0,
    line: { data: { removed: [place.api.url] }, warnings: [expect.stringContaining('could not be revoked at the provider')] },
  });
  expect(readdirSync(place.credentials)).toEqual([]);
});

it('a provider that never answers holds the logout up for a while only', async () => {
  place.change({ revocation_endpoint: `${place.api.url}/slow` });
  place.api.on('POST /slow', { hang: true });
  const { line } = await place.svc(['logout'], { limits: { connectMs: 200 } });
  expect(line).toMatchObject({ ok: true, warnings: [expect.stringContaining('does not answer')] });
});

it('ends one server, or with --all every login of the person', async () => {
  const other = join(place.home, 'other.toml');
  writeFileSync(other, tomlFor(`${place.api.url}/second`, place.provider.issuer));
  place.api.on('GET /second/api/me', ({ headers }) => ({ body: { subject_id: claimsOf(headers.authorization!).sub } }));
  await place.logIn(['--config', other]);
  expect((await place.svc(['logout'])).line.data).toEqual({ removed: [place.api.url] });
  expect(place.stored().map(({ server }) => server)).toEqual([`${place.api.url}/second`]);
  await place.logIn();
  const all = await runSvc(['logout', '--all', '--json'], { environment: { XDG_CONFIG_HOME: place.home } });
  expect(JSON.parse(all.stdout).data.removed.toSorted()).toEqual([place.api.url, `${place.api.url}/second`]);
  expect(readdirSync(place.credentials)).toEqual([]);
});

it('a renewal elsewhere does not bring an ended login back', async () => {
  place.change({ refresh_at: past(), expires_at: past() });
  const [who, out] = await Promise.all([place.svc(['whoami']), place.svc(['logout'])]);
  expect(out.code).toBe(0);
  expect([0, 1]).toContain(who.code);
  expect(readdirSync(place.credentials)).toEqual([]);
});

it('a token goes before a login, and login says so; what asks no provider needs none', async () => {
  const withBoth = await place.svc(['login'], { environment: withToken(place.api.url) });
  expect(withBoth.line.error).toMatchObject({ code: 'config_error', message: 'SVC_TOKEN is used instead of a login' });
  const environment = { XDG_CONFIG_HOME: place.home };
  for (const argv of [['login'], ['logout']]) {
    const { code, stderr } = await runSvc(argv, { environment: { ...environment, SVC_SERVER_URL: place.api.url } });
    expect([code, stderr]).toEqual([1, expect.stringContaining('[server.oidc]')]);
  }
  expect((await place.svc(['login', '--device', '--no-browser'])).line.error.code).toBe('usage');
  expect((await place.svc(['login', '--timeout', '0'])).line.error.code).toBe('usage');
});

it('with the server away whoami tells who was logged in (CL-I3)', async () => {
  await place.api.close();
  const { code, line } = await place.svc(['whoami']);
  expect({ code, data: line.data }).toMatchObject({
    code: 1,
    data: { local: true, subject: 'alice', expires_at: expect.any(String) },
  });
  expect(line.error.code).toBe('network_error');
});

it('a login that the server refuses is not kept, one whose server is away is (CL-44)', async () => {
  await place.svc(['logout']);
  place.api.on('GET /api/me', { status: 401, body: { error: 'invalid token', code: 'auth.oidc_failed', hint: null } });
  expect((await place.logIn()).line.error).toMatchObject({ code: 'auth.oidc_failed', hint: expect.stringContaining('bearer') });
  expect(readdirSync(place.credentials)).toEqual([]);
  place.api.on('GET /api/me', { drop: true });
  expect((await place.logIn()).line.error).toMatchObject({ code: 'network_error', hint: expect.stringContaining('was saved') });
  expect(place.stored()).toHaveLength(1);
  place.api.on('GET /api/me', { status: 401, body: { error: 'invalid token', code: 'auth.oidc_failed', hint: null } });
  expect((await place.svc(['whoami'])).line.error).toMatchObject({
    code: 'auth.oidc_failed',
    hint: `svc --config ${place.config} login`,
  });
});
