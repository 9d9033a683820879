import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../dev/ports.js';
import { untilActive } from '../support/active-statement.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { type SwallowingProxy, startSwallowingProxy } from '../support/swallowing-proxy.js';

const launcher = new URL('../../bin/svc-agent', import.meta.url).pathname;
const waitMs = 60_000;

let database: TestDatabase;
let target: pg.Client;
let proxy: SwallowingProxy;
let writeUrl: string;
let gateway: FakeGateway;
let directory: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
  await target.query(`create table parts (id int primary key, note text); insert into parts values (1, 'a')`);
  await target.query(`create role agent_writer superuser login password 'pass-word-of-writes'`);
  const address = new URL(database.url);
  proxy = await startSwallowingProxy(Number(address.port));
  const login = { host: `127.0.0.1:${proxy.port}`, username: 'agent_writer', password: 'pass-word-of-writes' };
  writeUrl = Object.assign(address, login).href;
});
beforeEach(async () => {
  gateway = await startFakeGateway();
  directory = mkdtempSync(join(tmpdir(), 'svc-agent-process-'));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await gateway.close();
  rmSync(directory, { recursive: true, force: true });
});
afterAll(async () => {
  await proxy.close();
  await target.query('drop owned by agent_writer; drop role agent_writer');
  await target.end();
  await database.drop();
});

interface Started {
  child: ChildProcess;
  log(): string;
  exit: Promise<number | null>;
  ready(): Promise<unknown>;
}

function start(toml: { head?: string; tables?: string; server?: string; url?: string } = {}): Started {
  const file = join(directory, 'agent.toml');
  writeFileSync(
    file,
    `poll_wait_ms = 1000
poll_interval_ms = 50
${toml.head ?? ''}
[server]
${toml.server ?? `url = "${gateway.url}"\nagent_token = "svc_test"`}
[databases.shop.staging]
url = "${toml.url ?? writeUrl}"
[probes]
dir = "."
${toml.tables ?? ''}`,
  );
  const child = spawn(process.execPath, [launcher, '--config', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, SVC_LOG_LEVEL: 'debug' },
  });
  children.push(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const exit = once(child, 'close').then(([code]) => code as number | null);
  const ready = () => eventually(() => existsSync(join(directory, 'svc-agent-ready')), waitMs);
  return { child, exit, log: () => text, ready };
}

/** Local addresses that the process listens on, as the kernel tells them. */
function listeningSockets(pid: number): string[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      } catch {
        return undefined;
      }
    }),
  );
  const listening = '0A';
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((columns) => columns[3] === listening && inodes.has(columns[9]))
      .map((columns) => columns[1]!),
  );
}

