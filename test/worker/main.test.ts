import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../dev/ports.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { storeRequest } from '../support/requests.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { temporalAddress } from '../support/temporal.js';
import { groupToml } from '../support/toml.js';
import { eventually, untilStored } from './support.js';

const launcher = fileURLToPath(new URL('../../bin/svc', import.meta.url));

let stored: TestDatabase;
let folder: string;
let running: ChildProcess | undefined;
beforeAll(async () => {
  stored = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'svc-worker-'));
});
afterEach(() => {
  if (running?.exitCode === null) running.kill('SIGKILL');
});
afterAll(async () => {
  await stored.drop();
  rmSync(folder, { recursive: true, force: true });
});

interface Settings {
  listen: string;
  /** Further tables of `server.toml`. */
  more?: string;
  temporal: string;
  database?: string;
}

function start({ listen, temporal, database = stored.url, more = '' }: Settings, file = join(folder, 'server.toml')) {
  writeFileSync(
    file,
    `state_dir = "${folder}"
[server]
listen = "127.0.0.1:0"
[worker]
listen = "${listen}"
[database]
url = "${database}"
start_wait_secs = 1
[temporal]
address = "${temporal}"
task_queue = "main-test"
[mcp]
default_environment = "production"
[[databases]]
name = "shop"
environments = ["production"]
${more}`,
  );
  return run(file);
}

