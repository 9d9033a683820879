import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isPrivateHost } from '../../cli/config/address.js';
import { agentToml } from '../../cli/init/agent-toml.js';
import { serverToml } from '../../cli/init/server-toml.js';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { runSvc } from './run-svc.js';
import { paths, runsAtOnce, twoRows } from './samples.js';

const token = (digit: string) => `svc_${digit.repeat(32)}`;
let api: FakeApi;
let directory: string;
let home: string;

beforeEach(async () => {
  api = await startFakeApi();
  api.on('GET /api/me', { body: { subject_id: 'alice' } });
  directory = mkdtempSync(join(tmpdir(), 'svc-cli-'));
  home = mkdtempSync(join(tmpdir(), 'svc-home-'));
  mkdirSync(join(home, 'svc'));
});
afterEach(() => api.close());

const project = (text: string) => writeFileSync(join(directory, 'svc.toml'), text);
const global = (text: string) => writeFileSync(join(home, 'svc', 'config.toml'), text);
const svc = async (argv: string[], environment: Record<string, string> = {}) => {
  const result = await runSvc([...argv, '--json'], { directory, environment: { XDG_CONFIG_HOME: home, ...environment } });
  return { ...result, line: JSON.parse(result.stdout) };
};

/** Layers from low to high; which pairs of address and credential may meet is CL-06. */
const layers = ['global', 'project', 'environment'] as const;

