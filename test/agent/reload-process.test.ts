import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';

const launcher = new URL('../../bin/svc-agent', import.meta.url).pathname;
const patient = 90_000;

let database: TestDatabase;
let proxy: TcpProxy;
let gateway: FakeGateway;
let directory: string;
let file: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  database = await createEmptyDatabase();
  proxy = await startTcpProxy(database.url);
});
beforeEach(async () => {
  gateway = await startFakeGateway();
  directory = mkdtempSync(join(tmpdir(), 'svc-agent-reload-'));
  file = join(directory, 'agent.toml');
  write();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  proxy.heal();
  await gateway.close();
  rmSync(directory, { recursive: true, force: true });
});
afterAll(async () => {
  await proxy.close();
  await database.drop();
});

const reports = () => `[databases.reports.staging]\nurl = "${proxy.url}"\n`;
function write(more = ''): void {
  const server = `[server]\nurl = "${gateway.url}"\nagent_token = "svc_test"\n[probes]\ndir = "."\n`;
  writeFileSync(file, `poll_wait_ms = 20000\n${server}[databases.shop.staging]\nurl = "${database.url}"\n${more}`);
}

interface Ran {
  child: ChildProcess;
  /** Exit code and what it printed. */
  ended: Promise<{ code: number | null; out: string; err: string }>;
}

function run(...argv: string[]): Ran {
  const child = spawn(process.execPath, [launcher, ...argv, '--config', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number | null, out, err })) };
}

const reload = () => run('--reload').ended;
async function started(): Promise<Ran> {
  const agent = run();
  await eventually(() => existsSync(join(directory, 'svc-agent-ready')), patient);
  return agent;
}
const scopes = () =>
  (gateway.polls.at(-1)!.capabilities as { scopes: { database: string }[] }).scopes.map(({ database: name }) => name);

describe('svc-agent --reload (AP-19)', () => {
  it('says what the agent serves now, or what is wrong and where, and the agent leaves no file behind', async () => {
    const agent = await started();
    const { pid } = agent.child;
    write(reports());
    expect(await reload()).toEqual({ code: 0, out: `reloaded: added reports/staging (process ${pid})\n`, err: '' });
    await eventually(() => scopes().join() === 'shop,reports');
    expect(await reload()).toMatchObject({ code: 0, out: `reloaded: the databases are the same (process ${pid})\n` });
    write(`${reports()}pool_mx = 3\n`);
    expect(await reload()).toEqual({
      code: 1,
      out: '',
      err: `${file}: unknown key databases.reports.staging.pool_mx (did you mean pool_max?)\nrejected: process ${pid} keeps its configuration\n`,
    });
    write(reports().replace(proxy.url, '$' + '{REPORTS_URL}'));
    expect((await reload()).err).toContain('hint: the agent has the environment that it was started with');
    for (const name of ['svc-agent.pid', 'svc-agent-reload.json'])
      expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
    agent.child.kill('SIGTERM');
    expect(await agent.ended).toMatchObject({ code: 0 });
    expect(readdirSync(directory)).toEqual(['agent.toml']);
  }, 180_000);

  it('two at once both get an answer', async () => {
    const agent = await started();
    write(reports());
    const both = await Promise.all([reload(), reload()]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    await eventually(() => scopes().join() === 'shop,reports');
    expect(agent.child.exitCode).toBeNull();
  }, 180_000);

  it('a SIGHUP during the start neither ends the agent nor is lost', async () => {
    proxy.freeze();
    write(reports());
    const agent = run();
    await eventually(() => existsSync(join(directory, 'svc-agent.pid')), patient);
    const asked = reload();
    await eventually(() => gateway.keyCalls > 0, patient);
    write();
    proxy.heal();
    expect(await asked).toMatchObject({ code: 0 });
    await eventually(() => scopes().join() === 'shop');
    expect(agent.child.exitCode).toBeNull();
  }, 180_000);

  it('says so when the agent is killed in the middle, and the next start serves what the file says', async () => {
    const agent = await started();
    proxy.freeze();
    write(reports());
    const asked = reload();
    await eventually(() => proxy.count() > 0, patient);
    agent.child.kill('SIGKILL');
    expect(await asked).toEqual({ code: 1, out: '', err: `svc-agent: process ${agent.child.pid} ended before its reload did\n` });
    proxy.heal();
    expect(await reload(), 'the number that it left').toMatchObject({
      code: 1,
      err: `svc-agent: ${file}: no agent runs with the probes.dir ${directory}\n`,
    });
    rmSync(join(directory, 'svc-agent-ready'), { force: true });
    await started();
    await eventually(() => scopes().join() === 'shop,reports');
  }, 180_000);

  it('signals no other program, and follows no link', async () => {
    const sleeper = spawn('sleep', ['60']);
    children.push(sleeper);
    const pid = join(directory, 'svc-agent.pid');
    writeFileSync(pid, String(sleeper.pid));
    expect(await reload()).toMatchObject({ code: 1, err: expect.stringContaining('no agent runs with the probes.dir') });
    rmSync(pid);
    const aim = join(directory, 'aim');
    writeFileSync(aim, 'precious');
    symlinkSync(aim, pid);
    expect(await reload()).toMatchObject({ code: 1, err: expect.stringContaining('no agent runs') });
    expect(sleeper.exitCode).toBeNull();
    expect(sleeper.signalCode).toBeNull();
    await started();
    expect([readFileSync(aim, 'utf8'), lstatSync(pid).isFile()]).toEqual(['precious', true]);
  }, 180_000);
});
