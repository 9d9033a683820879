import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runAgent } from '../../agent/agent.js';
import { checkAgent } from '../../agent/check.js';
import { loadAgentConfig } from '../../agent/config.js';
import { ConnectFailure } from '../../agent/drivers/driver.js';
import { ConnectionLost } from '../../agent/drivers/faults.js';
import { mysqlErrors } from '../../agent/drivers/mysql/errors.js';
import { postgresErrors } from '../../agent/drivers/postgres/errors.js';
import { defaultTimings } from '../../agent/timings.js';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { createAuthority } from '../support/certificates.js';
import { type FakeApi, type FakeReply, startFakeApi } from '../support/fake-api.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';

const key = signingKeyFromSeed(new Uint8Array(32).fill(5));
const keys: FakeReply = { body: { keys: [{ key_id: key.keyId, public_key: key.publicKeyHex }] } };
const nothing = () => ({
  body: {
    jobs: [],
    dry_run_jobs: [],
    preflight_jobs: [],
    upgrade_required: false,
    agent_id: 'a',
    server_time: new Date().toISOString(),
  },
});
const keyRoute = 'GET /api/public-key';
const pollRoute = 'POST /api/agent/poll';

let database: TestDatabase;
let api: FakeApi;
let directory: string;
beforeAll(async () => {
  database = await createEmptyDatabase();
});
beforeEach(async () => {
  api = (await startFakeApi()).on(keyRoute, keys).on(pollRoute, nothing);
  directory = mkdtempSync(join(tmpdir(), 'svc-agent-start-'));
});
afterEach(async () => {
  await api.close();
  rmSync(directory, { recursive: true, force: true });
});
afterAll(() => database.drop());

function config({ url = database.url, probes = '.', server = api.url, head = '', ca = '' } = {}) {
  const file = join(directory, 'agent.toml');
  const top = `poll_wait_ms = 100\nstartup_retry_initial_ms = 5\n${head}`;
  writeFileSync(
    file,
    `${top}\n[server]\nurl = "${server}"\nagent_token = "svc_test"\n${ca && `ca_file = "${ca}"\n`}[probes]\ndir = "${probes}"\n[databases.shop.staging]\nurl = "${url}"\n`,
  );
  return loadAgentConfig(file, {});
}

function start({ httpMs = 15_000, ...options }: Parameters<typeof config>[0] & { httpMs?: number } = {}) {
  const stop = new AbortController();
  const lines: string[] = [];
  const write = (message: string, fields: object = {}) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const exit = runAgent({
    config: config(options),
    version: '1.0.0',
    timings: { ...defaultTimings, httpMs, pollGraceMs: httpMs, liveMs: 50 },
    log: { error: write, warn: write, info: write, debug: write },
    stop: stop.signal,
    stopNow: new AbortController().signal,
  });
  return { lines, exit, stop: () => stop.abort(new Error('stopped')) };
}

