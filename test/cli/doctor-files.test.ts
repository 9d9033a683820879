import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Check } from '../../lib/doctor-checks.js';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { connectEmptyDatabase } from '../support/postgres.js';
import { runSvc } from './run-svc.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-doctor-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const secret = 'hunter2-not-to-be-told';

/** Checks by id; those of each database as `id shop/staging`. */
async function doctor(argv: string[], environment: Record<string, string> = {}) {
  const ran = await runSvc(['doctor', ...argv, '--json', '--timeout', '5'], { directory: folder, environment });
  expect(ran.stdout + ran.stderr).not.toContain(secret);
  const { data } = JSON.parse(ran.stdout) as { data: { checks: Check[]; summary: Record<string, number> } };
  const named = data.checks.map((check) => [[check.id, check.details?.database].filter(Boolean).join(' '), check] as const);
  for (const { id, status, hint } of data.checks) if (status === 'warn' || status === 'fail') expect(hint, id).toMatch(/\w/);
  return { code: ran.code, ids: named.map(([id]) => id), checks: Object.fromEntries(named), summary: data.summary };
}

describe('svc doctor --agent (CL-45)', () => {
  let gateway: FakeGateway;
  let health: FakeApi;
  let server: ReturnType<typeof createServer>;
  let url: string;
  let opened: Awaited<ReturnType<typeof connectEmptyDatabase>>;
  const role = `doctor_reads_${Date.now()}`;
  let readUrl: string;

  beforeAll(async () => {
    opened = await connectEmptyDatabase();
    await opened.client.query('create table items (id int)');
    await opened.client.query(`create role ${role} login password '${secret}'; grant select on items to ${role}`);
    readUrl = Object.assign(new URL(opened.database.url), { username: role, password: secret }).href;
  });
  afterAll(async () => {
    await opened.client.query(`drop owned by ${role}; drop role ${role}`);
    await opened.client.end();
    await opened.database.drop();
  });
  beforeEach(async () => {
    gateway = await startFakeGateway();
    health = await startFakeApi();
    health.on('GET /health', { body: { status: 'ok', version: '0.1.0' } });
    // The gateway of agents has no /health.
    server = createServer(async (request, response) => {
      const to = request.url === '/health' ? health.url : gateway.url;
      if (request.url === '/health') expect(request.headers.authorization).toBeUndefined();
      const headers = request.headers.authorization ? { authorization: request.headers.authorization } : {};
      const answer = await fetch(`${to}${request.url}`, { headers });
      const date = answer.headers.get('date') ?? new Date().toUTCString();
      response.writeHead(answer.status, { 'content-type': 'application/json', date }).end(await answer.text());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await Promise.all([gateway.close(), health.close()]);
  });

  const write = (change: (text: string) => string = (text) => text) => {
    const database = `[databases.shop.staging]\nurl = "${opened.database.url}"\nread_url = "${readUrl}"\n`;
    writeFileSync(join(folder, 'agent.toml'), change(`[server]\nurl = "${url}"\nagent_token = "svc_test"\n${database}`), {
      mode: 0o600,
    });
  };
  const run = (environment?: Record<string, string>) => doctor(['--agent', 'agent.toml'], environment);

  it('passes where all is well, polls nothing, and changes nothing', async () => {
    write();
    const found = await run();
    expect(found.ids).toEqual([
      ...[
        'config_parse',
        'env_vars_audit',
        'file_permissions',
        'server_reachable',
        'agent_token_valid',
        'public_keys',
        'clock_skew',
      ],
      ...['db_url_scheme', 'db_connect shop/staging', 'db_read_only_role shop/staging', 'marker_ready shop/staging'],
    ]);
    expect([found.code, found.summary]).toEqual([0, { passed: 11, warnings: 0, failed: 0, skipped: 0 }]);
    expect(gateway.polls).toEqual([]);
    expect((await opened.client.query(`select to_regnamespace('svc') as svc`)).rows).toEqual([{ svc: null }]);
  });

  it('a file that is not there, broken, or has a wrong key: what needs it is skipped', async () => {
    for (const text of [
      null,
      '[server',
      '[server]\nurl = "http://localhost:1"\nagent_token = "x"\n[databases.shop.staging]\nulr = "x"',
    ]) {
      if (text !== null) writeFileSync(join(folder, 'agent.toml'), text);
      const { code, checks } = await run();
      expect([code, checks.config_parse!.status, checks.server_reachable!.status, checks.db_connect!.status]).toEqual([
        2,
        'fail',
        'skip',
        'skip',
      ]);
    }
  });

  it('variables that are not set, files that others can read, and addresses that say not how they are protected', async () => {
    write((text) => text.replace('"svc_test"', `"\${AGENT_TOKEN}"`));
    expect((await run()).checks.env_vars_audit).toMatchObject({ status: 'fail', details: { AGENT_TOKEN: 'not set' } });
    expect((await run({ AGENT_TOKEN: 'svc_test' })).checks.env_vars_audit).toMatchObject({
      status: 'pass',
      details: { AGENT_TOKEN: 'set' },
    });
    chmodSync(join(folder, 'agent.toml'), 0o644);
    expect((await run({ AGENT_TOKEN: 'svc_test' })).checks.file_permissions).toMatchObject({
      status: 'warn',
      hint: expect.stringContaining('chmod 600'),
    });
    write((text) => text.replace(opened.database.url, 'postgres://u:p@db.example.com/shop'));
    const open = await run();
    expect(open.checks.db_url_scheme).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('must say how it is protected'),
    });
    expect([open.checks.agent_token_valid!.status, open.checks.db_connect!.status]).toEqual(['pass', 'skip']);
  });

  it('a server that is away, another one, a token that is refused, keys that are not pinned, a clock that is off', async () => {
    write((text) => text.replace(url, 'http://127.0.0.1:1'));
    expect((await run()).checks.server_reachable).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('connection refused'),
    });
    write((text) => text.replace(url, gateway.url));
    expect((await run()).checks.server_reachable).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('something else answers'),
    });
    write((text) => text.replace('svc_test', 'svc_wrong'));
    const refused = await run();
    expect(refused.checks.agent_token_valid).toMatchObject({
      status: 'fail',
      hint: expect.stringContaining('svc token create --agent'),
    });
    expect([refused.checks.public_keys!.status, refused.checks['db_connect shop/staging']!.status]).toEqual(['skip', 'pass']);
    write((text) => text.replace('agent_token', `trusted_keys = ["${'0'.repeat(64)}"]\nagent_token`));
    expect((await run()).checks.public_keys).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('names none of the keys'),
    });
    health.on('GET /health', {
      body: { status: 'ok', version: '0.1.0' },
      headers: { date: new Date(Date.now() - 90_000).toUTCString() },
    });
    write();
    expect((await run()).checks.clock_skew).toMatchObject({
      status: 'fail',
      message: expect.stringMatching(/^the clock here is \d\d s ahead/),
    });
  });

  it('a database that is away or refuses, a role of reads that may write, markers that cannot be written', async () => {
    write((text) => text.replace(opened.database.url, 'postgres://u@127.0.0.1:1/shop'));
    const away = await run();
    expect(away.checks['db_connect shop/staging']).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('connection refused'),
    });
    expect(away.checks['marker_ready shop/staging']!.status).toBe('skip');
    write((text) => text.replaceAll(secret, 'wrong'));
    expect((await run()).checks['db_connect shop/staging']).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('authentication failed'),
      hint: expect.stringContaining('user and password'),
    });
    write((text) => text.replace(/read_url = .*\n/, ''));
    expect((await run()).checks['db_read_only_role shop/staging']).toMatchObject({
      status: 'warn',
      hint: expect.stringContaining('set read_url'),
    });
    await opened.client.query(`grant insert on items to ${role}`);
    write();
    expect((await run()).checks['db_read_only_role shop/staging']!.message).toContain('may write (public.items)');
    await opened.client.query(`revoke insert on items from ${role}`);
    write((text) => `${text.replace(opened.database.url, readUrl)}[marker]\nmode = "required"\n`);
    expect((await run()).checks['marker_ready shop/staging']).toMatchObject({
      status: 'fail',
      hint: expect.stringContaining('--print-marker-ddl'),
    });
  });
});

