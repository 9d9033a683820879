import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Check } from '../../lib/doctor-checks.js';
import { type Authority, createAuthority } from '../support/certificates.js';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { runSvc, type SvcOptions } from './run-svc.js';

const token = `svc_${'5ec7e7'.repeat(6).slice(0, 32)}`;
const clientIds = [
  ...['config_parse', 'env_vars', 'layer_safety', 'server_url_scheme', 'server_reachable', 'server_ready', 'version_info'],
  ...['auth_configured', 'auth_valid', 'databases_exist', 'workflows_exist', 'agents_online', 'clock_skew'],
];

let api: FakeApi;
let folder: string;
const servers: Server[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-doctor-'));
  api = await startFakeApi();
  const scopes = [{ database: 'shop', environment: 'staging', marker: true }];
  api
    .on('GET /health', { body: { status: 'ok', version: '0.1.0', min_agent_version: '0.0.0' } })
    .on('GET /ready', { body: { status: 'ok', checks: { database: 'ok', temporal: 'ok', worker: 'ok', result_storage: 'ok' } } })
    .on('GET /api/me', { body: { subject_id: 'alice', roles: [{ name: 'requester' }], token: { expires_at: null } } })
    .on('GET /api/databases', { body: { databases: [{ database: 'shop', environment: 'staging', dialect: 'postgresql' }] } })
    .on('GET /api/workflows', { body: { workflows: [{ database: '*', environment: 'staging' }] } })
    .on('GET /api/agents', { body: { agents: [{ id: 'west', status: 'healthy', capabilities: { scopes } }] } });
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    if ('closeAllConnections' in server) (server as ReturnType<typeof createHttpServer>).closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  await api.close();
  rmSync(folder, { recursive: true, force: true });
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

interface Doctored {
  code: number;
  text: string;
  checks: Record<string, Check>;
  summary: Record<string, number>;
}

async function doctor(
  environment: Record<string, string> = {},
  options: Omit<SvcOptions, 'environment'> = {},
): Promise<Doctored> {
  const ran = await runSvc(['doctor', '--json', '--timeout', '2'], {
    directory: folder,
    ...options,
    environment: { SVC_SERVER_URL: api.url, SVC_TOKEN: token, XDG_CONFIG_HOME: join(folder, 'home'), ...environment },
  });
  const line = JSON.parse(ran.stdout);
  expect(line.ok).toBe(ran.code === 0);
  if (ran.code !== 0) expect([ran.code, line.error.code]).toEqual([2, 'doctor_issues_found']);
  expect(ran.stdout + ran.stderr).not.toContain(token);
  const { checks, summary } = line.data as { checks: Check[]; summary: Record<string, number> };
  expect(checks.map(({ id }) => id)).toEqual(clientIds);
  return { code: ran.code, text: ran.stdout, summary, checks: Object.fromEntries(checks.map((check) => [check.id, check])) };
}

const statusOf = ({ checks }: Doctored) => Object.fromEntries(Object.entries(checks).map(([id, { status }]) => [id, status]));
const skippedIn = ({ checks }: Doctored) => Object.values(checks).flatMap(({ id, status }) => (status === 'skip' ? [id] : []));
/** Every check that did not pass says what to do, but a skipped one. */
function expectHints({ checks }: Doctored): void {
  for (const { id, status, hint } of Object.values(checks))
    if (status === 'warn' || status === 'fail') expect(hint, id).toMatch(/\w/);
}

describe('svc doctor (CL-45)', () => {
  it('passes where all is well, in order and without a secret, and sends the token only where it is needed', async () => {
    const found = await doctor();
    expect(found.code).toBe(0);
    expect(new Set(Object.values(statusOf(found)))).toEqual(new Set(['pass']));
    expect(found.summary).toEqual({ passed: 13, warnings: 0, failed: 0, skipped: 0 });
    expect(found.checks.env_vars!.details).toMatchObject({ SVC_TOKEN: 'set', SVC_SERVER_URL: 'set', SVC_CONFIG: 'not set' });
    const credentials = api.calls.map(({ path, headers }) => [path, headers.authorization !== undefined]);
    expect(credentials).toEqual([
      ...[
        ['/health', false],
        ['/ready', false],
      ],
      ...['me', 'databases', 'workflows', 'agents'].map((name) => [`/api/${name}`, true]),
    ]);
  });

  it('prints a line for each check, with what to do next, and counts them', async () => {
    api.on('GET /api/agents', { body: { agents: [] } });
    const environment = { SVC_SERVER_URL: api.url, SVC_TOKEN: token };
    const { code, stdout, stderr } = await runSvc(['doctor'], { directory: folder, environment });
    expect([code, stderr]).toEqual([2, 'error: doctor: 1 check failed\n']);
    expect(stdout).toMatch(/^ok {4}config_parse {13}no svc\.toml here/m);
    expect(stdout).toMatch(/^FAIL {2}agents_online {12}no agent has ever connected\n {31}hint: start svc-agent;/m);
    expect(stdout).toMatch(/\n12 passed, 0 warnings, 1 failed, 0 skipped\n$/);
    expect(await runSvc(['doctor', '--timeout', '0'], { environment })).toMatchObject({ code: 2 });
    expect(await runSvc(['doctor', '--timeout', '61'], { environment })).toMatchObject({ code: 2 });
  });
});

describe('svc doctor finds what is wrong with the files (CL-45)', () => {
  const project = (text: string) => writeFileSync(join(folder, 'svc.toml'), text);
  const home = (text: string) => {
    const file = join(folder, 'config.toml');
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };

  it('broken TOML, and skips all that needs it', async () => {
    project('[server\nurl = 3');
    const found = await doctor();
    expect(found.checks.config_parse).toMatchObject({ status: 'fail', message: expect.stringMatching(/svc\.toml:\d+:\d+: /) });
    expect(found.summary).toMatchObject({ failed: 1, skipped: 12 });
    expect(api.calls).toEqual([]);
  });

  it('an unknown key, a variable that is not set, and one that is misspelt', async () => {
    project(`default_databse = "shop"\ndefault_environment = "\${SVC_WHERE}"\n`);
    const found = await doctor({ SVC_TOEKN: 'x' });
    expect(found.checks.config_parse).toMatchObject({ status: 'warn', message: expect.stringContaining('default_databse') });
    expect(found.checks.env_vars).toMatchObject({ status: 'warn', message: 'a file reads SVC_WHERE: not set' });
    project('');
    const misspelt = await doctor({ SVC_TOKEN: '', SVC_TOEKN: token });
    expect(misspelt.checks.env_vars!.message).toBe('svc does not read SVC_TOEKN (did you mean SVC_TOKEN?)');
    expect(misspelt.checks.auth_configured).toMatchObject({ status: 'fail', hint: expect.stringContaining('token_file') });
    for (const one of [found, misspelt]) expectHints(one);
  });

  it('a token or a file that others can read, a token file that is not there, and what is no token', async () => {
    const file = home(`[server]\nurl = "${api.url}"\ntoken = "${token}"\n`);
    const own = { SVC_SERVER_URL: '', SVC_TOKEN: '', SVC_CONFIG: file };
    expect((await doctor(own)).checks.auth_configured!.status).toBe('pass');
    chmodSync(file, 0o644);
    expect((await doctor(own)).checks.auth_configured).toMatchObject({ status: 'warn', hint: 'chmod 600 the file' });
    writeFileSync(file, `[server]\nurl = "${api.url}"\ntoken_file = "token"\n`);
    const missing = await doctor(own);
    expect(missing.checks.auth_configured).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('does not exist'),
    });
    expect(skippedIn(missing)).toEqual(['auth_valid', 'databases_exist', 'workflows_exist', 'agents_online']);
    expect(missing.checks.server_reachable!.status).toBe('pass');
    writeFileSync(join(folder, 'token'), token, { mode: 0o644 });
    expect((await doctor(own)).checks.auth_configured).toMatchObject({
      status: 'warn',
      message: expect.stringContaining('chmod 600'),
    });
    writeFileSync(join(folder, 'token'), 'two words', { mode: 0o600 });
    expect((await doctor(own)).checks.auth_configured).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('not a valid token'),
      hint: 'a token is one word, such as svc_ and 32 characters',
    });
  });

  it('a credential of another layer, and a server that is not trusted: nothing is sent (CL-06, HD-60)', async () => {
    const file = home(`[server]\ntoken = "${token}"\n`);
    const apart = await doctor({ SVC_CONFIG: file, SVC_TOKEN: '' });
    expect(apart.checks.layer_safety).toMatchObject({ status: 'fail', hint: expect.stringContaining('unset SVC_SERVER_URL') });
    project(`[server]\nurl = "${api.url}"\n`);
    const untrusted = await doctor({ SVC_SERVER_URL: '' });
    expect(untrusted.checks.layer_safety).toMatchObject({
      status: 'fail',
      hint: expect.stringContaining(`svc trust ${api.url}`),
    });
    for (const one of [apart, untrusted]) expect(skippedIn(one)).toContain('server_reachable');
    expect(api.calls).toEqual([]);
  });

  it.each([
    ['', 'no server address'],
    ['gate.example.com', 'not a valid address'],
    ['ftp://gate.example.com', 'not a valid address'],
    ['http://gate.example.com', 'plain http to gate.example.com'],
  ])('the address "%s"', async (address, message) => {
    const found = await doctor({ SVC_SERVER_URL: address });
    expect(found.checks.server_url_scheme).toMatchObject({ status: 'fail', message: expect.stringContaining(message) });
    expect(found.checks.server_reachable!.status).toBe('skip');
  });
});

