import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { runSvc, type SvcOptions } from './run-svc.js';

const mine = `svc_${'a'.repeat(32)}`;
let api: FakeApi;
let folder: string;
let home: string;
let kept: string;

beforeEach(async () => {
  api = await startFakeApi();
  api.on('GET /api/me', { body: { subject_id: 'alice' } });
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-project-')));
  home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-home-')));
  kept = join(home, 'svc', 'trusted.json');
  project(`[server]\nurl = "${api.url}"\n`);
});
afterEach(() => api.close());

const project = (text: string, where = folder) => writeFileSync(join(where, 'svc.toml'), text);
const run = (argv: string[], options: SvcOptions = {}) =>
  runSvc(argv, {
    directory: folder,
    ...options,
    environment: { XDG_CONFIG_HOME: home, SVC_TOKEN: mine, ...options.environment },
  });
const json = async (argv: string[], options: SvcOptions = {}) => JSON.parse((await run([...argv, '--json'], options)).stdout);
const isSent = async (options: SvcOptions = {}) => {
  const before = api.calls.length;
  await run(['whoami', '--json'], options);
  return api.calls.length > before;
};

describe('svc trust (HD-60)', () => {
  it('asks once on a terminal, keeps the answer for its owner alone, and does not ask again', async () => {
    const first = await run(['whoami'], { terminal: true, stdin: 'y\n' });
    expect(first.code).toBe(0);
    expect(first.stderr).toContain(
      `${folder}/svc.toml names the server ${api.url}, which would get the credential of SVC_TOKEN.`,
    );
    expect(JSON.parse(readFileSync(kept, 'utf8'))).toEqual({
      version: 1,
      trusted: [{ folder, address: api.url, ca: null }],
    });
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, 'svc')).mode & 0o777).toBe(0o700);
    const second = await run(['whoami'], { terminal: true });
    expect([second.code, second.stderr]).toEqual([0, '']);
    expect(api.calls).toHaveLength(2);
  });

  it.each([
    ['no', { terminal: true, stdin: 'n\n' }],
    ['only a line end', { terminal: true, stdin: '\n' }],
    ['the end of its input', { terminal: true, stdin: '' }],
    ['no terminal', { stdin: 'y\n' }],
    ['--yes without a terminal', { environment: { SVC_YES: '1' } }],
    ['a build server', { terminal: true, stdin: 'y\n', environment: { CI: 'true' } }],
  ] as [string, SvcOptions][])('sends nothing on %s', async (_, options) => {
    const { code, stderr } = await run(['whoami'], options);
    expect(code).toBe(1);
    expect(stderr).not.toContain(mine);
    expect(api.calls).toEqual([]);
    expect(existsSync(kept)).toBe(false);
  });

  it('is not answered by --yes, nor asked in json', async () => {
    const silent = await run(['whoami', '--yes'], { terminal: true, stdin: 'n\n' });
    expect(silent.code).toBe(1);
    const line = await json(['whoami'], { terminal: true, stdin: 'y\n' });
    expect(line.error).toMatchObject({ code: 'config_error', hint: expect.stringContaining(`svc trust ${api.url}`) });
    expect(api.calls).toEqual([]);
  });

  it('trusts an address that is named, without a terminal, if it is the one of svc.toml', async () => {
    expect((await json(['trust', 'https://other.example'])).error.code).toBe('config_error');
    expect((await json(['trust', 'nonsense'])).error.code).toBe('usage');
    expect((await json(['trust'])).error).toMatchObject({
      code: 'confirmation_required',
      message: `trust: this lets svc send your credentials to ${api.url}`,
    });
    expect(existsSync(kept)).toBe(false);
    expect((await json(['trust', `${api.url.toUpperCase().replace('HTTP', 'http')}/`])).data).toMatchObject({ trusted: true });
    expect(await isSent()).toBe(true);
  });

  it('asks without an address, and takes --yes', async () => {
    expect((await run(['trust'], { terminal: true, stdin: 'n\n' })).code).toBe(1);
    expect((await run(['trust'], { terminal: true, stdin: 'y\n' })).stdout).toBe(`${api.url} is trusted in ${folder}\n`);
    expect((await json(['trust', '--yes'])).ok).toBe(true);
    expect(JSON.parse(readFileSync(kept, 'utf8')).trusted).toHaveLength(1);
    expect(api.calls).toEqual([]);
  });

  it('lists and forgets', async () => {
    await run(['trust', api.url]);
    expect((await json(['trust', '--list'])).data).toEqual([{ folder, address: api.url, ca: null }]);
    expect((await run(['trust', '--list'])).stdout).toContain(folder);
    expect((await json(['trust', '--list', '--remove'])).error.code).toBe('usage');
    expect((await json(['trust', '--remove', 'https://other.example'])).data).toEqual({ removed: [] });
    expect(await isSent()).toBe(true);
    expect((await json(['trust', '--remove'])).data.removed).toHaveLength(1);
    expect(await isSent()).toBe(false);
  });

  it('says where there is nothing to trust', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'svc-empty-'));
    expect((await json(['trust'], { directory: empty })).error.code).toBe('config_error');
    const homeless = await runSvc(['trust', api.url, '--json'], { directory: folder, environment: { HOME: undefined } });
    expect(JSON.parse(homeless.stdout).error.code).toBe('config_error');
  });
});

