import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type Layout, layoutOf } from '../../dev/layout.js';
import { freePort } from '../../dev/ports.js';
import { prepareUsers, userToken } from '../../dev/users.js';
import { answersOk } from '../../dev/wait-for.js';
import { shopToml } from './api.js';
import { createEmptyDatabase } from './postgres.js';
import { createProgram, type Program } from './program.js';

export interface SystemOptions {
  /** Of the gateway's own database. */
  databaseUrl: string;
  temporalAddress: string;
  /** How many of each; the agent is one, and calls the first server. */
  servers?: number;
  workers?: number;
  /** Where the agent finds the first server, given that server's address; as it is if absent. */
  agentServerUrl?: (url: string) => Promise<string>;
}

/** A gateway of separate processes with a target database of its own; everything is ready. */
export interface System {
  servers: (Program & { url: string })[];
  workers: (Program & { url: string })[];
  agent: Program;
  /** The `server.toml` of every server and worker. */
  configFile: string;
  tokens: Record<'admin' | 'alice' | 'bob' | 'agent', string>;
  /** Looks into the gateway's database, past every program. */
  database: pg.Pool;
  /** The target `shop`, the same for each environment: a table `entries (word text)`, and the markers. */
  target: pg.Pool;
  close(): Promise<void>;
}

/** Requests on `hasty` expire unless somebody approves them within a second. */
const hastyToml = `
[[workflows]]
environment = "hasty"
pending_ttl_secs = 1
[[workflows.steps]]
[[workflows.steps.approvers]]
group = "dba-team"
`;

/** Starts servers, workers and an agent through their launchers; `close` kills what still runs. */
export async function startSystem(options: SystemOptions): Promise<System> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-system-'));
  chmodSync(folder, 0o755);
  const layout = layoutOf(folder);
  mkdirSync(layout.run, { recursive: true });
  const targetDatabase = await createEmptyDatabase();
  const target = new pg.Pool({ connectionString: targetDatabase.url, max: 2 });
  await target.query('create table entries (word text)');
  const config = writeServerConfig(layout, options);
  const servers = await several(options.servers, (n) => serverProgram(layout, config, n));
  const workers = await several(options.workers, (n) => workerProgram(layout, config, n));
  const [first] = servers;
  const serverUrl = (await options.agentServerUrl?.(first!.url)) ?? first!.url;
  const agent = agentProgram(layout, serverUrl, targetDatabase.url);
  const database = new pg.Pool({ connectionString: options.databaseUrl, max: 2 });
  // Tests take the server away.
  database.on('error', () => {});
  const close = async () => {
    await Promise.all([agent, ...servers, ...workers].map((program) => program.kill()));
    await Promise.all([database.end(), target.end()]);
    await targetDatabase.drop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (const program of [...servers, ...workers]) program.launch();
    await Promise.all([...servers, ...workers].map((program) => program.untilReady()));
    await Promise.all([agent.start(), prepareUsers(layout, first!.url)]);
  } catch (error) {
    await close();
    throw error;
  }
  return { servers, workers, agent, configFile: config, tokens: tokensOf(layout), database, target, close };
}

async function several<T>(count = 1, make: (n: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => make(n)));
}

function writeServerConfig(layout: Layout, { databaseUrl, temporalAddress }: SystemOptions): string {
  const file = join(layout.data, 'server.toml');
  const lines = [
    `state_dir = "${layout.state}"`,
    shopToml.replace('"production"]', '"production", "hasty"]'),
    hastyToml,
    '[server]\nlisten = "127.0.0.1:0"\ndrain_secs = 5',
    `[worker]\nlisten = "\${TEST_WORKER_LISTEN:-127.0.0.1:1}"\n[database]\nurl = "${databaseUrl}"\nstart_wait_secs = 60`,
    `[temporal]\naddress = "${temporalAddress}"\ntask_queue = "test-${randomUUID()}"`,
    '[logging]\nlevel = "info"',
  ];
  writeFileSync(file, lines.join('\n'));
  return file;
}

async function serverProgram(layout: Layout, config: string, n: number) {
  const listen = `127.0.0.1:${await freePort()}`;
  const url = `http://${listen}`;
  const program = createProgram({
    name: `server-${n}`,
    launcher: 'svc',
    args: ['server', '--config', config, '--listen', listen],
    logFile: join(layout.run, `server-${n}.log`),
    environment: process.env,
    isReady: () => answersOk(`${url}/health`),
  });
  return Object.assign(program, { url });
}

async function workerProgram(layout: Layout, config: string, n: number) {
  const listen = `127.0.0.1:${await freePort()}`;
  const url = `http://${listen}`;
  const program = createProgram({
    name: `worker-${n}`,
    launcher: 'svc',
    args: ['worker', '--config', config],
    logFile: join(layout.run, `worker-${n}.log`),
    environment: { ...process.env, TEST_WORKER_LISTEN: listen },
    isReady: () => answersOk(`${url}/health`),
  });
  return Object.assign(program, { url });
}

function agentProgram(layout: Layout, serverUrl: string, targetUrl: string): Program {
  const file = join(layout.data, 'agent.toml');
  const readyFile = join(layout.run, 'svc-agent-ready');
  const head = `poll_wait_ms = 5000
startup_retry_initial_ms = 100
drain_timeout_secs = 20
[server]
url = "${serverUrl}"
agent_token_file = "${join(layout.state, 'agent-token')}"
[probes]
dir = "${layout.run}"`;
  const databases = ['staging', 'production'].map((name) => `[databases.shop.${name}]\nurl = "${targetUrl}"`);
  writeFileSync(file, [head, ...databases].join('\n'));
  return createProgram({
    name: 'agent',
    launcher: 'svc-agent',
    args: ['--config', file],
    logFile: join(layout.run, 'agent.log'),
    environment: process.env,
    readyFile,
    isReady: async () => existsSync(readyFile),
  });
}

function tokensOf(layout: Layout): System['tokens'] {
  const of = (name: string) => readFileSync(join(layout.state, name), 'utf8').trim();
  return {
    admin: of('admin-token'),
    agent: of('agent-token'),
    alice: userToken(layout, 'alice'),
    bob: userToken(layout, 'bob'),
  };
}