describe('svc doctor finds what is wrong on the way to the server (CL-45)', () => {
  let authority: Authority;
  let certificates: string;
  beforeAll(() => {
    certificates = mkdtempSync(join(tmpdir(), 'svc-doctor-ca-'));
    authority = createAuthority(certificates, 'own');
  });
  afterAll(() => rmSync(certificates, { recursive: true, force: true }));

  async function tls(host: string, days?: number): Promise<number> {
    authority.issue(host, folder, null, days);
    const [cert, key] = ['cert.pem', 'key.pem'].map((name) => readFileSync(join(folder, name)));
    return listen(createHttpsServer({ cert, key }, (_, response) => void response.end('{"status":"ok","version":"0.1.0"}')));
  }
  /** With the authority in `ca_file`, or without. */
  function at(url: string, ca: boolean): Record<string, string> {
    const file = join(folder, 'own.toml');
    const line = ca ? `ca_file = "${authority.file}"\n` : '';
    writeFileSync(file, `[server]\nurl = "${url}"\ntoken = "${token}"\n${line}`, { mode: 0o600 });
    return { SVC_CONFIG: file, SVC_SERVER_URL: '', SVC_TOKEN: '' };
  }
  const reached = async (environment: Record<string, string>) => {
    const found = await doctor(environment);
    const { status, message, hint } = found.checks.server_reachable!;
    if (status !== 'pass') expect([status, skippedIn(found).length]).toEqual(['fail', 7]);
    expectHints(found);
    return `${message} | ${hint}`;
  };

  it('nothing listens, the name is unknown, nobody answers', async () => {
    expect(await reached({ SVC_SERVER_URL: 'http://127.0.0.1:1' })).toMatch(/connection refused.*is the server running/);
    expect(await reached({ SVC_SERVER_URL: 'https://gate.invalid' })).toMatch(/(unknown host|looked up).*spelling of the host/);
    const port = await listen(createTcpServer((socket) => void socket.resume()));
    expect(await reached({ SVC_SERVER_URL: `http://127.0.0.1:${port}` })).toMatch(/no answer within 2 s.*--timeout waits longer/);
  });

  it('something else answers: another web server, a redirect, a proxy without a server, another protocol', async () => {
    const answers = (status: number, headers: Record<string, string>, body = 'hello') =>
      listen(createHttpServer((_, response) => void response.writeHead(status, headers).end(body)));
    const to = async (port: Promise<number>) => reached({ SVC_SERVER_URL: `http://127.0.0.1:${await port}` });
    expect(await to(answers(404, { server: 'nginx' }))).toMatch(
      /something else answers at .* \(status 404, nginx\).*check host, port/,
    );
    expect(await to(answers(200, {}, '<html>'))).toMatch(/something else answers/);
    expect(await to(answers(301, { location: 'https://elsewhere.example.com/' }))).toMatch(
      /sends callers on to https:\/\/elsewhere.*right address/,
    );
    expect(await to(answers(502, {}))).toMatch(/reaches no server behind it \(status 502\).*svc server running/);
    expect(await to(answers(404, { 'x-svc-version': '0.1.0' }))).toMatch(/not under this path \(status 404\).*correct the path/);
    expect(await to(answers(400, {}, 'The plain HTTP request was sent to HTTPS port'))).toMatch(/speaks TLS only.*write https/);
    const ssh = listen(
      createTcpServer(
        (socket) =>
          void socket
            .on('error', () => {})
            .resume()
            .write('SSH-2.0-OpenSSH_9.6\r\n'),
      ),
    );
    expect(await to(ssh)).toMatch(/does not speak HTTP.*something else listens there/);
  });

  it('a certificate of an unknown authority, of another host, or expired; no TLS where https is asked, TLS where it is not', async () => {
    const good = await tls('127.0.0.1');
    expect(await reached(at(`https://127.0.0.1:${good}`, true))).toMatch(/^https:\/\/127\.0\.0\.1:\d+ /);
    expect(await reached(at(`https://127.0.0.1:${good}`, false))).toMatch(/certificate is not trusted.*ca_file/);
    expect(await reached({ SVC_SERVER_URL: `http://127.0.0.1:${good}` })).toMatch(/could not reach.*https:\/\//);
    const other = await tls('gate.example.com');
    expect(await reached(at(`https://127.0.0.1:${other}`, true))).toMatch(/certificate is of another host.*host name that/);
    const old = await tls('127.0.0.1', -1);
    expect(await reached(at(`https://127.0.0.1:${old}`, true))).toMatch(/certificate has expired.*renew/);
    expect(await reached({ SVC_SERVER_URL: api.url.replace('http', 'https') })).toMatch(/has no TLS.*http:\/\//);
    writeFileSync(join(folder, 'own.toml'), `[server]\nurl = "https://127.0.0.1:1"\ntoken = "${token}"\nca_file = "none.pem"\n`, {
      mode: 0o600,
    });
    const own = { SVC_CONFIG: join(folder, 'own.toml'), SVC_SERVER_URL: '', SVC_TOKEN: '' };
    expect((await doctor(own)).checks.server_reachable!.message).toMatch(/ca_file: .* cannot be read \(no such file or folder\)/);
  });

  it('a proxy that is away or refuses, which is named without its password', async () => {
    const refusing = createHttpServer();
    refusing.on('connect', (_, socket) => socket.end('HTTP/1.1 407 No\r\n\r\n'));
    const port = await listen(refusing);
    const SVC_SERVER_URL = 'https://gate.example.com';
    const refused = await reached({ SVC_SERVER_URL, HTTPS_PROXY: `http://u:proxy-secret@127.0.0.1:${port}` });
    expect(refused).toMatch(/through the proxy 127\.0\.0\.1:\d+ \(the proxy answered 407\).*check the proxy/);
    const away = await doctor({ SVC_SERVER_URL, HTTPS_PROXY: 'http://u:proxy-secret@127.0.0.1:1' });
    expect(away.checks.server_reachable!.message).toMatch(/through the proxy 127\.0\.0\.1:1 \(connection refused\)/);
    expect(refused + away.text).not.toContain('proxy-secret');
  });
});

describe('svc doctor finds what is wrong behind the address (CL-45)', () => {
  it.each([
    [503, { status: 'unavailable', checks: { database: 'unavailable', temporal: 'ok' } }, 'fail', 'database unavailable'],
    [200, { status: 'degraded', checks: { database: 'ok', worker: 'not_seen' } }, 'warn', 'worker not_seen'],
    [503, { status: 'draining', code: 'service.draining' }, 'fail', 'draining'],
    [503, 'no JSON', 'fail', 'status 503'],
  ])('a server that is not ready (%i, %j)', async (status, body, expected, message) => {
    api.on('GET /ready', { status, body });
    const found = await doctor();
    expect(found.checks.server_ready).toMatchObject({ status: expected, message: expect.stringContaining(message) });
    expect(found.checks.auth_valid!.status).toBe('pass');
    expectHints(found);
  });

  it.each([
    [401, 'auth.invalid_token', 'is wrong, was revoked'],
    [401, 'auth.token_expired', 'has expired'],
    [403, 'auth.user_suspended', 'svc user activate'],
    [403, 'auth.forbidden', 'the token of a user'],
  ])('a token that the server refuses (%i %s)', async (status, code, hint) => {
    api.on('GET /api/me', { status, body: { error: 'refused', code, hint: null } });
    const found = await doctor();
    expect(found.checks.auth_valid).toMatchObject({ status: 'fail', message: 'refused', hint: expect.stringContaining(hint) });
    expect(skippedIn(found)).toEqual(['databases_exist', 'workflows_exist', 'agents_online']);
  });

  it('another version, a clock that is off, a token that ends soon, a person without a role', async () => {
    api.on('GET /health', { body: { status: 'ok', version: '0.0.9' } });
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    api.on('GET /api/me', { body: { subject_id: 'alice', roles: [{ name: 'requester' }], token: { expires_at: soon } } });
    const found = await doctor({}, { now: () => Date.now() - 120_000 });
    expect(found.checks.version_info).toMatchObject({ status: 'warn', hint: expect.stringContaining('upgrade the server') });
    expect(found.checks.clock_skew).toMatchObject({
      status: 'warn',
      message: expect.stringMatching(/1[12]\d s behind the server's/),
    });
    expect(found.checks.auth_valid).toMatchObject({ status: 'warn', hint: expect.stringContaining('svc token create') });
    expect(found.code).toBe(0);
    api.on('GET /api/me', { body: { subject_id: 'alice', roles: [], token: null } });
    expect((await doctor()).checks.auth_valid).toMatchObject({ status: 'warn', message: 'you are alice, without a role' });
  });

  it('a database that is misspelt, none at all, a pair without a workflow', async () => {
    const none = await doctor({ SVC_DATABASE: 'shop' });
    expect(none.checks.databases_exist!.status).toBe('pass');
    const missing = await doctor({}, { directory: folder });
    expect(missing.code).toBe(0);
    writeFileSync(join(folder, 'svc.toml'), 'default_database = "shpo"\n');
    expect((await doctor()).checks.databases_exist).toMatchObject({ status: 'fail', hint: 'you see shop; check the spelling' });
    writeFileSync(join(folder, 'svc.toml'), 'default_environment = "prod"\n');
    expect((await doctor()).checks.databases_exist!.message).toContain('has the environment prod');
    rmSync(join(folder, 'svc.toml'));
    api.on('GET /api/workflows', { body: { workflows: [] } });
    expect((await doctor()).checks.workflows_exist).toMatchObject({
      status: 'warn',
      message: expect.stringContaining('shop/staging'),
    });
    api.on('GET /api/databases', { body: { databases: [] } });
    expect((await doctor()).checks.databases_exist!.status).toBe('fail');
  });

  it('agents that are away, that do not serve a pair, unscoped and doubled ones (HD-10, AG-13)', async () => {
    const agent = (more: object) => ({
      body: { agents: [{ id: 'west', status: 'healthy', capabilities: { scopes: [] }, ...more }] },
    });
    api.on('GET /api/agents', agent({ status: 'offline' }));
    expect((await doctor()).checks.agents_online).toMatchObject({ status: 'fail', message: 'no agent is connected' });
    api.on('GET /api/agents', agent({ unscoped: true, duplicate_instances: true }));
    const { message, hint } = (await doctor()).checks.agents_online!;
    for (const part of ['no agent serves shop/staging', 'two processes use the token of west', 'may serve every database'])
      expect(message).toContain(part);
    for (const part of ['start an agent', 'its own token', 'replace it with']) expect(hint).toContain(part);
  });

  it('lists that the caller may not see are no fault', async () => {
    const forbidden = { status: 403, body: { error: 'forbidden', code: 'auth.forbidden', hint: null } };
    for (const name of ['workflows', 'agents']) api.on(`GET /api/${name}`, forbidden);
    const found = await doctor();
    expect([found.code, skippedIn(found)]).toEqual([0, ['workflows_exist', 'agents_online']]);
  });

  it('texts of a hostile server are cut and steer no terminal', async () => {
    const bad = `\u001b[2J\u202e${'x'.repeat(5000)}`;
    api
      .on('GET /health', { body: { status: 'ok', version: bad } })
      .on('GET /ready', { status: 503, body: { status: bad, checks: { database: bad } } })
      .on('GET /api/me', { body: { subject_id: bad, roles: [{ name: bad }], token: { expires_at: bad } } })
      .on('GET /api/databases', { body: { databases: Array(2000).fill({ database: bad, environment: bad }) } })
      .on('GET /api/agents', { body: { agents: [{ id: bad, status: bad, unscoped: true, capabilities: { scopes: [] } }] } });
    const { stdout, stderr } = await runSvc(['doctor'], { environment: { SVC_SERVER_URL: api.url, SVC_TOKEN: token } });
    expect(stdout + stderr).not.toMatch(/[\u001b\u202e]/);
    expect(stdout.length).toBeLessThan(20_000);
  });
});
