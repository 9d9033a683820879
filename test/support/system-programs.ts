import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Layout } from '../../dev/layout.js';
import { freePort } from '../../dev/ports.js';
import { answersOk } from '../../dev/wait-for.js';
import { shopToml } from './api.js';
import { createProgram, type Program } from './program.js';
import { databaseToml } from './toml.js';

export interface SystemOptions {
  /** Of the gateway's own database. */
  databaseUrl: string;
  temporalAddress: string;
  /** Where the programs come from; the clone if absent. */
  root?: string;
  /** Where the agent comes from, if not from there. */
  agentRoot?: string;
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

export type Detour = (url: string) => Promise<string>;

/** Requests on `hasty` expire unless somebody approves them within a second. */
const hastyToml = `
[[workflows]]
environment = "hasty"
pending_ttl_secs = 1
[[workflows.steps]]
[[workflows.steps.approvers]]
group = "dba-team"
`;

/** The `server.toml` of every server and worker; returns its path. */
export function writeServerConfig(layout: Layout, { temporalAddress, store, toml }: SystemOptions, databaseUrl: string): string {
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

export async function serverProgram(layout: Layout, config: string, n: number, root?: string) {
  const name = `server-${n}`;
  const listen = `127.0.0.1:${await freePort()}`;
  const url = `http://${listen}`;
  const program = createProgram({
    name,
    launcher: 'svc',
    root,
    args: ['server', '--config', config, '--listen', listen],
    logFile: join(layout.run, `${name}.log`),
    environment: { ...process.env, TEST_PROGRAM: name },
    isReady: () => answersOk(`${url}/health`),
  });
  return Object.assign(program, { url });
}

export async function workerProgram(layout: Layout, config: string, n: number, root?: string) {
  const name = `worker-${n}`;
  const listen = `127.0.0.1:${await freePort()}`;
  const url = `http://${listen}`;
  const program = createProgram({
    name,
    launcher: 'svc',
    root,
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

export function agentProgram(layout: Layout, serverUrl: string, options: SystemOptions, { target, store }: Targets): Program {
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
    root: options.agentRoot ?? options.root,
    args: ['--config', file],
    logFile: join(layout.run, 'agent.log'),
    environment: { ...process.env, ...options.agentEnvironment },
    readyFile,
    isReady: async () => existsSync(readyFile),
  });
}
