import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
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
  /** How many of each; one if absent. Each agent has a token of its own. */
  servers?: number;
  workers?: number;
  agents?: number;
  /** Callers and agents come through a balancer in front of the servers, not to the first one. */
  balanced?: boolean;
  /** Databases, groups and policies of `server.toml`; those of `shop` with `hasty` if absent. */
  toml?: string;
  /** Starts no agent: the test acts as one. */
  withoutAgent?: boolean;
  /** Where each server and worker finds the gateway's database and Temporal, and each agent the servers and its targets. */
  through?: { database?: Detour; temporal?: Detour; server?: Detour; target?: Detour; store?: Detour };
  /** A PostgreSQL database as the target `shop`; a new one if absent. */
  targetUrl?: string;
  /** A MySQL or MariaDB database as the target `store`, on staging only; none if absent. */
  store?: { url: string; readUrl: string } | null;
  /** The environments of `shop` that the agents serve; staging and production if absent. */
  served?: readonly string[];
  /** Lines before the tables of `agent.toml`. */
  agentHead?: string;
  /** Additions to the environment of a program, such as `server-0` or `agent-0`. */
  environmentOf?: (program: string) => NodeJS.ProcessEnv;
}

/** Makes an address for a program from the true one. */
export type Detour = (url: string, program: string) => Promise<string>;

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
export function writeServerConfig(layout: Layout, { databaseUrl, temporalAddress, store, toml }: SystemOptions): string {
  const file = join(layout.data, 'server.toml');
  const lines = [
    `state_dir = "${layout.state}"`,
    toml ?? `${shopToml.replace('"production"]', '"production", "hasty"]')}${hastyToml}`,
    store ? databaseToml('store', ['staging'], 'mysql') : '',
    '[server]\nlisten = "127.0.0.1:0"\ndrain_secs = 5',
    `[worker]\nlisten = "\${TEST_WORKER_LISTEN:-127.0.0.1:1}"\n[database]\nurl = "\${TEST_DATABASE:-${databaseUrl}}?application_name=\${TEST_PROGRAM:-test}"\nstart_wait_secs = 60`,
    `[temporal]\naddress = "\${TEST_TEMPORAL:-${temporalAddress}}"\ntask_queue = "test-${randomUUID()}"`,
    '[logging]\nlevel = "info"',
  ];
  writeFileSync(file, lines.join('\n'));
  return file;
}

export async function serverProgram(layout: Layout, config: string, n: number, options: SystemOptions) {
  const listen = `127.0.0.1:${await freePort()}`;
  return gatewayProgram(layout, `server-${n}`, options, {
    listen,
    args: ['server', '--config', config, '--listen', listen],
  });
}

export async function workerProgram(layout: Layout, config: string, n: number, options: SystemOptions) {
  const listen = `127.0.0.1:${await freePort()}`;
  return gatewayProgram(layout, `worker-${n}`, options, { listen, args: ['worker', '--config', config] });
}

async function gatewayProgram(
  layout: Layout,
  name: string,
  { databaseUrl, temporalAddress, through = {}, root, environmentOf }: SystemOptions,
  { listen, args }: { listen: string; args: string[] },
) {
  const url = `http://${listen}`;
  const program = createProgram({
    name,
    launcher: 'svc',
    root,
    args,
    logFile: join(layout.run, `${name}.log`),
    environment: {
      ...process.env,
      TEST_PROGRAM: name,
      TEST_WORKER_LISTEN: listen,
      TEST_DATABASE: await detour(databaseUrl, through.database, name),
      TEST_TEMPORAL: new URL(await detour(`tcp://${temporalAddress}`, through.temporal, name)).host,
      ...environmentOf?.(name),
    },
    isReady: () => answersOk(`${url}/health`),
  });
  return Object.assign(program, { url });
}

const detour = async (url: string, by: Detour | undefined, program: string) => (by === undefined ? url : by(url, program));

/** The file of an agent's token; that of the first one is written by the first start of a server. */
export const agentTokenFile = (layout: Layout, n: number) => join(layout.state, n === 0 ? 'agent-token' : `agent-token-${n}`);

export async function agentProgram(
  layout: Layout,
  n: number,
  options: SystemOptions,
  { entry, targetUrl }: { entry: string; targetUrl: string },
): Promise<Program> {
  const { through = {}, store } = options;
  const name = `agent-${n}`;
  const file = join(layout.data, `${name}.toml`);
  const folder = join(layout.run, name);
  mkdirSync(folder, { recursive: true });
  const readyFile = join(folder, 'svc-agent-ready');
  const head = `poll_wait_ms = 5000
startup_retry_initial_ms = 100
drain_timeout_secs = 20
${options.agentHead ?? ''}
[server]
url = "${await detour(entry, through.server, name)}"
agent_token_file = "${agentTokenFile(layout, n)}"
[probes]
dir = "${folder}"`;
  const target = await detour(targetUrl, through.target, name);
  const { served = ['staging', 'production'] } = options;
  const databases = served.map((environment) => `[databases.shop.${environment}]\nurl = "${target}"`);
  if (store) {
    const url = await detour(store.url, through.store, name);
    databases.push(`[databases.store.staging]\nurl = "${url}"\nread_url = "${store.readUrl}"`);
  }
  writeFileSync(file, [head, ...databases].join('\n'));
  return createProgram({
    name,
    launcher: 'svc-agent',
    root: options.agentRoot ?? options.root,
    args: ['--config', file],
    logFile: join(layout.run, `${name}.log`),
    environment: { ...process.env, ...options.environmentOf?.(name) },
    readyFile,
    isReady: async () => existsSync(readyFile),
  });
}