describe('trust (HD-60)', () => {
  beforeEach(() => run(['trust', api.url]));

  it('ends when the address changes: host, port, path or scheme', async () => {
    const other = await startFakeApi();
    for (const url of [
      other.url,
      `${api.url}/proxy`,
      api.url.replace('127.0.0.1', 'localhost'),
      api.url.replace('http:', 'https:'),
    ]) {
      project(`[server]\nurl = "${url}"\n`);
      expect((await json(['whoami'])).error.hint, url).toContain('svc trust');
    }
    expect(other.calls).toEqual([]);
    await other.close();
  });

  it('does not depend on how the same address is written', async () => {
    for (const url of [`${api.url}/`, api.url.replace('http', 'HTTP'), api.url.replace('127.0.0.1', '0x7f.1')]) {
      project(`[server]\nurl = "${url}"\n`);
      expect(await isSent(), url).toBe(true);
    }
  });

  it('shows a name of foreign letters as what it is', async () => {
    project('[server]\nurl = "https://gаteway.example"\n');
    expect((await json(['whoami'])).error.hint).toContain('svc trust https://xn--gteway-3nf.example');
  });

  it('holds for one folder: not for one below it, nor for another with the same file', async () => {
    const below = join(folder, 'sub');
    mkdirSync(below);
    project(`[server]\nurl = "${api.url}"\n`, below);
    const copy = mkdtempSync(join(tmpdir(), 'svc-copy-'));
    project(`[server]\nurl = "${api.url}"\n`, copy);
    for (const directory of [below, copy]) expect(await isSent({ directory })).toBe(false);
  });

  it('follows the folder and not the links to it', async () => {
    const links = mkdtempSync(join(tmpdir(), 'svc-links-'));
    const hostile = mkdtempSync(join(tmpdir(), 'svc-hostile-'));
    project(`[server]\nurl = "${api.url}"\n`, hostile);
    symlinkSync(folder, join(links, 'good'));
    symlinkSync(hostile, join(links, 'bad'));
    expect(await isSent({ directory: join(links, 'good') })).toBe(true);
    expect(await isSent({ directory: join(links, 'bad') })).toBe(false);
  });

  it('ends when the project brings another certificate authority', async () => {
    project(`[server]\nurl = "${api.url}"\nca_file = "ca.pem"\n`);
    writeFileSync(join(folder, 'ca.pem'), 'one');
    expect(await isSent()).toBe(false);
    await run(['trust', api.url]);
    expect(await isSent()).toBe(true);
    writeFileSync(join(folder, 'ca.pem'), 'two');
    expect(await isSent()).toBe(false);
  });

  it('does not make a redirect be followed with the credential (CL-06)', async () => {
    const other = await startFakeApi();
    for (const status of [301, 302, 307, 308]) {
      api.on('GET /api/me', { status, headers: { location: `${other.url}/api/me` } });
      expect((await json(['whoami'])).ok).toBe(false);
    }
    expect(other.calls).toEqual([]);
    await other.close();
  });
});

