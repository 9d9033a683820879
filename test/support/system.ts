import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type ApprovalMacs, approvalMacs } from '../../crypto/approval-macs.js';
import { type Layout, layoutOf } from '../../dev/layout.js';
import { prepareUsers, userToken } from '../../dev/users.js';
import { createEmptyDatabase } from './postgres.js';
import type { Program } from './program.js';
import {
  agentProgram,
  type Detour,
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

/** Starts servers, workers and an agent through their launchers. `close` kills those that still run. */
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
  // Tests take the servers of these pools away.
  for (const pool of [database, target]) pool.on('error', () => {});
  const close = async () => {
    await Promise.all([programs.agent, ...programs.servers, ...programs.workers].map((program) => program.kill()));
    await Promise.all([database.end(), target.end()]);
    await made?.drop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await startPrograms(layout, programs, options);
  } catch (error) {
    await close();
    throw error;
  }
  return { ...programs, tokens: tokensOf(layout), macs: macsOf(layout), database, target, targetUrl, close };
}

type Programs = Pick<System, 'servers' | 'workers' | 'agent' | 'configFile'>;

async function preparePrograms(layout: Layout, options: SystemOptions, targetUrl: string): Promise<Programs> {
  const { through = {}, store = null } = options;
  const configFile = writeServerConfig(layout, options, await detour(options.databaseUrl, through.database));
  const servers = await several(options.servers, (n) => serverProgram(layout, configFile, n, options.root));
  const workers = await several(options.workers, (n) => workerProgram(layout, configFile, n, options.root));
  const agent = agentProgram(layout, await detour(servers[0]!.url, through.server), options, {
    target: await detour(targetUrl, through.target),
    store: store && { ...store, url: await detour(store.url, through.store) },
  });
  return { servers, workers, agent, configFile };
}

async function startPrograms(layout: Layout, { servers, workers, agent }: Programs, options: SystemOptions): Promise<void> {
  for (const program of [...servers, ...workers]) program.launch();
  await Promise.all([...servers, ...workers].map((program) => program.untilReady()));
  await Promise.all([options.withoutAgent ? null : agent.start(), prepareUsers(layout, servers[0]!.url)]);
}

const detour = async (url: string, by: Detour | undefined) => (by === undefined ? url : by(url));

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
