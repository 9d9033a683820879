import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentToml } from '../../cli/init/agent-toml.js';
import { svcToml } from '../../cli/init/svc-toml.js';
import { loadConfig } from '../../config/index.js';
import { BAD_FILES } from './bad-rows.js';
import { errorsOf, load, MINIMAL } from './support.js';

describe('a bad configuration (configuration.md 13)', () => {
  it.each(BAD_FILES)('is refused for %s', (_, added, errors) => {
    expect(errorsOf(MINIMAL + added)).toEqual(errors.map((error) => `server.toml:${error}`));
  });

  it('is refused when there is no file, and when it is a folder', () => {
    expect(loadConfig('/nonexistent/server.toml', {})).toMatchObject({
      ok: false,
      errors: [{ line: 1, column: 1, message: 'there is no such file', hint: 'svc init writes one' }],
    });
    expect(loadConfig('/', {})).toMatchObject({
      ok: false,
      errors: [{ line: 1, column: 1, message: 'cannot be read (it is a folder)' }],
    });
  });

  it('is refused alone for a syntax error, with its place and nothing quoted (CF-62)', () => {
    expect(errorsOf('users = 1\n[database]\nurl = "postgres://svc:hunter2')).toEqual(['server.toml:3:7: unfinished string']);
  });

  it('is refused with advice for a variable without quotes (CF-3, CF-62)', () => {
    const told = (column: number) => [`server.toml:5:${column}: invalid value (a variable needs quotes around it)`];
    expect(errorsOf(`${MINIMAL}[server]\ndrain_secs = \${DRAIN:-20}`)).toEqual(told(14));
    expect(errorsOf(`${MINIMAL}[mcp]\r\nallowed_origins = ["https://a.example", \${B} ]\r\n`)).toEqual(told(41));
  });

  it('is refused with advice for a password that ends the address too early, quoting nothing of it', () => {
    const why = 'cannot be read as an address; in a name or password / is written as %2F, ? as %3F, # as %23, % as %25';
    for (const password of ['hunter/2', 'hunter?2', 'hunter#2'])
      expect(errorsOf(MINIMAL.replace('pw@', `${password}@`))).toEqual([`server.toml:3:7: database.url: ${why}`]);
  });

  it('is refused in one line when it is the file of another program (CF-4)', () => {
    expect(errorsOf(agentToml)).toEqual(['server.toml:1:1: this is an agent.toml, which "svc-agent --config" reads']);
    expect(errorsOf(svcToml)).toEqual(['server.toml:1:1: this is a svc.toml, which "svc" reads for the command line']);
    expect(errorsOf(`${MINIMAL}[server]\nurl = "http://localhost:3000"\n`)).toEqual(['server.toml:5:1: server.url: unknown key']);
  });

  it('names a known key only where one is near (CF-4)', () => {
    const added = '[server]\nport = 3000\nlissten = "127.0.0.1:3000"\n';
    expect(errorsOf(MINIMAL + added)).toEqual([
      'server.toml:5:1: server.port: unknown key',
      'server.toml:6:1: server.lissten: unknown key (did you mean listen?)',
    ]);
  });

  it('is refused for a key file that others can read or that is missing', () => {
    const text = `${MINIMAL}[security]\nsecret_key_file = "svc.key"`;
    const withMode = (mode: number) =>
      load(text, {}, (directory) => {
        writeFileSync(join(directory, 'svc.key'), `${'5e'.repeat(32)}\n`);
        chmodSync(join(directory, 'svc.key'), mode);
      });
    expect(withMode(0o600)).toMatchObject({ ok: true });
    expect(withMode(0o640)).toMatchObject({
      ok: false,
      errors: [{ key: 'security.secret_key_file', message: 'key file is readable by others' }],
    });
    expect(errorsOf(text)).toEqual(['server.toml:5:19: security.secret_key_file: file is missing']);
  });

  it('is refused for a key file that cannot be read, named or not (CF-I1, OP-51)', () => {
    const refused = { ok: false, errors: [{ key: 'security.secret_key_file', message: 'file cannot be read' }] };
    const folder = (directory: string) => void mkdirSync(join(directory, 'svc.key'), { mode: 0o700 });
    expect(load(`${MINIMAL}[security]\nsecret_key_file = "svc.key"`, {}, folder)).toMatchObject(refused);
    const loop = (directory: string) => {
      mkdirSync(join(directory, 'state'));
      symlinkSync('secret.key', join(directory, 'state/secret.key'));
    };
    expect(load(MINIMAL, {}, loop)).toMatchObject(refused);
  });

  it('is refused for a key file that holds no key (ET-22, CF-61)', () => {
    const refused = { ok: false, errors: [{ key: 'security.secret_key_file', message: 'file must hold 64 hex characters' }] };
    for (const content of ['', '5e', `${'5e'.repeat(32)}5e`, `${'5e'.repeat(31)}zz`, ' '.repeat(100_000)])
      expect(load(`${MINIMAL}[security]\nsecret_key_file = "svc.key"`, {}, keyFile('svc.key', content))).toMatchObject(refused);
    expect(load(MINIMAL, {}, keyFile('state/secret.key', 'none'))).toMatchObject(refused);
  });

  it('is refused for a secret key of the wrong length in the environment (ET-22)', () => {
    expect(errorsOf(MINIMAL, { SVC_SECRET_KEY: 'abc' })).toEqual([
      'server.toml:1:1: SVC_SECRET_KEY: environment variable must be 64 hex characters',
    ]);
  });

  it('names the section of a missing key, or the start of the file', () => {
    expect(errorsOf('[database]\npool_max = 5')).toEqual([
      'server.toml:1:1: state_dir: is required',
      'server.toml:1:1: database.url: is required',
    ]);
    expect(errorsOf(`${MINIMAL}[[databases]]\nname = "a"`)).toEqual([
      'server.toml:4:1: databases[0] "a".environments: is required',
    ]);
  });

  it('tells every error at once, in file order, at most 50 (CF-5)', () => {
    const many = Array.from({ length: 60 }, (_, index) => `key${index} = 1`).join('\n');
    const errors = errorsOf(`${MINIMAL}${many}`);
    expect(errors).toHaveLength(50);
    expect(errors[49]).toContain('server.toml:53:1: database.key49: unknown key');
  });
});

const keyFile = (name: string, content: string) => (directory: string) => {
  mkdirSync(join(directory, 'state'));
  writeFileSync(join(directory, name), content, { mode: 0o600 });
};
