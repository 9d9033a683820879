import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { waitUntil } from '../../lib/deadline.js';
import { type LoginPlace, openLoginPlace, past, soon, tomlFor } from './login-place.js';

let place: LoginPlace;
beforeEach(async () => {
  place = await openLoginPlace();
  await place.logIn();
});
afterEach(() => place.close());

const renewals = () => place.provider.grants.filter((grant) => grant.endsWith('refresh_token'));
const bearers = () => place.api.calls.map(({ headers }) => headers.authorization!.slice(7));

it('a login that ends within 5 min is renewed, one that lasts longer is not (CL-43)', async () => {
  const [before] = place.stored();
  const left = Date.parse(before!.expires_at!) - Date.parse(before!.refresh_at!);
  expect(left).toBe(300_000);
  await place.svc(['whoami']);
  expect(renewals()).toEqual([]);
  place.change({ refresh_at: past(), expires_at: soon() });
  expect((await place.svc(['whoami'])).code).toBe(0);
  expect(renewals()).toEqual(['refresh_token']);
  const [after] = place.stored();
  expect(after!.refresh_token).not.toBe(before!.refresh_token);
  expect(Date.parse(after!.refresh_at!)).toBeGreaterThan(Date.now());
  expect(bearers().at(-1)).toBe(after!.token);
});

it('a login of a short life is renewed in the middle of it', async () => {
  const short = await openLoginPlace({ ttl: { IdToken: 200, AccessToken: 200, RefreshToken: 600 } });
  await short.logIn();
  const [login] = short.stored();
  expect(Date.parse(login!.expires_at!) - Date.parse(login!.refresh_at!)).toBe(100_000);
  await short.close();
});

it('twelve processes with an ended login renew it once, and all succeed (CL-I7)', { timeout: 120_000 }, async () => {
  place.change({ refresh_at: past(), expires_at: past() });
  const script = fileURLToPath(new URL('./run-whoami.ts', import.meta.url));
  const environment = { ...process.env, XDG_CONFIG_HOME: place.home };
  const children = Array.from({ length: 12 }, () =>
    spawn(process.execPath, ['--import', 'tsx', script, place.config], { env: environment }),
  );
  expect(await Promise.all(children.map(exitCode))).toEqual(Array(12).fill(0));
  expect(renewals()).toEqual(['refresh_token']);
  expect(new Set(bearers().slice(1))).toEqual(new Set([place.stored()[0]!.token]));
  expect(bearers()).toHaveLength(13);
  expect(readdirSync(place.credentials)).toHaveLength(1);
});

it('calls of one command that come together renew it once', async () => {
  place.change({ refresh_at: past(), expires_at: past() });
  const results = await Promise.all([place.svc(['whoami']), place.svc(['whoami']), place.svc(['whoami'])]);
  expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(renewals()).toEqual(['refresh_token']);
});

it('a lock that a killed process has left holds nobody up', async () => {
  place.change({ refresh_at: past(), expires_at: past() });
  const dead = spawn('true');
  await exitCode(dead);
  writeFileSync(`${place.file()}.lock`, `${dead.pid} 1\n`);
  expect((await place.svc(['whoami'])).code).toBe(0);
  expect(renewals()).toEqual(['refresh_token']);
});

it('a lock that is held for too long is named with its process, and nothing is sent', async () => {
  place.change({ refresh_at: past(), expires_at: past() });
  const holder = spawn('sleep', ['60']);
  writeFileSync(`${place.file()}.lock`, markOf(holder.pid!));
  const { line } = await place.svc(['whoami'], { limits: { loginLockMs: 100 } });
  expect(line.error).toMatchObject({ code: 'auth_error', message: expect.stringContaining(`process ${holder.pid}`) });
  const waiting = place.svc(['whoami'], { started: ({ interrupt }) => void setTimeout(interrupt, 100) });
  expect(await waiting).toMatchObject({ code: 130 });
  holder.kill('SIGKILL');
  expect([renewals(), bearers().length]).toEqual([[], 1]);
});

