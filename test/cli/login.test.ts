import { lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasBrowser } from '../../cli/open-page.js';
import { waitUntil } from '../../lib/deadline.js';
import { claimsOf, type LoginPlace, openLoginPlace, shownAddress, tomlFor } from './login-place.js';

let place: LoginPlace;
beforeEach(async () => {
  place = await openLoginPlace();
});
afterEach(() => place.close());

const secretsOf = () => place.stored().flatMap(({ token, refresh_token }) => [token, refresh_token ?? '']);

describe('svc login by browser', () => {
  it('leads to a page of the provider, takes its code with PKCE, and prints who the server says one is (CL-40, CL-44)', async () => {
    let callback = '';
    const { code, line, stdout, stderr } = await place.logIn([], async (at) => {
      callback = at;
    });
    expect({ code, line }).toMatchObject({
      code: 0,
      line: { data: { subject_id: 'alice', renews: true, me: { subject_id: 'alice' } } },
    });
    expect(callback).toMatch(/^http:\/\/127\.0\.0\.1:198(3[6-9]|40)\/callback\?code=/);
    const asked = new URL(/^(http:\S+)$/m.exec(stderr)![1]!).searchParams;
    expect(asked.get('code_challenge_method')).toBe('S256');
    expect(asked.get('scope')).toBe('openid profile email offline_access');
    expect([asked.get('state')!.length, asked.get('nonce')!.length, asked.get('code_challenge')!.length]).toEqual([43, 43, 43]);
    expect(place.provider.grants).toEqual(['authorization_code']);
    for (const secret of secretsOf()) expect(stdout + stderr).not.toContain(secret);
  });

  it('keeps the login in a file that nobody else reads, and other commands use it (CL-43)', async () => {
    await place.logIn();
    expect(lstatSync(place.credentials).mode & 0o777).toBe(0o700);
    expect(lstatSync(place.file()).mode & 0o777).toBe(0o600);
    expect(place.stored()).toMatchObject([{ server: place.api.url, subject: 'alice' }]);
    expect((await place.svc(['whoami'])).line.data).toEqual({ subject_id: 'alice' });
    expect(claimsOf(place.api.calls.at(-1)!.headers.authorization!)).toMatchObject({ iss: place.provider.issuer, aud: 'svc' });
    expect(place.provider.grants).toEqual(['authorization_code']);
  });

  it('ends when the person says no, and keeps nothing', async () => {
    const { code, line } = await place.svc(['login', '--no-browser'], {
      started: async ({ stderr }) => {
        const { searchParams } = new URL(await shownAddress(stderr));
        const answer = await fetch(
          `${searchParams.get('redirect_uri')}?error=access_denied&state=${searchParams.get('state')}&iss=${place.provider.issuer}`,
        );
        expect(await answer.text()).toContain('The login has failed');
      },
    });
    expect({ code, line }).toMatchObject({
      code: 1,
      line: { error: { code: 'auth_error', message: expect.stringContaining('access_denied') } },
    });
    expect(() => place.stored()).toThrow();
  });

  it('ends by Ctrl-C with 130, and by its deadline with 124, and listens no more', async () => {
    // Of this process only: another login may take its port at once.
    const listeners = () => process.getActiveResourcesInfo().filter((one) => one === 'TCPServerWrap').length;
    const before = listeners();
    let during = 0;
    const stop = (interrupts: boolean) => ({
      limits: { loginMs: interrupts ? 60_000 : 300 },
      started: async ({ stderr, interrupt }: { stderr(): string; interrupt(): void }) => {
        await shownAddress(stderr);
        during = listeners();
        if (interrupts) interrupt();
      },
    });
    expect(await place.svc(['login', '--no-browser'], stop(true))).toMatchObject({
      code: 130,
      line: { error: { code: 'interrupted' } },
    });
    expect(during).toBe(before + 1);
    await expect.poll(listeners).toBe(before);
    expect(await place.svc(['login', '--no-browser'], stop(false))).toMatchObject({
      code: 124,
      line: {
        error: { code: 'timeout', message: 'login: nobody logged in within 300 ms', hint: `svc --config ${place.config} login` },
      },
    });
    await expect.poll(listeners).toBe(before);
  });

  it('uses browser_url and backchannel_url instead of the addresses of the discovery document', async () => {
    const [before, after] = [`${place.provider.issuer}/auth?prompt=consent`, `${place.api.url}/token`];
    place.api.on('POST /token', { status: 400, body: { error: 'invalid_grant', error_description: 'not \u001b[31mgood' } });
    const more = `browser_url = "${before}"\nbackchannel_url = "${after}"\n`;
    writeFileSync(place.config, tomlFor(place.api.url, place.provider.issuer, more));
    const { line, stderr } = await place.logIn();
    expect(new URL(/^(http:\S+)$/m.exec(stderr)![1]!).searchParams.get('prompt')).toBe('consent');
    expect(line.error.message).toContain('invalid_grant: not \u001b[31mgood');
    expect(stderr).not.toContain('\u001b');
    expect(place.provider.grants).toEqual([]);
  });

  it('is chosen where a page is likely to be seen, else the code (CL-41)', () => {
    expect(hasBrowser({}, 'linux')).toBe(false);
    expect(hasBrowser({ DISPLAY: ':0' }, 'linux')).toBe(true);
    expect(hasBrowser({}, 'darwin')).toBe(true);
    expect(hasBrowser({ SSH_CONNECTION: 'x' }, 'darwin')).toBe(false);
  });
});