describe('configuration layers', () => {
  for (const [urlRank, urlLayer] of layers.entries())
    for (const [tokenRank, tokenLayer] of layers.entries()) {
      const allowed = tokenRank >= urlRank;
      it(`${allowed ? 'sends' : 'never sends'} a token of the ${tokenLayer} layer to an address of the ${urlLayer} layer (CL-06)`, async () => {
        const file = (layer: string) =>
          `[server]\n${urlLayer === layer ? `url = "${api.url}"\n` : ''}${tokenLayer === layer ? `token = "${token('a')}"\n` : ''}`;
        global(file('global'));
        project(file('project'));
        const environment = {
          ...(urlLayer === 'environment' ? { SVC_SERVER_URL: api.url } : {}),
          ...(tokenLayer === 'environment' ? { SVC_TOKEN: token('a') } : {}),
        };
        if (urlLayer === 'project') await svc(['trust', api.url], environment);
        const { code, line } = await svc(['whoami'], environment);
        expect(code).toBe(allowed ? 0 : 1);
        expect(api.calls).toHaveLength(allowed ? 1 : 0);
        if (!allowed) expect(line.error.code).toBe('config_error');
        expect(JSON.stringify(line)).not.toContain(token('a'));
      });
    }

  it('takes the environment over the project file over the global file (CL-03)', async () => {
    global(`[server]\nurl = "${api.url}"\ntoken = "${token('a')}"\n`);
    project(`[server]\nurl = "${api.url}"\ntoken = "${token('b')}"\n`);
    await svc(['whoami']);
    await svc(['trust', api.url]);
    await svc(['whoami'], { SVC_TOKEN: token('c') });
    expect(api.calls.map((call) => call.headers.authorization)).toEqual([`Bearer ${token('b')}`, `Bearer ${token('c')}`]);
  });

  it('says which variable or file to change when address and credential lie apart (CL-06)', async () => {
    project(`[server]\ntoken = "${token('b')}"\n`);
    const set = await svc(['whoami'], { SVC_SERVER_URL: api.url });
    expect(set.line.error).toMatchObject({
      message: `SVC_SERVER_URL is set, but the token is in ${join(directory, 'svc.toml')}`,
      hint: 'unset SVC_SERVER_URL, or set SVC_TOKEN too',
    });
    global(`[server.oidc]\nissuer = "https://id.example.com"\nclient_id = "svc"\n`);
    project(`[server]\nurl = "${api.url}"\n`);
    const login = await svc(['whoami']);
    expect(login.line.error.message).toMatch(/svc\.toml: server\.url names the server, but the login is in .*config\.toml$/);
    expect(login.line.error.hint).toBe('put the login in the same file as the address, or set SVC_TOKEN');
  });

  it('counts an empty SVC_TOKEN as unset (CL-05)', async () => {
    project(`[server]\nurl = "${api.url}"\ntoken = "${token('b')}"\n`);
    expect((await svc(['whoami'], { SVC_TOKEN: '' })).code).toBe(0);
  });

  it('reads only the named file with --config, the global one too with --merge-global (CL-03)', async () => {
    global(`[server]\ntoken = "${token('a')}"\n`);
    writeFileSync(join(directory, 'other.toml'), `default_database = "x"\n`);
    expect((await svc(['whoami', '--config', 'other.toml'])).line.error.code).toBe('config_error');
    global(`[server]\nurl = "${api.url}"\ntoken = "${token('a')}"\n`);
    expect((await svc(['whoami', '--config', 'other.toml', '--merge-global'])).code).toBe(0);
    expect((await svc(['whoami', '--config', 'missing.toml'])).line.error).toMatchObject({
      code: 'config_error',
      message: 'missing.toml: no such file',
    });
  });

  it('lets a project [server.oidc] switch off a global token (CL-07)', async () => {
    global(`[server]\nurl = "${api.url}"\ntoken = "${token('a')}"\n`);
    project(`[server.oidc]\nissuer = "https://idp.example"\nclient_id = "x"\n`);
    // Somebody else may have written where to log in (HD-60).
    expect((await svc(['whoami'])).line.error).toMatchObject({
      code: 'config_error',
      hint: expect.stringContaining('idp.example'),
    });
    await svc(['trust', api.url]);
    expect((await svc(['whoami'])).line.error).toMatchObject({ code: 'auth_error', hint: 'svc login' });
    expect(api.calls).toHaveLength(0);
  });

  it('reads a token file beside the configuration, trims it, and warns when others can read it (CL-04, CL-07)', async () => {
    const file = join(directory, 'alice');
    writeFileSync(file, `${token('d')}\n`);
    chmodSync(file, 0o600);
    project(`[server]\nurl = "${api.url}"\ntoken_file = "alice"\n`);
    expect((await svc(['whoami'])).line).not.toHaveProperty('warnings');
    expect(api.calls[0]!.headers.authorization).toBe(`Bearer ${token('d')}`);
    chmodSync(file, 0o644);
    expect((await svc(['whoami'])).line.warnings).toHaveLength(1);
  });

  it('expands variables only in values that are used (CL-04)', async () => {
    project(`default_database = "\${NOWHERE}"\n[server]\nurl = "\${SVC_GATE}"\ntoken = "\${SVC_T:-${token('e')}}"\n`);
    await svc(['trust', api.url], { SVC_GATE: api.url });
    expect((await svc(['whoami'], { SVC_GATE: api.url })).code).toBe(0);
    expect((await svc(['whoami'])).line.error).toMatchObject({
      code: 'config_error',
      message: expect.stringContaining('SVC_GATE is not set'),
    });
  });

  it('warns of unknown keys and refuses wrong types and bad TOML without quoting the file (CL-04, CL-02)', async () => {
    project(`colour = 1\n[server]\nurl = "${api.url}"\ntoken = "${token('b')}"\n`);
    expect((await svc(['whoami'])).line.warnings[0]).toContain('unknown key colour');
    project(`defualt_database = "x"\n[server]\nurl = "${api.url}"\ntoken = "${token('b')}"\n`);
    expect((await svc(['whoami'])).line.warnings[0]).toMatch(/unknown key defualt_database \(did you mean default_database\?\)$/);
    project('[server]\nurl = 5\n');
    expect((await svc(['whoami'])).line.error.code).toBe('config_error');
    project(`[server]\ntoken = "${token('f')}" x\n`);
    const { line, stderr } = await svc(['whoami']);
    expect(line.error).toMatchObject({ code: 'config_error', message: expect.stringMatching(/svc\.toml:2:\d+/) });
    expect(JSON.stringify(line) + stderr).not.toContain('ffff');
  });

  it.each([
    [serverToml, 'this is a server.toml, which "svc server" and "svc worker" read'],
    [agentToml, 'this is an agent.toml, which "svc-agent --config" reads'],
  ])('recognises the file of another program that is named with --config', async (text, told) => {
    writeFileSync(join(directory, 'other.toml'), text);
    const { line } = await svc(['whoami', '--config', 'other.toml']);
    expect(line).toMatchObject({ error: { code: 'config_error', message: expect.stringContaining(told) } });
    expect(line).not.toHaveProperty('warnings');
  });

  it('says what is missing: address, credential, both kinds of token, a bad address', async () => {
    expect((await svc(['whoami'])).line.error.code).toBe('config_error');
    expect((await svc(['whoami'], { SVC_SERVER_URL: api.url })).line.error.code).toBe('auth_error');
    project(`[server]\nurl = "${api.url}"\ntoken = "${token('b')}"\ntoken_file = "x"\n`);
    expect((await svc(['whoami'])).line.error.code).toBe('config_error');
    for (const url of ['nonsense', 'ftp://h', 'http://user:pw@localhost', 'http://localhost/?a=1'])
      expect((await svc(['whoami'], { SVC_SERVER_URL: url, SVC_TOKEN: token('a') })).line.error.code).toBe('config_error');
  });

  it('chooses database and environment by option, variable, file, the only one listed (CL-09)', async () => {
    runsAtOnce(api, twoRows);
    const login = { SVC_SERVER_URL: api.url, SVC_TOKEN: token('a') };
    const target = async (argv: string[], environment: Record<string, string> = {}) => {
      await svc(['execute', 'SELECT 1', ...argv], { ...login, ...environment });
      const body = api.bodies(paths.create).at(-1)!;
      return `${body.database}/${body.environment}`;
    };
    project('[databases.shop]\n');
    expect(await target([])).toBe('shop/development');
    project('default_database = "crm"\ndefault_environment = "staging"\n');
    expect(await target([])).toBe('crm/staging');
    expect(await target([], { SVC_DATABASE: 'ledger', SVC_ENV: 'qa' })).toBe('ledger/qa');
    expect(await target(['-d', 'app', '-e', 'production'], { SVC_DATABASE: 'ledger' })).toBe('app/production');
    project('[databases.shop]\n');
    expect((await svc(['execute', 'SELECT 1', '-d', 'other'], login)).line.error.code).toBe('config_error');
    project('');
    expect((await svc(['execute', 'SELECT 1'], login)).line.error.code).toBe('config_error');
  });
});

