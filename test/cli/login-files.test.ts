import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startFakeApi } from '../support/fake-api.js';
import { type LoginPlace, openLoginPlace, past, tomlFor } from './login-place.js';
import { runSvc } from './run-svc.js';

let place: LoginPlace;
beforeEach(async () => {
  place = await openLoginPlace();
});
afterEach(() => place.close());

describe('a file that is not as svc leaves it (CL-43)', () => {
  beforeEach(async () => {
    await place.logIn();
  });
  const error = async (argv = ['whoami']) => (await place.svc(argv)).line.error;

  it('is an error when others may read it or its folder, and no token is sent', async () => {
    for (const mode of [0o644, 0o640, 0o620, 0o604]) {
      chmodSync(place.file(), mode);
      expect(await error()).toMatchObject({ code: 'config_error', hint: expect.stringContaining(`chmod 600 ${place.file()}`) });
      expect((await error(['login'])).code).toBe('config_error');
    }
    chmodSync(place.file(), 0o600);
    chmodSync(place.credentials, 0o755);
    expect(await error()).toMatchObject({
      code: 'config_error',
      hint: expect.stringContaining(`chmod 700 ${place.credentials}`),
    });
    chmodSync(place.credentials, 0o700);
    expect(await error()).toBeUndefined();
    expect(place.api.calls).toHaveLength(2);
  });

  it('is neither read nor written through a link, nor is its folder', async () => {
    const [file, elsewhere] = [place.file(), join(place.home, 'elsewhere')];
    renameSync(file, elsewhere);
    symlinkSync(elsewhere, file);
    expect(await error()).toMatchObject({ code: 'config_error', message: expect.stringContaining('is a link') });
    expect(await error(['login'])).toMatchObject({ code: 'config_error', hint: `rm ${file}` });
    rmSync(file);
    writeFileSync(file, readFileSync(elsewhere), { mode: 0o600 });
    renameSync(place.credentials, `${place.credentials}-moved`);
    symlinkSync(`${place.credentials}-moved`, place.credentials);
    expect(await error()).toMatchObject({ code: 'config_error', message: expect.stringContaining('not a link') });
    expect((await error(['login'])).code).toBe('config_error');
    expect((await error(['logout', '--all'])).code).toBe('config_error');
    expect((await error(['logout'])).code).toBe('config_error');
    expect(existsSync(file)).toBe(true);
    expect(JSON.parse(readFileSync(elsewhere, 'utf8')).logins).toHaveLength(1);
  });

  it.each([
    '',
    '{',
    '[]',
    '{"version":2}',
    '\u0000\u0001',
    '{"version":1,"issuer":"a","client_id":"b","logins":[{"server":"x"}]}',
  ])('is an error when it is %j, which login mends and logout removes', async (text) => {
    const file = place.file();
    writeFileSync(file, text);
    expect(await error()).toMatchObject({
      code: 'config_error',
      hint: `svc --config ${place.config} login replaces it, svc --config ${place.config} logout removes it`,
    });
    const mended = await place.logIn();
    expect(mended).toMatchObject({ code: 0, line: { warnings: [expect.stringContaining('it will be replaced')] } });
    expect((await place.svc(['whoami'])).code).toBe(0);
    writeFileSync(file, text);
    expect((await place.svc(['logout'])).line).toMatchObject({
      ok: true,
      warnings: [expect.stringContaining('nothing was revoked')],
    });
    expect((await error()).code).toBe('auth_error');
  });

  it('is not asked for where nothing can be kept: nobody logs in for nothing', async () => {
    rmSync(join(place.home, 'svc'), { recursive: true });
    writeFileSync(join(place.home, 'svc'), '');
    const before = place.provider.calls.length;
    expect(await error(['login'])).toMatchObject({
      code: 'config_error',
      message: expect.stringContaining('a file stands where a folder should be'),
    });
    expect(place.provider.calls.length).toBe(before);
  });

  it('is a folder or a pipe: an error at once', async () => {
    const file = place.file();
    rmSync(file);
    mkdirSync(file);
    expect((await error()).message).toContain('it is not a regular file');
    rmSync(file, { recursive: true });
    spawnSync('mkfifo', ['-m', '600', file]);
    expect((await error()).message).toContain('it is not a regular file');
  });
});

describe('a svc.toml of somebody else (HD-60)', () => {
  it('leads no login anywhere, and gets none that is stored, before it is trusted with all its addresses', async () => {
    await place.logIn();
    const thief = await startFakeApi();
    const checkout = realpathSync(mkdtempSync(join(tmpdir(), 'svc-checkout-')));
    const found = async (argv: string[], url: string, more = '') => {
      writeFileSync(join(checkout, 'svc.toml'), tomlFor(url, place.provider.issuer, more));
      const result = await runSvc([...argv, '--json'], { directory: checkout, environment: { XDG_CONFIG_HOME: place.home } });
      return JSON.parse(result.stdout);
    };
    const { url } = place.api;
    const stolen = `backchannel_url = "${thief.url}/token"\n`;
    place.change({ refresh_at: past() });
    for (const [address, more] of [[thief.url], [url], [url, stolen]] as const)
      for (const command of ['whoami', 'login']) {
        const { error } = await found([command], address, more);
        expect(error).toMatchObject({ code: 'config_error', message: expect.stringContaining('you do not trust') });
        expect(error.hint).toContain(
          `by a login at ${place.provider.issuer} svc${more === undefined ? '' : ` ${thief.url}/token`}`,
        );
      }
    expect((await found(['trust', url], url)).ok).toBe(true);
    expect((await found(['whoami'], url)).ok).toBe(true);
    expect((await found(['whoami'], url, stolen)).error.code).toBe('config_error');
    expect((await found(['trust', thief.url], thief.url)).ok).toBe(true);
    expect((await found(['whoami'], thief.url)).error.message).toContain(`not logged in at ${thief.url}`);
    expect(thief.calls).toEqual([]);
    await thief.close();
  });
});