describe('svc login by code', () => {
  const quick = { devicePauseMs: 20 };
  const byCode = (agrees: boolean, argv: string[] = []) =>
    place.svc(['login', ...argv], {
      limits: quick,
      started: async ({ stderr }) => place.provider.allowDevice(await shownAddress(stderr), 'alice', agrees),
    });

  it('shows address and code, asks until the person has agreed, and is taken without a browser (CL-41)', async () => {
    const { code, line, stderr } = await byCode(true);
    expect({ code, line }).toMatchObject({ code: 0, line: { data: { subject_id: 'alice', renews: true } } });
    expect(stderr).toMatch(/Open http:\S+\/device in any browser and type the code \w{4}-\w{4}\n/);
    expect(place.provider.grants.at(-1)).toBe('urn:ietf:params:oauth:grant-type:device_code');
    expect((await place.svc(['whoami'])).line.data).toEqual({ subject_id: 'alice' });
  });

  it('ends when the person says no', async () => {
    expect(await byCode(false, ['--device'])).toMatchObject({
      code: 1,
      line: { error: { message: expect.stringContaining('access_denied') } },
    });
  });

  it('goes on while the provider is away, and ends by Ctrl-C', async () => {
    const { code, line } = await place.svc(['login', '--device'], {
      limits: quick,
      started: async ({ stderr, interrupt }) => {
        await shownAddress(stderr);
        place.provider.away = true;
        const asked = () => place.provider.calls.filter((path) => path === '/token').length;
        const before = asked();
        expect(await waitUntil(() => asked() > before + 2, { ms: 5000, everyMs: 5 })).toBe(true);
        interrupt();
      },
    });
    expect({ code, line }).toMatchObject({ code: 130, line: { error: { code: 'interrupted' } } });
  });

  it('asks more slowly when it is told to (CL-41)', async () => {
    const at: number[] = [];
    const { api } = place;
    const answers = ['slow_down', 'slow_down', 'authorization_pending', 'expired_token'];
    const fake = api.url;
    api.on('GET /.well-known/openid-configuration', {
      body: { issuer: fake, token_endpoint: `${fake}/token`, device_authorization_endpoint: `${fake}/device` },
    });
    const started = {
      device_code: 'secret-device-code',
      user_code: 'AB\u001b[2JCD',
      verification_uri: `${fake}/go`,
      expires_in: 600,
      interval: 0.05,
    };
    api.on('POST /device', { body: started });
    api.on('POST /token', () => {
      at.push(performance.now());
      return { status: 400, body: { error: answers.shift() } };
    });
    writeFileSync(place.config, tomlFor(fake, fake));
    const { line, stderr } = await place.svc(['login'], { limits: { devicePauseMs: 100 } });
    expect(line.error).toMatchObject({ code: 'timeout', message: 'login: the code has expired' });
    const pauses = at.slice(1).map((time, index) => Math.round((time - at[index]!) / 50));
    expect(pauses.map((pause, index) => pause >= [3, 5, 5][index]!)).toEqual([true, true, true]);
    expect(stderr).toContain('\\u001b[2J');
    expect(stderr).not.toContain('secret-device-code');
  });
});

it('logs in at several servers, each with a token of its own (CL-06, CL-43)', async () => {
  const { api, provider, home } = place;
  await place.logIn();
  const other = join(home, 'other.toml');
  writeFileSync(other, tomlFor(`${api.url}/second`, provider.issuer));
  api.on('GET /second/api/me', { body: { subject_id: 'alice at the second' } });
  const argv = ['--config', other];
  const before = await place.svc([...argv, 'whoami']);
  expect(before.line.error).toMatchObject({
    code: 'auth_error',
    hint: `svc --config ${other} login`,
    message: `not logged in at ${api.url}/second; only at ${api.url}`,
  });
  expect(api.calls.filter(({ path }) => path.startsWith('/second'))).toEqual([]);
  expect((await place.logIn(argv)).line.data.subject_id).toBe('alice at the second');
  expect(place.stored().map(({ server }) => server)).toEqual([api.url, `${api.url}/second`]);
  await place.svc(['whoami']);
  await place.svc([...argv, 'whoami']);
  const [first, second] = api.calls.slice(-2).map(({ headers }) => headers.authorization);
  expect(first).not.toBe(second);
  expect(readFileSync(place.file(), 'utf8')).toContain(first!.slice(7));
});