it('an expired or revoked refresh token ends the login, and svc says what to do', async () => {
  await place.provider.revoke('alice');
  place.change({ refresh_at: past(), expires_at: past() });
  const { code, line } = await place.svc(['whoami']);
  expect({ code, error: line.error }).toEqual({
    code: 1,
    error: {
      code: 'auth_error',
      message: 'whoami: the login has ended: the provider renews it no more',
      hint: `svc --config ${place.config} login`,
    },
  });
  expect(renewals()).toEqual(['refused refresh_token']);
  expect(bearers()).toHaveLength(1);
  expect((await place.logIn()).code).toBe(0);
  expect((await place.svc(['whoami'])).code).toBe(0);
});

it('a login without a refresh token is used to its end, and then there is only a new one', async () => {
  place.change({ refresh_token: null, refresh_at: past(), expires_at: soon() });
  expect((await place.svc(['whoami'])).code).toBe(0);
  place.change({ expires_at: past() });
  expect((await place.svc(['whoami'])).line.error).toMatchObject({
    code: 'auth_error',
    hint: `svc --config ${place.config} login`,
  });
  expect(renewals()).toEqual([]);
});

it('with the provider away a login is used to its end with a warning, and after it the error names the provider', async () => {
  place.change({ refresh_at: past(), expires_at: soon() });
  place.provider.away = true;
  const good = await place.svc(['whoami']);
  expect({ code: good.code, warnings: good.line.warnings }).toEqual({
    code: 0,
    warnings: [
      expect.stringMatching(
        /^the login could not be renewed and ends at .*: whoami: http:\/\/127\.0\.0\.1:\d+: (connection reset|socket hang up)/,
      ),
    ],
  });
  place.change({ expires_at: past() });
  expect((await place.svc(['databases'])).line.error).toMatchObject({
    code: 'network_error',
    hint: expect.stringContaining('identity provider'),
  });
  expect(bearers()).toHaveLength(2);
  place.provider.away = false;
  expect((await place.svc(['whoami'])).code).toBe(0);
});

it('a renewal that is under way when Ctrl-C comes is kept, because its refresh token is spent', async () => {
  const { api } = place;
  const { token } = place.stored()[0]!;
  api.on('POST /token', {
    body: { access_token: 'an-opaque-one', token_type: 'bearer', id_token: token, refresh_token: 'the-next-one' },
  });
  api.on('POST /slow', { hang: true });
  place.change({ refresh_at: past(), expires_at: past(), token_endpoint: `${api.url}/token` });
  const calls = () => api.calls.filter(({ method }) => method === 'POST').length;
  const interruptWhenAsked = async ({ interrupt }: { interrupt(): void }) => {
    const before = calls();
    await waitUntil(() => calls() > before, { ms: 5000, everyMs: 1 });
    interrupt();
  };
  expect((await place.svc(['whoami'], { started: interruptWhenAsked })).code).toBe(130);
  expect(place.stored()[0]!.refresh_token).toBe('the-next-one');
  place.change({ refresh_at: past(), expires_at: past(), token_endpoint: `${api.url}/slow` });
  const started = performance.now();
  expect((await place.svc(['whoami'], { started: interruptWhenAsked, limits: { renewalGraceMs: 200 } })).code).toBe(130);
  expect(performance.now() - started).toBeLessThan(5000);
});

it('settings that have changed since the login need another one, and nothing is sent anywhere', async () => {
  place.change({ refresh_at: past() });
  writeFileSync(place.config, tomlFor(place.api.url, place.provider.issuer, `backchannel_url = "${place.api.url}/token"\n`));
  expect((await place.svc(['whoami'])).line.error).toMatchObject({
    code: 'auth_error',
    hint: `svc --config ${place.config} login`,
    message: expect.stringContaining('[server.oidc] has changed since the login'),
  });
  expect([renewals(), bearers().length]).toEqual([[], 1]);
});

const exitCode = (child: ChildProcess) => new Promise((resolve) => child.once('close', resolve));

/** As a process marks its lock: its id, and the instant of its start as the kernel counts. */
function markOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return `${pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}\n`;
}