describe('private hosts, which plain http reaches without a proxy (CL-10)', () => {
  it('are loopback, private addresses and names without a dot', () => {
    const inside = ['localhost', '127.0.0.1', '0.0.0.0', '10.1.2.3', '172.31.0.1', '192.168.1.1', '169.254.1.1', '[::1]'];
    const named = ['[fd00::1]', '[fe80::1]', 'gateway', 'x.svc.cluster.local', 'x.internal'];
    const outside = ['example.com', '8.8.8.8', '172.32.0.1', '[2001:db8::1]', 'internal.example.com', 'localhost.example.com'];
    expect([...inside, ...named].filter((host) => !isPrivateHost(host))).toEqual([]);
    expect([...outside, '[::ffff:8.8.8.8]'].filter(isPrivateHost)).toEqual([]);
  });

  it('are no public IPv4 address (property)', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const [a, b] = address.split('.').map(Number) as [number, number];
        const isPrivate =
          a === 10 || a === 127 || (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168) || (a === 169 && b === 254);
        expect(isPrivateHost(address)).toBe(isPrivate || address === '0.0.0.0');
      }),
    );
  });
});

describe('plain http (CL-08, HD-82)', () => {
  const at = (host: string, more: Record<string, string> = {}) =>
    svc(['whoami'], { SVC_SERVER_URL: `http://${host}:1`, SVC_TOKEN: token('a'), ...more });

  it.each(['gateway.example.com', 'gateway', '10.1.2.3', '192.168.1.1', 'x.internal', '0.0.0.0', '[fd00::1]', 'a.localhost'])(
    'to %s is refused before anything is sent',
    async (host) => {
      const { code, line } = await at(host);
      expect(code).toBe(1);
      expect(line.error).toMatchObject({ code: 'config_error', message: expect.stringContaining('plain http to') });
      expect(line.error.hint).toContain('allow_insecure = true');
    },
  );

  it('goes to this machine, and elsewhere only by a flag, a variable that is true or 1, or the own configuration', async () => {
    const refused = { code: 'config_error', message: expect.stringContaining('plain http to') };
    const tried = { code: 'network_error' };
    expect((await at('127.0.0.1')).line.error).toMatchObject(tried);
    expect((await at('0.0.0.0', { SVC_ALLOW_INSECURE: 'yes' })).line.error).toMatchObject(refused);
    expect((await at('0.0.0.0', { SVC_ALLOW_INSECURE: '1' })).line.error).toMatchObject(tried);
    global('[server]\nallow_insecure = true\n');
    expect((await at('0.0.0.0')).line.error).toMatchObject(tried);
    expect((await at('0.0.0.0', { SVC_ALLOW_INSECURE: 'false' })).line.error).toMatchObject(refused);
    const flag = await runSvc(['whoami', '--json', '--allow-insecure'], {
      directory,
      environment: { SVC_SERVER_URL: 'http://0.0.0.0:1', SVC_TOKEN: token('a') },
    });
    expect(JSON.parse(flag.stdout).error).toMatchObject(tried);
  });

  it('is not allowed by a project file before its address is trusted, not even for its own token (HD-60)', async () => {
    project(`[server]\nurl = "http://0.0.0.0:1"\nallow_insecure = true\ntoken = "${token('b')}"\n`);
    expect((await svc(['whoami'])).line.error).toMatchObject({
      code: 'config_error',
      hint: expect.stringContaining('svc trust'),
    });
    expect((await svc(['trust', 'http://0.0.0.0:1'])).code).toBe(0);
    expect((await svc(['whoami'])).line.error.code).toBe('network_error');
  });
});