describe('the start of an agent (section 3)', () => {
  it.each([
    [400, 'status 400'],
    [401, 'the gateway does not take the agent token (status 401)'],
    [403, 'the token is not the token of an agent (status 403)'],
    [404, 'there is no gateway at server.url (status 404); is a part of its path missing?'],
    [410, 'status 410'],
  ])('ends at once with 1 when the keys are answered with %i (AP-05)', async (status, why) => {
    api.on(keyRoute, { status, body: { code: 'x' } });
    const agent = start();
    expect(await agent.exit).toBe(1);
    expect(agent.lines).toEqual([`public keys: ${why} {}`]);
    expect(api.calls).toHaveLength(1);
  });

  it.each<[string, FakeReply]>([
    ['no keys', { body: { keys: [] } }],
    ['a key whose id is another', { body: { keys: [{ key_id: 'f'.repeat(16), public_key: key.publicKeyHex }] } }],
    ['a key in capitals', { body: { keys: [{ key_id: key.keyId, public_key: key.publicKeyHex.toUpperCase() }] } }],
    ['another answer', { body: { public_key: key.publicKeyHex } }],
  ])('ends at once with 1 when the gateway lists %s (AP-05, section 11 of the token)', async (_, reply) => {
    api.on(keyRoute, reply);
    const agent = start();
    expect(await agent.exit).toBe(1);
    expect(agent.lines).toEqual(['public keys: the server lists no usable public key {}']);
  });

  it.each<[string, FakeReply]>([
    ['429', { status: 429, body: {} }],
    ['503', { status: 503, body: {} }],
    ['500 that is no JSON', { status: 500, body: 'oops' }],
    ['200 that is no JSON', { body: 'oops' }],
    ['the 404 of a proxy', { status: 404, body: '404 page not found' }],
    ['the 403 of a proxy that speaks JSON', { status: 403, body: { message: 'no' } }],
    ['408, the gateway got the call too slowly', { status: 408, body: { code: 'validation.failed' } }],
    ['a broken connection', { drop: true }],
    ['nothing', { hang: true }],
  ])('tries again after %s, for the keys as for the first poll, and logs it (AP-04, AP-05)', async (_, reply) => {
    // A call on a kept connection that breaks is made once more at once, so it takes two to fail.
    api.on(keyRoute, reply, keys).on(pollRoute, reply, reply, nothing);
    const agent = start('hang' in reply ? { httpMs: 400 } : {});
    await eventually(() => agent.lines.some((line) => line.startsWith('agent is ready')));
    expect(agent.lines.filter((line) => line.startsWith('start: public keys failed'))).toHaveLength(1);
    expect(agent.lines.some((line) => line.startsWith('start: first poll failed'))).toBe(true);
    agent.stop();
    expect(await agent.exit).toBe(0);
  });

  it('touches its liveness file again and again while it lives (AP-16)', async () => {
    const agent = start();
    const file = join(directory, 'svc-agent-alive');
    await eventually(() => agent.lines.some((line) => line.startsWith('agent is ready')));
    for (const _ of [1, 2]) {
      utimesSync(file, 0, 0);
      await eventually(() => statSync(file).mtimeMs > 0);
    }
    agent.stop();
    expect(await agent.exit).toBe(0);
  });

  it('outlives the folder of its probes (AP-16)', async () => {
    const agent = start();
    await eventually(() => agent.lines.some((line) => line.startsWith('agent is ready')));
    rmSync(directory, { recursive: true });
    const before = api.bodies(pollRoute).length;
    await eventually(() => api.bodies(pollRoute).length > before + 2);
    expect(agent.lines.some((line) => line.startsWith('probe file not written'))).toBe(true);
    agent.stop();
    expect(await agent.exit).toBe(0);
  });

  it('ends at once with 1 when the first poll is refused (AP-05)', async () => {
    api.on(pollRoute, { status: 403, body: { code: 'auth.forbidden' } });
    const agent = start();
    expect(await agent.exit).toBe(1);
    expect(agent.lines.at(-1)).toBe('first poll: status 403 {}');
    expect(api.bodies(pollRoute)).toMatchObject([{ limit: 0, explain_limit: 0 }]);
  });

  it('has one deadline for all its steps (AP-04, AP-06)', async () => {
    api.on(pollRoute, { status: 503, body: {} });
    const agent = start({ head: 'startup_max_wait_secs = 3\nstartup_retry_max_ms = 20' });
    expect(await agent.exit).toBe(1);
    expect(agent.lines.at(-1)).toBe('startup timeout exceeded {}');
    expect(
      agent.lines.filter((line) => line.startsWith('start: first poll failed')),
      'then once in 30 s',
    ).toHaveLength(3);
    expect(api.bodies(pollRoute).length).toBeGreaterThan(3);
  });

  it('waits as long as a Retry-After says, within the deadline (AG-10)', async () => {
    api.on(keyRoute, { status: 429, body: {}, headers: { 'retry-after': '3600' } });
    const agent = start({ head: 'startup_max_wait_secs = 1' });
    expect(await agent.exit).toBe(1);
    expect(api.calls, 'at the start and at the deadline').toHaveLength(2);
  });

  it('ends with 1 when its liveness file cannot be written, before it calls anybody', async () => {
    const agent = start({ probes: 'missing/folder' });
    expect(await agent.exit).toBe(1);
    expect(agent.lines).toEqual([`the liveness file cannot be written in ${join(directory, 'missing/folder')} (probes.dir) {}`]);
    expect(api.calls).toEqual([]);
  });
});

