import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { shopToml } from '../support/api.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

let folder: string;
let stored: TestDatabase;
let child: ChildProcess | undefined;
let printed: string;
beforeEach(async () => {
  stored = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-main-'));
});
afterEach(async () => {
  child?.kill('SIGKILL');
  child = undefined;
  await rm(folder, { recursive: true, force: true });
  await stored.drop();
});

/** `svc server` as a process of its own. */
async function start(database: string, { more = '', drainSecs = 0, terminal = false } = {}): Promise<void> {
  const file = join(folder, 'server.toml');
  const lines = [
    `state_dir = "${folder}/state"`,
    shopToml,
    `[server]\nlisten = "127.0.0.1:0"\ndrain_secs = ${drainSecs}`,
    `[database]\nurl = "${database}"\nstart_wait_secs = 1`,
    '[temporal]\naddress = "127.0.0.1:1"',
    more,
  ];
  await writeFile(file, lines.join('\n'));
  printed = '';
  const svc = join(import.meta.dirname, '../../bin/svc');
  const [program, args] = terminal
    ? ['script', ['--quiet', '--return', '--command', `exec ${svc} server --config ${file}`, '/dev/null']]
    : [svc, ['server', '--config', file]];
  child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  for (const output of [child.stdout, child.stderr])
    output?.on('data', (chunk) => {
      printed += chunk;
    });
}

const exitCode = async () => (child?.exitCode === null ? (await once(child, 'exit'))[0] : child?.exitCode);
const port = () => /listening.* port=(\d+)/.exec(printed)?.[1];
const waitMs = { timeout: 60_000 };

describe('svc server (operations sections 6 and 7)', () => {
  it('starts, leaves its tokens and its process id, reloads at SIGHUP, and ends with 0 at SIGTERM (OP-51, OP-52, CF-1)', async () => {
    await start(stored.url);
    await expect.poll(port, waitMs).toBeDefined();
    expect(printed).toContain(`admin_token_file=${folder}/state/admin-token`);
    await expect.poll(() => printed, waitMs).toContain('waiting_for="Temporal at 127.0.0.1:1, a worker (svc worker)"');
    const token = await readFile(join(folder, 'state/admin-token'), 'utf8');
    const me = await fetch(`http://127.0.0.1:${port()}/api/me`, { headers: { authorization: `Bearer ${token}` } });
    expect(me.status).toBe(200);
    expect(await readFile(join(folder, 'state/server.pid'), 'utf8')).toBe(String(child?.pid));
    child?.kill('SIGHUP');
    await expect.poll(() => printed, waitMs).toContain('configuration reloaded');
    child?.kill('SIGTERM');
    expect(await exitCode()).toBe(0);
    await expect(readFile(join(folder, 'state/server.pid'))).rejects.toThrow();
    expect(printed).not.toContain(token);
  }, 120_000);

  it('at Ctrl-C in its terminal does not wait for balancers (OP-61)', async () => {
    await start(stored.url, { drainSecs: 600, terminal: true });
    await expect.poll(port, waitMs).toBeDefined();
    child?.stdin?.write('\x03');
    expect(await exitCode()).toBe(0);
    expect(printed).toContain('stopped');
  }, 120_000);

  it('starts with the files of svc init, and their check is online too (CF-I7, CF-I1)', async () => {
    const svc = join(import.meta.dirname, '../../bin/svc');
    const env = { ...process.env, SVC_DATABASE_URL: stored.url, SVC_TEMPORAL_ADDRESS: '127.0.0.1:1' };
    const run = async (...args: string[]) => (await once(spawn(svc, args, { cwd: folder, env, stdio: 'ignore' }), 'exit'))[0];
    expect(await run('init')).toBe(0);
    expect(await run('config', 'check', '--online', '--strict')).toBe(0);
    printed = '';
    child = spawn(svc, ['server', '--listen', '127.0.0.1:0'], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr?.on('data', (chunk) => {
      printed += chunk;
    });
    await expect.poll(port, waitMs).toBeDefined();
    // Not strict: nobody is there yet who could approve, which is a warning from now on (RQ-38).
    expect(await run('config', 'check', '--online')).toBe(0);
    expect(await run('server', 'keys', 'list')).toBe(0);
  }, 120_000);

  it('starts on a newer schema, unless that breaks what this version does (OP-50)', async () => {
    const client = new pg.Client({ connectionString: stored.adminUrl });
    await client.connect();
    const apply = (name: string) => client.query('insert into schema_migrations (name, run_on) values ($1, now())', [name]);
    await apply('9998_more');
    await start(stored.url);
    await expect.poll(port, waitMs).toBeDefined();
    child?.kill('SIGKILL');
    await apply('9999_breaking_less');
    await client.end();
    await start(stored.url);
    expect(await exitCode()).toBe(1);
    expect(printed).toContain('newer than this version, which cannot use it (9999_breaking_less): start the newer version');
  }, 120_000);

  it('says in one line why it cannot start, and ends with 1 (OP-51)', async () => {
    const away = new URL(stored.url);
    away.port = '1';
    await start(away.href);
    expect(await exitCode()).toBe(1);
    expect(printed).toContain('waiting for the gateway database outage=ECONNREFUSED');
    expect(printed.trim().split('\n').at(-1)).toBe('the gateway database was not reachable for 1 s (ECONNREFUSED)');
    await start(stored.url, { more: '[nonsense]' });
    expect(await exitCode()).toBe(1);
    expect(printed).toMatch(/server\.toml:\d+:\d+: nonsense: unknown/);
    await rm(join(folder, 'state'), { recursive: true });
    await writeFile(join(folder, 'state'), 'a file');
    await writeFile(join(folder, 'key'), '5e'.repeat(32), { mode: 0o600 });
    await start(stored.url, { more: '[security]\nsecret_key_file = "key"' });
    expect(await exitCode()).toBe(1);
    expect(printed.trim().split('\n').at(-1)).toBe(`state_dir: ${folder}/state cannot be created or used (it is a file)`);
  }, 120_000);
});
