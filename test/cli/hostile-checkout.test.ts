import { chmodSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { runSvc } from './run-svc.js';
import { paths, runsAtOnce, twoRows } from './samples.js';

const token = (digit: string) => `svc_${digit.repeat(32)}`;
const mine = token('a');
const theirs = token('b');
const cloudKey = 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY';

let thief: FakeApi;
let checkout: string;
let home: string;

beforeEach(async () => {
  thief = await startFakeApi();
  thief.on('GET /api/me', { body: { subject_id: 'mallory' } });
  runsAtOnce(thief, twoRows);
  checkout = realpathSync(mkdtempSync(join(tmpdir(), 'svc-checkout-')));
  home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-home-')));
  mkdirSync(join(home, 'svc'));
});
afterEach(() => thief.close());

const project = (text: string, folder = checkout) => writeFileSync(join(folder, 'svc.toml'), text);
const secret = (file: string, text: string) => {
  writeFileSync(file, `${text}\n`, { mode: 0o600 });
  return file;
};
const run = async (argv: string[], environment: Record<string, string> = {}, directory = checkout) => {
  const result = await runSvc([...argv, '--json'], { directory, environment: { XDG_CONFIG_HOME: home, ...environment } });
  return { ...result, line: JSON.parse(result.stdout) };
};
/** Everything that arrived at the thief. */
const loot = () => JSON.stringify(thief.calls.map(({ path, query, headers, body }) => [path, [...query], headers, body]));

describe('a hostile checkout (HD-60)', () => {
  it('does not get SVC_TOKEN', async () => {
    project(`[server]\nurl = "${thief.url}"\n`);
    const { code, line } = await run(['whoami'], { SVC_TOKEN: mine });
    expect(thief.calls).toEqual([]);
    expect(code).toBe(1);
    expect(line.error).toMatchObject({ code: 'config_error', hint: expect.stringContaining(`svc trust ${thief.url}`) });
  });

  it.each([
    ['token', `[server]\nurl = "URL"\ntoken = "\${AWS_SECRET_ACCESS_KEY}"\n`, ['-d', 'app']],
    ['url', `[server]\nurl = "URL/\${AWS_SECRET_ACCESS_KEY}"\ntoken = "${theirs}"\n`, ['-d', 'app']],
    ['default_database', `default_database = "\${AWS_SECRET_ACCESS_KEY:-x}"\n[server]\nurl = "URL"\ntoken = "${theirs}"\n`, []],
  ])('does not get a variable of the environment through %s; the error names file and key', async (key, toml, more) => {
    project(toml.replace('URL', thief.url));
    const { code, line, stdout } = await run(['execute', 'SELECT 1', ...more], { AWS_SECRET_ACCESS_KEY: cloudKey });
    expect(loot()).not.toContain(cloudKey);
    expect(stdout).not.toContain(cloudKey);
    expect(code).toBe(1);
    expect(line.error).toMatchObject({ code: 'config_error', message: expect.stringContaining(join(checkout, 'svc.toml')) });
    expect(line.error.message).toContain(key);
    expect(line.error.message).toContain('AWS_SECRET_ACCESS_KEY');
  });

  it('does not get the token of the global file by its path', async () => {
    const file = secret(join(home, 'svc', 'token'), mine);
    secret(join(home, 'svc', 'config.toml'), `[server]\nurl = "https://gate.example.com"\ntoken_file = "token"`);
    symlinkSync(file, join(checkout, 'link'));
    symlinkSync(join(home, 'svc'), join(checkout, 'folder'));
    for (const path of [file, `../${home.split('/').at(-1)}/svc/token`, 'link', 'folder/token', `${checkout}-x/../${file}`]) {
      project(`[server]\nurl = "${thief.url}"\ntoken_file = "${path}"\n`);
      const { line } = await run(['whoami']);
      expect(loot(), path).not.toContain(mine);
      expect(line.error?.code, path).toBe('config_error');
    }
    expect(thief.calls).toEqual([]);
  });

  it('does not get a token of the global file, trusted or not (CL-06)', async () => {
    secret(join(home, 'svc', 'config.toml'), `[server]\ntoken = "${mine}"`);
    project(`[server]\nurl = "${thief.url}"\n`);
    await run(['whoami']);
    await run(['trust', thief.url]);
    expect((await run(['whoami'])).line.error.code).toBe('config_error');
    expect(thief.calls).toEqual([]);
  });

  it('does not get a secret of one line that lies in it and is no token', async () => {
    secret(join(checkout, '.env'), `AWS_SECRET_ACCESS_KEY=${cloudKey}`);
    project(`[server]\nurl = "${thief.url}"\ntoken_file = ".env"\n`);
    expect((await run(['whoami'])).line.error.code).toBe('auth_error');
    expect(thief.calls).toEqual([]);
  });

  it('does not get variables of svc through names that are sent, addresses or defaults', async () => {
    for (const toml of [
      `default_database = "\${SVC_STAGE}"\n[server]\nurl = "URL"\ntoken = "${theirs}"\n`,
      `default_environment = "\${SVC_STAGE:-x}"\n[server]\nurl = "URL"\ntoken = "${theirs}"\n`,
      `[server]\nurl = "URL/\${SVC_STAGE}"\ntoken = "${theirs}"\n`,
      `[server]\nurl = "URL"\ntoken = "\${SVC_MY_TOKEN}"\n`,
    ]) {
      project(toml.replace('URL', thief.url));
      const { line } = await run(['execute', 'SELECT 1', '-d', 'app'], { SVC_STAGE: 'blue', SVC_MY_TOKEN: mine });
      expect(line.error).toMatchObject({ code: 'config_error', hint: expect.stringContaining('svc trust') });
    }
    expect(thief.calls).toEqual([]);
  });

  it('never puts a secret variable of svc anywhere but into its own token', async () => {
    project(`[server]\nurl = "${thief.url}/\${SVC_TOKEN}"\ntoken = "${theirs}"\n`);
    const { line, stdout, stderr } = await run(['trust', `${thief.url}/${mine}`], { SVC_TOKEN: mine });
    expect(line.error.code).toBe('config_error');
    expect(stdout + stderr).not.toContain(mine);
    expect(thief.calls).toEqual([]);
  });

  it('makes completion ask nothing and send nothing', async () => {
    project(`default_database = "\${AWS_SECRET_ACCESS_KEY}"\n[server]\nurl = "${thief.url}"\n`);
    const result = await runSvc(['completion', 'bash'], {
      directory: checkout,
      terminal: true,
      environment: { XDG_CONFIG_HOME: home, SVC_TOKEN: mine, AWS_SECRET_ACCESS_KEY: cloudKey },
    });
    expect(result.code).toBe(0);
    expect(result.stderr).toBe('');
    expect(result.stdout).not.toContain(cloudKey);
    expect(thief.calls).toEqual([]);
  });

  it('knows no key that sets a proxy, and reads no user in its address', async () => {
    project(`https_proxy = "${thief.url}"\n[server]\nproxy = "${thief.url}"\nurl = "http://u:p@127.0.0.1:1"\n`);
    const { line } = await run(['whoami'], { SVC_TOKEN: mine });
    expect(line.warnings).toHaveLength(2);
    expect(line.error.code).toBe('config_error');
    expect(thief.calls).toEqual([]);
  });

  it('does not choose the certificate authority of an address that is not its own', async () => {
    project('[server]\nca_file = "ca.pem"\n');
    writeFileSync(join(checkout, 'ca.pem'), 'theirs');
    const { line } = await run(['whoami'], { SVC_SERVER_URL: 'https://127.0.0.1:1', SVC_TOKEN: mine });
    expect(line.error).toMatchObject({ code: 'config_error', hint: expect.stringContaining('svc trust') });
  });

  it('uses its own token at its own address without a question, and what it names as defaults', async () => {
    secret(join(checkout, 'token'), theirs);
    project(
      `default_database = "app"\ndefault_environment = "\${SVC_STAGE:-qa}"\n[server]\nurl = "${thief.url}"\ntoken_file = "token"\n`,
    );
    expect((await run(['execute', 'SELECT 1'])).code).toBe(0);
    expect(thief.bodies(paths.create)[0]).toMatchObject({ database: 'app', environment: 'qa' });
    expect(thief.calls[0]!.headers.authorization).toBe(`Bearer ${theirs}`);
  });

  it('is trusted where the user names the file or the address: --config, SVC_CONFIG and SVC_SERVER_URL', async () => {
    const outside = secret(join(home, 'outside'), mine);
    writeFileSync(join(checkout, 'my.toml'), `[server]\nurl = "${thief.url}"\ntoken_file = "${outside}"\n`);
    expect((await run(['whoami', '--config', 'my.toml'])).code).toBe(0);
    expect((await run(['whoami'], { SVC_CONFIG: 'my.toml' })).code).toBe(0);
    writeFileSync(join(checkout, 'my.toml'), `[server]\nurl = "\${GATE}"\ntoken = "\${CI_TOKEN}"\n`);
    expect((await run(['whoami', '--config', 'my.toml'], { GATE: thief.url, CI_TOKEN: mine })).code).toBe(0);
    project('default_database = "app"\n');
    expect((await run(['whoami'], { SVC_SERVER_URL: thief.url, SVC_TOKEN: mine })).code).toBe(0);
    chmodSync(outside, 0o600);
  });
});
