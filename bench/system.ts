import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { type Child, startChild } from '../dev/child.js';
import { prepareGatewayDatabase, prepareShop } from '../dev/databases.js';
import { addPostgres, addTemporal } from '../dev/engines.js';
import { addGateway, type GatewayPlan } from '../dev/gateway.js';
import { planDemo } from '../dev/gateway-plan.js';
import { clone, type Layout, layoutOf } from '../dev/layout.js';
import { loadPasswords } from '../dev/passwords.js';
import { freePort } from '../dev/ports.js';
import type { PostgresServer } from '../dev/postgres.js';
import { createReport } from '../dev/report.js';
import { createSession, type Session } from '../dev/session.js';
import { awaitSnapshots } from '../dev/snapshots.js';
import { prepareUsers, userToken } from '../dev/users.js';
import { waitFor } from '../dev/wait-for.js';
import { sleep } from '../lib/sleep.js';
import { type Caller, createCaller } from './caller.js';
import { agentStarter, type StartAgent, withOrders, withOwnConfig } from './own-agent.js';
import { createProfiling } from './profiling.js';
import { withTraces } from './traces.js';

/** Settings of one run, such as `seconds=60`. */
export type BenchOptions = Record<string, number>;

/** A whole gateway in a folder of its own: PostgreSQL with fsync, Temporal on a file, server, worker and agent as processes. */
export interface BenchSystem {
  alice: Caller;
  bob: Caller;
  admin: Caller;
  serverUrl: string;
  /** The gateway's own database, to read what no caller can. */
  database: pg.Pool;
  databaseUrl: string;
  temporalAddress: string;
  secretKeyFile: string;
  /** Holds that database and the targets. */
  postgres: PostgresServer;
  logFolder: string;
  processes: readonly Child[];
  /** Adds lines to the `server.toml` of server and worker, and waits until both have it. */
  configure(lines: { head: string; tables: string }): Promise<void>;
  /** Runs `work`, with profilers if they are asked for. */
  measure<T>(work: () => Promise<T>): Promise<T>;
  /** Starts an agent for a bench that brings its own. */
  startAgent: StartAgent;
  /** Starts a further server or worker that listens there. */
  startBeside(name: 'server' | 'worker', listen: string): Child;
  stop(): Promise<void>;
}

interface SystemOptions {
  profileFolder: string | null;
  /** Starts no agent, and serves `orders`, a pair of dialect mysql. */
  ownAgents: boolean;
  /** Server, worker and agent send their spans to a collector that throws them away. */
  traces: boolean;
}

/** Starts the system of `npm start` without its play. */
export async function startSystem(folder: string, options: SystemOptions): Promise<BenchSystem> {
  chmodSync(folder, 0o755);
  const processes: Child[] = [];
  const session = createSession();
  const add: typeof session.add = (part) => {
    processes.push(part.child);
    session.add(part);
  };
  try {
    const layout = layoutOf(folder);
    const started = await startParts({ ...session, add }, layout, options);
    const database = new pg.Pool({ connectionString: started.databaseUrl, max: 2 });
    const callers = callersOf(layout, started.serverUrl);
    const profiling = createProfiling(options.profileFolder, processes, started.postgres, join(layout.run, 'postgres.log'));
    return {
      ...callers,
      serverUrl: started.serverUrl,
      database,
      databaseUrl: started.databaseUrl,
      temporalAddress: started.temporalAddress,
      secretKeyFile: join(layout.state, 'secret.key'),
      postgres: started.postgres,
      logFolder: layout.run,
      processes,
      configure: (lines) => configure(started.serverConfig, lines, processes, database),
      measure: profiling.measure,
      startAgent: agentStarter(started.agent, folder),
      startBeside: (name, listen) => startBeside(started.plan, layout, name, listen),
      stop: () => stopSystem(session, database, callers),
    };
  } catch (error) {
    await session.stop();
    throw error;
  }
}

/** Throws if a process had ended by itself. */
async function stopSystem(session: Session, database: pg.Pool, callers: Readonly<Record<string, Caller>>): Promise<void> {
  for (const caller of Object.values(callers)) caller.close();
  await database.end();
  await session.stop();
  const failure = session.failure();
  if (failure !== null) throw new Error(failure);
}

/** Starts all processes. `agent` is the plan of the agent of `npm start`, also where a bench brings its own. */
async function startParts(session: Session, layout: Layout, { profileFolder, ownAgents, traces }: SystemOptions) {
  const report = createReport((text) => process.stderr.write(text));
  const passwords = loadPasswords(layout.passwords);
  const postgres = await addPostgres(session, layout, passwords, report);
  const temporal = await addTemporal(session, layout, await freePort(), report);
  const databaseUrl = await prepareGatewayDatabase(postgres, passwords);
  await prepareShop(postgres, passwords);
  const demo = await planDemo(layout, { apiPort: await freePort(), postgres, passwords, databaseUrl, temporal });
  const own = ownAgents ? withOrders(demo, layout.data) : withOwnConfig(demo, layout.data);
  const plan = traces ? await withTraces(own, layout.data, session) : own;
  await addGateway(session, layout, profileFolder === null ? plan : profiled(plan, profileFolder), report);
  await prepareUsers(layout, plan.serverUrl);
  if (!ownAgents) await awaitSnapshots(layout, plan.serverUrl, session.signal, report);
  const { serverUrl, serverConfig } = plan;
  return { postgres, databaseUrl, temporalAddress: temporal.address, serverUrl, serverConfig, plan, agent: demo.agent! };
}

function startBeside(
  { serverConfig, environment }: GatewayPlan,
  { run }: Layout,
  name: 'server' | 'worker',
  listen: string,
): Child {
  const more = name === 'server' ? ['--listen', listen] : [];
  return startChild({
    name: `another ${name}`,
    file: process.execPath,
    args: [join(clone, 'bin', 'svc'), name, '--config', serverConfig, ...more],
    logFile: join(run, `another-${name}.log`),
    deathSignal: 'SIGKILL',
    environment: { ...environment, SVC_DEV_WORKER_LISTEN: listen },
  });
}

/** Reloads have a pause of 5 s between them. */
async function configure(
  file: string,
  { head, tables }: { head: string; tables: string },
  processes: readonly Child[],
  database: pg.Pool,
): Promise<void> {
  const generation = async () => (await database.query('select max(number) as number from config_generations')).rows[0].number;
  const before = await generation();
  writeFileSync(file, `${head}\n${readFileSync(file, 'utf8')}\n${tables}`);
  for (const { pid } of processes.filter(({ name }) => /server|worker/i.test(name))) process.kill(pid, 'SIGHUP');
  await waitFor('the new configuration', async () => (await generation()) > before, { ms: 30_000 });
  // The other process has read its file too by then.
  await sleep(6000);
}

const callersOf = (layout: Layout, serverUrl: string) => ({
  alice: createCaller(serverUrl, userToken(layout, 'alice')),
  bob: createCaller(serverUrl, userToken(layout, 'bob')),
  admin: createCaller(serverUrl, readFileSync(join(layout.state, 'admin-token'), 'utf8').trim()),
});

function profiled(plan: GatewayPlan, folder: string): GatewayPlan {
  const hook = fileURLToPath(new URL('./profiler.mjs', import.meta.url));
  const variables = { NODE_OPTIONS: `--import=${hook}`, SVC_PROFILE_DIR: folder };
  return {
    ...plan,
    environment: { ...plan.environment, ...variables },
    agent: plan.agent && { ...plan.agent, environment: { ...plan.agent.environment, ...variables } },
  };
}