describe('--check (section 1)', () => {
  let untouched: TestDatabase;
  beforeAll(async () => {
    untouched = await createEmptyDatabase();
  });
  afterAll(() => untouched.drop());

  async function check(options: Parameters<typeof config>[0] = {}) {
    const lines: string[] = [];
    const timings = { ...defaultTimings, httpMs: 1000 };
    const code = await checkAgent(config({ url: untouched.url, ...options }), '1.0.0', timings, (line) => lines.push(line));
    return { code, lines };
  }
  const fine = 'database shop/staging: ok, markers: the marker table does not exist; the agent makes it at its start';

  it('says in words what is wrong with the gateway, and looks at the databases all the same', async () => {
    api.on(keyRoute, { status: 401, body: {} });
    const refused = 'server: the gateway does not take the agent token (status 401)';
    expect(await check()).toEqual({ code: 1, lines: [refused, fine] });
    const away = 'server: not reached: ECONNREFUSED, connection refused';
    expect(await check({ server: 'http://127.0.0.1:1' })).toEqual({ code: 1, lines: [away, fine] });
  });

  it('trusts the certificates of ca_file and no others, each for its own host', async () => {
    const ours = createAuthority(directory, 'ours');
    ours.issue('localhost', directory, null);
    const [cert, secret] = ['cert.pem', 'key.pem'].map((name) => readFileSync(join(directory, name)));
    const answer = JSON.stringify(keys.body);
    const gateway = createServer({ cert, key: secret }, (_, response) => response.end(answer));
    await new Promise<void>((resolve) => gateway.listen(0, resolve));
    const server = (host: string) => `https://${host}:${(gateway.address() as AddressInfo).port}`;
    const first = async (options: Parameters<typeof config>[0]) => (await check(options)).lines[0];
    try {
      expect(await first({ server: server('localhost'), ca: ours.file })).toBe('server: ok, 1 public key');
      expect(await first({ server: server('localhost') })).toMatch(
        /^server: not reached: [A-Z_]+, the certificate is not trusted$/,
      );
      expect(await first({ server: server('127.0.0.1'), ca: ours.file })).toMatch(/, the certificate is of another host$/);
    } finally {
      gateway.closeAllConnections();
      await new Promise((resolve) => gateway.close(resolve));
    }
  });

  it('says in words what is wrong with a database, without its address', async () => {
    const changed = (parts: object) => Object.assign(new URL(untouched.url), parts).href;
    for (const [url, why] of [
      [changed({ port: '1' }), 'connection failed: ECONNREFUSED, connection refused'],
      [changed({ hostname: 'nowhere.invalid', search: '?sslmode=disable' }), 'connection failed: ENOTFOUND, unknown host'],
      [changed({ password: 'wrong' }), 'authentication failed: SQLSTATE 28P01, the user or the password is wrong'],
      [changed({ pathname: '/nowhere' }), 'connection failed: SQLSTATE 3D000, there is no such database'],
    ] as const) {
      const { code, lines } = await check({ url });
      expect([code, lines[1]?.replace('EAI_AGAIN, the host name could not be looked up', 'ENOTFOUND, unknown host')]).toEqual([
        1,
        `database shop/staging: ${why}`,
      ]);
    }
    expect(
      api.calls.every(({ path }) => path === '/api/public-key'),
      'it polls for nothing',
    ).toBe(true);
  });

  it('takes a missing marker for a mistake only where markers are required, and names a missing right', async () => {
    expect((await check()).code).toBe(0);
    expect((await check({ head: 'marker.mode = "required"' })).code).toBe(1);
    expect((await check({ head: 'marker.mode = "off"' })).lines[1]).toBe('database shop/staging: ok, markers: off');
    const missing = await check({ head: 'marker.schema = "nowhere"' });
    expect(missing.lines[1]).toMatch(/^database shop\/staging: ok, markers: .*nowhere/);
  });
});

describe('what counts as "the database is away" (AP-15)', () => {
  const postgres = (code: string) => Object.assign(new Error('x'), { code, severity: 'ERROR' });
  const mysql = (errno: number, sqlState = 'HY000') => Object.assign(new Error('x'), { errno, sqlState, sqlMessage: 'x' });

  it('is told by class, never by the words of an error', () => {
    for (const error of [
      new ConnectionLost('closed'),
      new ConnectFailure('authentication', 'x'),
      new ConnectFailure('connection', 'x'),
    ])
      expect([postgresErrors.isConnectivityError(error), mysqlErrors.isConnectivityError(error)]).toEqual([true, true]);
    for (const code of ['08000', '08006', '57P01', '57P02', '57P03'])
      expect([code, postgresErrors.isConnectivityError(postgres(code))]).toEqual([code, true]);
    for (const code of ['57014', '57P04', '42P01', '23505', '53300', 'XX000'])
      expect([code, postgresErrors.isConnectivityError(postgres(code))]).toEqual([code, false]);
    for (const errno of [2002, 2006, 2013, 1053])
      expect([errno, mysqlErrors.isConnectivityError(mysql(errno))]).toEqual([errno, true]);
    for (const errno of [1064, 1146, 1205, 1317, 3024])
      expect([errno, mysqlErrors.isConnectivityError(mysql(errno))]).toEqual([errno, false]);
    for (const words of ['connection refused', 'server closed the connection unexpectedly', 'ECONNREFUSED'])
      expect([postgresErrors.isConnectivityError(new Error(words)), mysqlErrors.isConnectivityError(new Error(words))]).toEqual([
        false,
        false,
      ]);
  });
});