describe('the file of what is trusted (HD-60)', () => {
  const entry = () => JSON.stringify({ version: 1, trusted: [{ folder, address: api.url, ca: null }] });
  const plant = (text: string, mode: number) => {
    mkdirSync(join(home, 'svc'), { recursive: true, mode: 0o700 });
    writeFileSync(kept, text);
    chmodSync(kept, mode);
  };

  it('is used as its owner left it', async () => {
    plant(entry(), 0o600);
    expect(await isSent()).toBe(true);
  });

  it.each([0o602, 0o620, 0o666])('is ignored with mode %o', async (mode) => {
    plant(entry(), mode);
    expect((await json(['whoami'])).error).toMatchObject({
      code: 'config_error',
      message: expect.stringContaining('other users can write to it'),
    });
    expect(api.calls).toEqual([]);
  });

  it('is ignored in a folder that others can write', async () => {
    plant(entry(), 0o600);
    chmodSync(join(home, 'svc'), 0o777);
    expect(await isSent()).toBe(false);
  });

  it.each(['', '{', '[]', '{"version":2,"trusted":[]}', '{"version":1,"trusted":[{"folder":1}]}', 'null'])(
    'is named when it is broken: %j',
    async (text) => {
      plant(text, 0o600);
      for (const argv of [['whoami'], ['trust', api.url], ['trust', '--list'], ['trust', '--remove']])
        expect((await json(argv)).error).toMatchObject({ code: 'config_error' });
      expect(readFileSync(kept, 'utf8')).toBe(text);
      expect(api.calls).toEqual([]);
    },
  );

  it('is named when it cannot be written; an answer then counts once, with a warning', async () => {
    mkdirSync(`${kept}.${process.pid}.new`, { recursive: true });
    expect((await json(['trust', api.url])).error.message).toContain(kept);
    const asked = await run(['whoami'], { terminal: true, stdin: 'y\n' });
    expect([asked.code, api.calls.length]).toEqual([0, 1]);
    expect(asked.stderr).toContain('you will be asked again');
    const blocked = mkdtempSync(join(tmpdir(), 'svc-home-'));
    writeFileSync(join(blocked, 'svc'), 'a file where the folder should be');
    const environment = { XDG_CONFIG_HOME: blocked };
    expect((await json(['trust', api.url], { environment })).error.message).toContain('cannot be');
  });

  it('loses nothing when several trust at once, and a lock left behind is taken over', async () => {
    const folders = Array.from({ length: 8 }, () => realpathSync(mkdtempSync(join(tmpdir(), 'svc-many-'))));
    for (const one of folders) project(`[server]\nurl = "${api.url}"\n`, one);
    const ends = await Promise.all(folders.map((directory) => run(['trust', api.url], { directory })));
    expect(ends.map(({ code }) => code)).toEqual(folders.map(() => 0));
    const { trusted } = JSON.parse(readFileSync(kept, 'utf8'));
    expect(trusted.map((one: { folder: string }) => one.folder).toSorted()).toEqual(folders.toSorted());
    writeFileSync(`${kept}.lock`, '');
    const past = new Date(Date.now() - 60_000);
    utimesSync(`${kept}.lock`, past, past);
    expect((await run(['trust', api.url])).code).toBe(0);
    expect(existsSync(`${kept}.lock`)).toBe(false);
  });
});