function run(file: string) {
  const child = spawn(process.execPath, [launcher, 'worker', '--config', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  running = child;
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  return { child, exited, errors: () => errors };
}

/** A user with these roles; answers the token. */
async function userWith(id: string, roles: string[], url = stored.url): Promise<string> {
  const token = `svc_${randomBytes(16).toString('hex')}`;
  const database = openTestDatabase(url);
  await database.query(`insert into users (id, roles, source) values ($1, $2, 'api')`, [id, roles]);
  await database.query(
    `insert into tokens (id, subject_type, subject_id, token_prefix, token_hash, scope_ceiling) values (gen_random_uuid(), 'user', $1, $2, $3, $4)`,
    [id, token.slice(4, 12), createHash('sha256').update(token).digest('hex'), roles],
  );
  await database.close();
  return token;
}

const ask = async (listen: string, path: string, token?: string) => {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`http://${listen}${path}`, { headers }).catch(() => null);
  return response === null ? null : { status: response.status, text: await response.text() };
};

const untilReady = (worker: ReturnType<typeof run>, listen: string, status: string) =>
  eventually(async () => {
    if (worker.child.exitCode !== null) throw new Error(worker.errors());
    const answer = await ask(listen, '/ready');
    return answer !== null && JSON.parse(answer.text).status === status ? answer : null;
  });

describe('svc worker', () => {
  it('becomes ready, moves what a clock says, answers its probes, and stops cleanly on SIGTERM (OP-3, OP-63)', async () => {
    const listen = `127.0.0.1:${await freePort()}`;
    const worker = start({ listen, temporal: await temporalAddress() });
    await untilReady(worker, listen, 'ok');
    expect(await ask(listen, '/health')).toMatchObject({ status: 200, text: expect.stringContaining('"status":"ok"') });
    const token = await userWith('scraper', ['admin']);
    expect((await ask(listen, '/metrics'))?.status).toBe(401);
    expect((await ask(listen, '/metrics', `svc_${'0'.repeat(32)}`))?.status).toBe(401);
    expect((await ask(listen, '/metrics', await userWith('other', ['requester'])))?.status).toBe(403);
    expect((await ask(listen, '/metrics', token))?.text).toContain('svc_workflow_repairs_total 0');
    expect((await ask(listen, '/other'))?.status).toBe(404);
    expect((await fetch(`http://${listen}/health`, { method: 'POST' })).status).toBe(405);
    const database = openTestDatabase(stored.url);
    const id = await storeRequest(database, { pendingSecs: 1 });
    await untilStored({ database }, id, 'expired');
    await eventually(async () => (await ask(listen, '/metrics', token))?.text.includes('svc_requests_total{status="expired"'));
    worker.child.kill('SIGTERM');
    expect(await worker.exited).toBe(0);
    expect(await database.query('select 1 from workers')).toEqual([]);
    await database.close();
  }, 60_000);

  it('OP-95: tells an outage of PostgreSQL, for which all that it does fails, once, and when it is over', async () => {
    const own = await createTestDatabase();
    const proxy = await startTcpProxy(own.url);
    const listen = `127.0.0.1:${await freePort()}`;
    const worker = start({ listen, temporal: await temporalAddress(), database: proxy.url });
    try {
      await untilReady(worker, listen, 'ok');
      proxy.cut();
      await sleep(4000);
      proxy.heal();
      const lines = () => worker.errors().split('\n');
      await eventually(() => lines().some((line) => line.includes('over: the gateway database is not reachable')));
      // Only one that lasts has a count.
      const begun = lines().filter((line) => / error .*not reachable/.test(line) && !line.includes('failures='));
      expect(begun).toEqual([expect.stringContaining(' outage=')]);
      expect(worker.errors()).not.toContain('background work failed');
    } finally {
      worker.child.kill('SIGKILL');
      await proxy.close();
      await own.drop();
    }
  }, 120_000);

  it('counts, audits and limits refused credentials of its metrics as the server does (HD-93, OP-33)', async () => {
    const listen = `127.0.0.1:${await freePort()}`;
    // Calls are counted for all processes on a database together.
    const own = await createTestDatabase();
    const more = '[rate_limits]\nauth_failures_per_address = 5\n';
    const worker = start({ listen, temporal: await temporalAddress(), database: own.url, more });
    await untilReady(worker, listen, 'ok');
    const token = await userWith('reader', ['admin'], own.url);
    const guess = () =>
      fetch(`http://${listen}/metrics`, { headers: { authorization: `Bearer svc_${randomBytes(16).toString('hex')}` } });
    const answers = [];
    for (let left = 8; left > 0; left -= 1) answers.push(await guess());
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    const last = answers.at(-1)!;
    expect(await last.json()).toEqual({ error: 'too many failed authentications', code: 'rate.limited', hint: null });
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(last.headers.get('ratelimit-limit')).toBe('5');
    expect(answers[0]!.headers.get('www-authenticate')).toBe('Bearer');
    expect(await ask(listen, '/metrics')).toMatchObject({ status: 401, text: expect.stringContaining('auth.missing_token') });
    const shown = (await ask(listen, '/metrics', token))?.text ?? '';
    expect(shown).toContain('svc_auth_failures_total{reason="auth.invalid_token"} 5');
    expect(shown).toContain('svc_auth_failures_total{reason="rate.limited"} 3');
    expect(shown).toContain('svc_rate_limited_total{limit="auth"} 3');
    const database = openTestDatabase(own.url);
    const events = () =>
      database.query<{ metadata: string }>(
        `select metadata_json as metadata from audit_events where event_type = 'auth.failure' order by position`,
      );
    expect((await events()).filter(({ metadata }) => metadata.includes('"failure_reason":"unknown"'))).toHaveLength(5);
    worker.child.kill('SIGTERM');
    expect(await worker.exited).toBe(0);
    expect((await events()).at(-1)?.metadata).toBe('{"suppressed":3}');
    await database.close();
    await own.drop();
  }, 60_000);

  it('serves degraded and seals the audit log while Temporal is away, and stops all the same (AU-13, OP-10, OP-50)', async () => {
    const listen = `127.0.0.1:${await freePort()}`;
    const worker = start({ listen, temporal: `127.0.0.1:${await freePort()}` });
    const answer = await untilReady(worker, listen, 'degraded');
    expect(JSON.parse(answer.text).checks).toEqual({
      database: 'ok',
      temporal: 'unavailable',
      worker: 'not_seen',
      result_storage: 'ok',
    });
    const database = openTestDatabase(stored.url);
    await eventually(async () => (await database.query('select 1 from audit_events where seq is null')).length === 0);
    expect(await database.query('select 1 from audit_head')).toHaveLength(1);
    await database.close();
    worker.child.kill('SIGTERM');
    expect(await worker.exited).toBe(0);
  }, 60_000);

  it('says in one line why it cannot start, with exit code 1 (OP-51)', async () => {
    const missing = run(join(folder, 'missing.toml'));
    expect(await missing.exited).toBe(1);
    expect(missing.errors().trim().split('\n')).toHaveLength(1);
    const away = `postgres://svc:secret-password@127.0.0.1:${await freePort()}/svc`;
    const noDatabase = start({ listen: '127.0.0.1:0', temporal: '127.0.0.1:1', database: away });
    expect(await noDatabase.exited).toBe(1);
    expect(noDatabase.errors()).toContain('the gateway database was not reachable');
    expect(noDatabase.errors()).not.toContain('secret-password');
    const taken = createServer();
    const port = await freePort();
    await new Promise<void>((resolve) => taken.listen(port, '127.0.0.1', resolve));
    const noPort = start({ listen: `127.0.0.1:${port}`, temporal: '127.0.0.1:1', more: groupToml('unheard', ['dba']) });
    expect(await noPort.exited).toBe(1);
    expect(noPort.errors()).toContain('the port is in use');
    taken.close();
    const database = openTestDatabase(stored.url);
    const inForce = await database.query(`select 1 from config_generations where content::text like '%unheard%'`);
    await database.close();
    expect(inForce, 'CF-I2: what a refused start put in force').toEqual([]);
  }, 60_000);
});