describe('svc doctor --server (CL-45)', () => {
  const base = `state_dir = "state"\n[database]\nurl = "postgres://svc:${secret}@localhost/svc"\n[[databases]]\nname = "shop"\nenvironments = ["staging"]\n[mcp]\ndefault_environment = "staging"\n`;
  const workflow = '[[workflows]]\ndatabase = "shop"\nenvironment = "staging"\n[workflows.auto_approve]\nmode = "always"\n';
  const run = async (text: string, environment?: Record<string, string>) => {
    writeFileSync(join(folder, 'server.toml'), text);
    return doctor(['--server', 'server.toml'], environment);
  };
  const ids = [
    ...['config_parse', 'env_vars', 'workflow_validity', 'workflow_coverage', 'role_resolution', 'built_in_role_collision'],
    ...['webhook_refs', 'sql_review_safety', 'slack_config', 'keys_readable'],
  ];

  it('passes for a good file, and skips all of a broken one', async () => {
    const good = await run(base + workflow);
    expect([good.code, good.ids, good.summary]).toEqual([0, ids, { passed: 10, warnings: 0, failed: 0, skipped: 0 }]);
    const broken = await run('[database');
    expect([broken.code, broken.summary]).toEqual([2, { passed: 0, warnings: 0, failed: 1, skipped: 9 }]);
    expect((await doctor(['--server', 'none.toml'])).checks.config_parse).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('no such file'),
    });
  });

  it.each<[string, string, 'fail' | 'warn']>([
    ['config_parse', `listne = 3\n${base}${workflow}`, 'fail'],
    ['env_vars', base + workflow.replace('"staging"', `"\${NOT_SET}"`), 'fail'],
    ['workflow_validity', base + workflow.replace('"always"', '"alwys"'), 'fail'],
    ['workflow_coverage', base, 'warn'],
    ['role_resolution', `${base}${workflow}[[auth.groups]]\nname = "ops"\nroles = ["nobody"]\n`, 'fail'],
    ['built_in_role_collision', `${base}${workflow}[[auth.roles]]\nname = "admin"\npermissions = ["*"]\n`, 'fail'],
    ['webhook_refs', `${base}${workflow}[[notification_policies]]\nwebhooks = ["none"]\n`, 'fail'],
    ['sql_review_safety', `${base}${workflow}[[sql_review]]\nno_where_update = "off"\n`, 'warn'],
    ['slack_config', `${base}${workflow}[slack]\nbot_token = "xoxb-1"\nsigning_secret = ""\n`, 'warn'],
    ['keys_readable', `${base}${workflow}[security]\nsecret_key_file = "none.key"\n`, 'fail'],
  ])('%s says what is wrong there', async (id, text, status) => {
    const { checks, code } = await run(text);
    expect([checks[id]!.status, code]).toEqual([status, status === 'fail' ? 2 : 0]);
  });

  it('the program loads the code of server and agent where it is asked for', () => {
    const svc = (...argv: string[]) =>
      spawnSync(process.execPath, [new URL('../../bin/svc', import.meta.url).pathname, 'doctor', ...argv, '--json'], {
        encoding: 'utf8',
      });
    for (const option of ['--server', '--agent=', '--agent']) {
      const { status, stdout } = option.endsWith('=') ? svc(`${option}none.toml`) : svc(option, 'none.toml');
      expect([status, JSON.parse(stdout).data.checks[0]]).toMatchObject([2, { id: 'config_parse', status: 'fail' }]);
    }
  }, 240_000);

  it('a file of another program is recognised, and two files are too many', async () => {
    const { checks, summary } = await run(`[databases.shop.staging]\nurl = "postgres://u:${secret}@localhost/shop"\n`);
    expect(checks.config_parse!.message).toContain('agent.toml');
    expect(summary).toEqual({ passed: 0, warnings: 0, failed: 1, skipped: 9 });
    expect((await runSvc(['doctor', '--agent', 'a', '--server', 'b'], { directory: folder })).code).toBe(2);
  });
});