const statusOf = async (port: number, path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;

describe('the process of an agent', () => {
  it('listens on nothing, keeps its two files, and ends with 0 (AP-16, AP-17)', async () => {
    const agent = start();
    await agent.ready();
    expect(existsSync(join(directory, 'svc-agent-alive'))).toBe(true);
    expect(listeningSockets(agent.child.pid!)).toEqual([]);
    agent.child.kill('SIGINT');
    expect(await agent.exit).toBe(0);
    expect(readdirSync(directory)).toEqual(['agent.toml']);
  }, 90_000);

  it('answers its probes where it was told to listen, and only there (AP-16)', async () => {
    const port = await freePort();
    const agent = start({ tables: `listen = "127.0.0.1:${port}"` });
    await agent.ready();
    expect(listeningSockets(agent.child.pid!)).toHaveLength(1);
    expect(await Promise.all(['/live', '/ready', '/', '/metrics'].map((path) => statusOf(port, path)))).toEqual([
      200, 200, 404, 404,
    ]);
    gateway.pollStatus = 500;
    await eventually(async () => (await statusOf(port, '/ready')) === 503, waitMs);
    expect(await statusOf(port, '/live')).toBe(200);
    agent.child.kill('SIGTERM');
    expect(await agent.exit).toBe(0);
  }, 90_000);

  it('ends with 1 and one line when it cannot start (AP-05, AP-16, section 12)', async () => {
    const port = Number(new URL(gateway.url).port);
    for (const [toml, line] of [
      [
        { server: `url = "${gateway.url}"\nagent_token = "wrong"` },
        'public keys: the gateway does not take the agent token (status 401)',
      ],
      [
        { url: writeUrl.replace('pass-word', 'other-word') },
        'authentication failed: SQLSTATE 28P01, the user or the password is wrong',
      ],
      [{ tables: `listen = "127.0.0.1:${port}"` }, 'probes.listen: cannot listen there (EADDRINUSE)'],
      [{ head: 'agent_id = 5' }, 'agent.toml: agent_id: '],
    ] as const) {
      const agent = start(toml);
      expect(await agent.exit).toBe(1);
      expect(agent.log()).toContain(line);
      expect(
        agent
          .log()
          .trim()
          .split('\n')
          .filter((text) => /error|svc-agent:/.test(text)),
      ).toHaveLength(1);
      expect(agent.log()).not.toMatch(/^\s+at /m);
    }
  }, 120_000);

  it('goes on when nobody reads its log any more', async () => {
    const agent = start();
    await agent.ready();
    agent.child.stderr?.destroy();
    for (const note of ['b', 'c'])
      expect(await gateway.offer({ operation: 'execute_dml', detail: `update parts set note = '${note}'` }).result).toMatchObject(
        { success: true },
      );
    agent.child.kill('SIGTERM');
    expect(await agent.exit).toBe(0);
  }, 90_000);

  it('finishes what runs at the first signal, and cancels it at the second (AP-17, AP-18)', async () => {
    const agent = start();
    await agent.ready();
    const job = gateway.offer({ operation: 'execute_dml', detail: `update parts set note = 'x'; select pg_sleep(60)` });
    await untilActive(target, 'pg_sleep(60)');
    agent.child.kill('SIGTERM');
    await eventually(() => gateway.polls.some(({ status }) => (status as { draining: boolean }).draining), waitMs);
    const late = gateway.offer({ detail: 'select 1' });
    agent.child.kill('SIGTERM');
    expect(await agent.exit).toBe(1);
    expect(await job.result).toMatchObject({ outcome: 'rolled_back', error_message: 'agent stopped', cancelled: false });
    expect(late.claims, 'AP-I10').toEqual([]);
  }, 90_000);
});

describe('the log of a whole run (AP-03)', () => {
  it('tells what happened, and holds no token, address, password or SQL', async () => {
    const agent = start({ head: 'result_retry_secs = 10', tables: '[log]\nformat = "json"' });
    await agent.ready();
    const run = (detail: string, more: object = {}) => gateway.offer({ detail, ...more });
    await run(`select 'literal-in-a-read' as t`).result;
    await run('select * from table_of_a_failed_read').result;
    await run(`insert into parts values (1, 'literal-in-a-write')`, { operation: 'execute_dml' }).result;
    await run('commit; drop table text_of_a_refusal').result;
    const forge = (claim: Record<string, unknown>) => ({ ...claim, detail: 'select text_of_a_forgery' });
    expect((await run('select 1', { forge }).result).error_message).toContain('detail_hash mismatch');
    await run('select 1', { database: 'elsewhere' }).result;
    const again = run(`select 'literal-sent-again'`);
    Object.assign(again, { resultStatuses: [503, 413], heartbeat: { status: 500, cancelled: false } });
    await again.result;
    gateway.schemaStatuses = [400];
    await run('create table text_of_ddl (a int)', { operation: 'execute_dml' }).result;
    await target.query('drop table text_of_ddl');
    const job = { database: 'shop', environment: 'staging', sql: 'select text_of_an_explain' };
    gateway.offerExplains({ dry_run_jobs: [{ id: 'dry', request_id: 'r', ...job }] });
    await eventually(() => gateway.explainCalls.some(({ path }) => path.endsWith('/result')), waitMs);
    gateway.pollExtra = { jobs: 'select text_of_a_bad_poll' };
    await eventually(() => agent.log().includes('poll failed'), waitMs);
    gateway.pollExtra = {};
    proxy.up = false;
    proxy.cut();
    for (const word of ['first', 'second']) await run(`select 'literal-while-away-${word}'`).result;
    await eventually(() => agent.log().includes('database is degraded'), waitMs);
    proxy.up = true;
    await eventually(() => agent.log().includes('database is back'), waitMs);
    agent.child.kill('SIGTERM');
    expect(await agent.exit).toBe(0);

    const log = agent.log();
    for (const line of ['agent is ready', 'result accepted', 'result refused', 'result not accepted yet', 'agent is stopping'])
      expect(log).toContain(line);
    expect(log).toContain('shop/staging');
    const { host } = new URL(writeUrl);
    for (const secret of [
      'svc_test',
      'pass-word',
      'agent_writer',
      host,
      new URL(database.url).host,
      'postgres:',
      'literal-',
      'text_of',
      'table_of',
      'parts',
    ])
      expect([secret, log.includes(secret)]).toEqual([secret, false]);
    expect(log).not.toMatch(/\b(select|insert|update|create|drop)\b/i);
    for (const line of log.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ level: expect.any(String) });
  }, 120_000);
});
