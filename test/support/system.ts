import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type ApprovalMacs, approvalMacs } from '../../crypto/approval-macs.js';
import { type Layout, layoutOf } from '../../dev/layout.js';
import { freePort } from '../../dev/ports.js';
import { prepareUsers, userToken } from '../../dev/users.js';
import { answersOk } from '../../dev/wait-for.js';
import { shopToml } from './api.js';
import { createEmptyDatabase } from './postgres.js';
import { createProgram, type Program } from './program.js';
import { databaseToml } from './toml.js';

export interface SystemOptions {
  /** Of the gateway's own database. */
  databaseUrl: string;
  temporalAddress: string;
  /** How many of each. There is one agent, which calls the first server. */
  servers?: number;
  workers?: number;
  /** Databases, groups and policies of `server.toml`; those of `shop` with `hasty` if absent. */
  toml?: string;
  /** Starts no agent: the test acts as one. */
  withoutAgent?: boolean;
  /**
   * Where programs find the gateway's database, and where the agent finds the first server and its targets, made from the true
   * address; that address if absent.
   */
  through?: { database?: Detour; server?: Detour; target?: Detour; store?: Detour };
  /** A PostgreSQL database as the target `shop`; a new one if absent. */
  targetUrl?: string;
  /** A MySQL or MariaDB database as the target `store`, on staging only; none if absent. */
  store?: { url: string; readUrl: string } | null;
  /** Lines before the tables of `agent.toml`, and additions to the environment of the agent. */
  agentHead?: string;
  agentEnvironment?: NodeJS.ProcessEnv;
}

type Detour = (url: string) => Promise<string>;

/**
 * A gateway of separate processes with a target database of its own, all ready. Servers and workers name their sessions
 * `server-0`, `worker-0` and so on.
 */
export interface System {
  servers: (Program & { url: string })[];
  workers: (Program & { url: string })[];
  agent: Program;
  /** The `server.toml` of every server and worker. */
  configFile: string;
  tokens: Record<'admin' | 'alice' | 'bob' | 'agent', string>;
  /** The gateway's database, past every program. */
  database: pg.Pool;
  /** Under the secret key of the servers, for a test that makes moves itself. */
  macs: ApprovalMacs;
  /** The target `shop`, the same for each environment. It has a table `entries (word text)` and the markers. */
  target: pg.Pool;
  targetUrl: string;
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

/** Starts servers, workers and an agent through their launchers. `close` kills those that still run. */
export async function startSystem(options: SystemOptions): Promise<System> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-system-'));
  chmodSync(folder, 0o755);
  const layout = layoutOf(folder);
  mkdirSync(layout.run, { recursive: true });
  const { through = {} } = options;
  const made = options.targetUrl === undefined ? await createEmptyDatabase() : null;
  const targetUrl = options.targetUrl ?? made!.url;
  const target = new pg.Pool({ connectionString: targetUrl, max: 2 });
  await target.query('create table entries (word text)');
  const config = writeServerConfig(layout, options, await detour(options.databaseUrl, through.database));
  const servers = await several(options.servers, (n) => serverProgram(layout, config, n));
  const workers = await several(options.workers, (n) => workerProgram(layout, config, n));
  const [first] = servers;
  const { store = null } = options;
  const agent = agentProgram(layout, await detour(first!.url, through.server), options, {
    target: await detour(targetUrl, through.target),
    store: store && { ...store, url: await detour(store.url, through.store) },
  });
  const database = new pg.Pool({ connectionString: options.databaseUrl, max: 2 });
  // Tests take the servers of these pools away.
  for (const pool of [database, target]) pool.on('error', () => {});
  const close = async () => {
    await Promise.all([agent, ...servers, ...workers].map((program) => program.kill()));
    await Promise.all([database.end(), target.end()]);
    await made?.drop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (const program of [...servers, ...workers]) program.launch();
    await Promise.all([...servers, ...workers].map((program) => program.untilReady()));
    await Promise.all([options.withoutAgent ? null : agent.start(), prepareUsers(layout, first!.url)]);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    servers,
    workers,
    agent,
    configFile: config,
    tokens: tokensOf(layout),
    macs: macsOf(layout),
    database,
    target,
    targetUrl,
    close,
  };
}

