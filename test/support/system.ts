import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type ApprovalMacs, approvalMacs } from '../../crypto/approval-macs.js';
import { callApi, unexpected } from '../../dev/api-call.js';
import { type Layout, layoutOf } from '../../dev/layout.js';
import { prepareUsers, userToken } from '../../dev/users.js';
import { sleep } from '../../lib/sleep.js';
import { type Balancer, startBalancer } from './balancer.js';
import { createEmptyDatabase } from './postgres.js';
import type { Program } from './program.js';
import {
  agentProgram,
  agentTokenFile,
  type SystemOptions,
  serverProgram,
  workerProgram,
  writeServerConfig,
} from './system-programs.js';

/**
 * A gateway of separate processes with a target database of its own, all ready. Servers and workers name their sessions
 * `server-0`, `worker-0` and so on.
 */
export interface System {
  servers: (Program & { url: string })[];
  workers: (Program & { url: string })[];
  agents: Program[];
  /** The first of them. */
  agent: Program;
  /** Where callers go: to the balancer, or to any of the servers. */
  entries: string[];
  /** The `server.toml` of every server and worker. */
  configFile: string;
  tokens: Record<'admin' | 'alice' | 'bob' | 'agent', string>;
  /** A direct connection to the gateway's database. */
  database: pg.Pool;
  /** Under the secret key of the servers, for a test that makes moves itself. */
  macs: ApprovalMacs;
  /** The target `shop`, the same for each environment. It has a table `entries (word text)` and the markers. */
  target: pg.Pool;
  targetUrl: string;
  /** Has the log of each program, earlier runs included. */
  logFolder: string;
  close(): Promise<void>;
}

/** Starts servers, workers and agents through their launchers. `close` kills those that still run. */
export async function startSystem(options: SystemOptions): Promise<System> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-system-'));
  chmodSync(folder, 0o755);
  const layout = layoutOf(folder);
  mkdirSync(layout.run, { recursive: true });
  const made = options.targetUrl === undefined ? await createEmptyDatabase() : null;
  const targetUrl = options.targetUrl ?? made!.url;
  const target = new pg.Pool({ connectionString: targetUrl, max: 2 });
  await target.query('create table entries (word text)');
  const programs = await preparePrograms(layout, options, targetUrl);
  const database = new pg.Pool({ connectionString: options.databaseUrl, max: 2 });
  // Tests stop the servers that these pools are connected to.
  for (const pool of [database, target]) pool.on('error', () => {});
  const close = async () => {
    const { agents, servers, workers, balancer } = programs;
    await Promise.all([...agents, ...servers, ...workers].map((program) => program.kill()));
    await Promise.all([database.end(), target.end(), balancer?.close()]);
    await made?.drop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await startPrograms(layout, programs, options);
  } catch (error) {
    await close();
    throw error;
  }
  const { balancer: _, ...parts } = programs;
  const secrets = { tokens: tokensOf(layout), macs: macsOf(layout) };
  return { ...parts, ...secrets, database, target, targetUrl, logFolder: layout.run, close };
}

type Programs = Pick<System, 'servers' | 'workers' | 'agents' | 'agent' | 'entries' | 'configFile'> & {
  balancer: Balancer | null;
};

async function preparePrograms(layout: Layout, options: SystemOptions, targetUrl: string): Promise<Programs> {
  const configFile = writeServerConfig(layout, options);
  const servers = await several(options.servers, (n) => serverProgram(layout, configFile, n, options));
  const workers = await several(options.workers, (n) => workerProgram(layout, configFile, n, options));
  const urls = servers.map(({ url }) => url);
  const balancer = options.balanced ? await startBalancer(urls) : null;
  const entries = balancer === null ? urls : [balancer.url];
  const agents = await several(options.agents, (n) => agentProgram(layout, n, options, { entry: entries[0]!, targetUrl }));
  return { servers, workers, agents, agent: agents[0]!, entries, balancer, configFile };
}

async function startPrograms(
  layout: Layout,
  { servers, workers, agents }: Programs,
  { withoutAgent }: SystemOptions,
): Promise<void> {
  for (const program of [...servers, ...workers]) program.launch();
  await Promise.all([...servers, ...workers].map((program) => program.untilReady()));
  const started = (withoutAgent ? [] : agents).map(async (agent, n) => {
    if (n > 0) await repeated(() => makeAgentToken(layout, servers[0]!.url, n));
    await agent.start();
  });
  await Promise.all([repeated(() => prepareUsers(layout, servers[0]!.url)), ...started]);
}

/** On a busy machine the first calls may be 503, and both kinds can be made again (HT-114). */
async function repeated(work: () => Promise<void>): Promise<void> {
  for (let left = 5; ; left -= 1) {
    try {
      return await work();
    } catch (error) {
      if (left === 0) throw error;
      await sleep(1000);
    }
  }
}

async function makeAgentToken(layout: Layout, server: string, n: number): Promise<void> {
  const token = readFileSync(join(layout.state, 'admin-token'), 'utf8').trim();
  const body = { subject_id: `agent-${n}`, subject_type: 'agent' };
  const answer = await callApi({ server, token }, 'POST', '/api/tokens', body);
  if (answer.status !== 201) throw unexpected(`a token for agent ${n}`, answer);
  writeFileSync(agentTokenFile(layout, n), String(answer.body.token), { mode: 0o600 });
}

async function several<T>(count = 1, make: (n: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => make(n)));
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