const detour = async (url: string, by: Detour | undefined) => (by === undefined ? url : by(url));

async function several<T>(count = 1, make: (n: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => make(n)));
}

function writeServerConfig(layout: Layout, { temporalAddress, store, toml }: SystemOptions, databaseUrl: string): string {
  const file = join(layout.data, 'server.toml');
  const lines = [
    `state_dir = "${layout.state}"`,
    toml ?? `${shopToml.replace('"production"]', '"production", "hasty"]')}${hastyToml}`,
    store ? databaseToml('store', ['staging'], 'mysql') : '',
    '[server]\nlisten = "127.0.0.1:0"\ndrain_secs = 5',
    `[worker]\nlisten = "\${TEST_WORKER_LISTEN:-127.0.0.1:1}"\n[database]\nurl = "${databaseUrl}?application_name=\${TEST_PROGRAM:-test}"\nstart_wait_secs = 60`,
    `[temporal]\naddress = "${temporalAddress}"\ntask_queue = "test-${randomUUID()}"`,
    '[logging]\nlevel = "info"',
  ];
  writeFileSync(file, lines.join('\n'));
  return file;
}

async function serverProgram(layout: Layout, config: string, n: number) {
  const name = `server-${n}`;
  const listen = `127.0.0.1:${await freePort()}`;
  const url = `http://${listen}`;
  const program = createProgram({
    name,
    launcher: 'svc',
    args: ['server', '--config', config, '--listen', listen],
    logFile: join(layout.run, `${name}.log`),
    environment: { ...process.env, TEST_PROGRAM: name },
    isReady: () => answersOk(`${url}/health`),
  });
  return Object.assign(program, { url });
}

async function workerProgram(layout: Layout, config: string, n: number) {
  const name = `worker-${n}`;
  const listen = `127.0.0.1:${await freePort()}`;
  const url = `http://${listen}`;
  const program = createProgram({
    name,
    launcher: 'svc',
    args: ['worker', '--config', config],
    logFile: join(layout.run, `${name}.log`),
    environment: { ...process.env, TEST_PROGRAM: name, TEST_WORKER_LISTEN: listen },
    isReady: () => answersOk(`${url}/health`),
  });
  return Object.assign(program, { url });
}

interface Targets {
  target: string;
  store: { url: string; readUrl: string } | null;
}

function agentProgram(layout: Layout, serverUrl: string, options: SystemOptions, { target, store }: Targets): Program {
  const file = join(layout.data, 'agent.toml');
  const readyFile = join(layout.run, 'svc-agent-ready');
  const head = `poll_wait_ms = 5000
startup_retry_initial_ms = 100
drain_timeout_secs = 20
${options.agentHead ?? ''}
[server]
url = "${serverUrl}"
agent_token_file = "${join(layout.state, 'agent-token')}"
[probes]
dir = "${layout.run}"`;
  const databases = ['staging', 'production'].map((name) => `[databases.shop.${name}]\nurl = "${target}"`);
  if (store) databases.push(`[databases.store.staging]\nurl = "${store.url}"\nread_url = "${store.readUrl}"`);
  writeFileSync(file, [head, ...databases].join('\n'));
  return createProgram({
    name: 'agent',
    launcher: 'svc-agent',
    args: ['--config', file],
    logFile: join(layout.run, 'agent.log'),
    environment: { ...process.env, ...options.agentEnvironment },
    readyFile,
    isReady: async () => existsSync(readyFile),
  });
}

const macsOf = (layout: Layout): ApprovalMacs =>
  approvalMacs(Buffer.from(readFileSync(join(layout.state, 'secret.key'), 'utf8').trim(), 'hex'));

function tokensOf(layout: Layout): System['tokens'] {
  const of = (name: string) => readFileSync(join(layout.state, name), 'utf8').trim();
  return {
    admin: of('admin-token'),
    agent: of('agent-token'),
    alice: userToken(layout, 'alice'),
    bob: userToken(layout, 'bob'),
  };
}
