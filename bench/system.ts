import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { Child } from '../dev/child.js';
import { prepareGatewayDatabase, prepareShop } from '../dev/databases.js';
import { addPostgres, addTemporal } from '../dev/engines.js';
import { addGateway, type GatewayPlan } from '../dev/gateway.js';
import { planDemo } from '../dev/gateway-plan.js';
import { layoutOf } from '../dev/layout.js';
import { loadPasswords } from '../dev/passwords.js';
import { freePort } from '../dev/ports.js';
import { createReport } from '../dev/report.js';
import { awaitSchemas } from '../dev/schemas.js';
import { createSession } from '../dev/session.js';
import { prepareUsers, userToken } from '../dev/users.js';
import { type Caller, createCaller } from './caller.js';
import { agentStarter, type StartAgent, withOrders } from './own-agent.js';
import { createProfiling } from './profiling.js';

/** Settings of one run, such as `seconds=60`. */
export type BenchOptions = Record<string, number>;

/** A whole gateway in a folder of its own: PostgreSQL with fsync, Temporal on a file, server, worker and agent as processes. */
export interface BenchSystem {
  alice: Caller;
  bob: Caller;
  admin: Caller;
  serverUrl: string;
  /** The gateway's own database, for looks that no caller has. */
  database: pg.Pool;
  processes: readonly Child[];
  /** Runs `work`, under profilers when asked to. */
  measure<T>(work: () => Promise<T>): Promise<T>;
  /** Starts an agent of the bench's own, where the system has none. */
  startAgent: StartAgent;
  stop(): Promise<void>;
}

/**
 * Starts the system of `npm start` without its play; `profileFolder` receives profiles. For a bench that brings its own agents it has none,
 * and serves `orders`, a pair of dialect mysql.
 */
export async function startSystem(folder: string, profileFolder: string | null, ownAgents: boolean): Promise<BenchSystem> {
  chmodSync(folder, 0o755);
  const report = createReport((text) => process.stderr.write(text));
  const processes: Child[] = [];
  const session = createSession();
  const add: typeof session.add = (part) => {
    processes.push(part.child);
    session.add(part);
  };
  const observed = { ...session, add };
  try {
    const layout = layoutOf(folder);
    const passwords = loadPasswords(layout.passwords);
    const postgres = await addPostgres(observed, layout, passwords, report);
    const temporal = await addTemporal(observed, layout, await freePort(), report);
    const databaseUrl = await prepareGatewayDatabase(postgres, passwords);
    await prepareShop(postgres, passwords);
    const demo = await planDemo(layout, { apiPort: await freePort(), postgres, passwords, databaseUrl, temporal });
    const plan = ownAgents ? withOrders(demo, folder) : demo;
    await addGateway(observed, layout, profileFolder === null ? plan : profiled(plan, profileFolder), report);
    await prepareUsers(layout, plan.serverUrl);
    if (!ownAgents) await awaitSchemas(layout, plan.serverUrl, session.signal, report);
    const database = new pg.Pool({ connectionString: databaseUrl, max: 2 });
    const callers = [
      createCaller(plan.serverUrl, userToken(layout, 'alice')),
      createCaller(plan.serverUrl, userToken(layout, 'bob')),
      createCaller(plan.serverUrl, readFileSync(join(layout.state, 'admin-token'), 'utf8').trim()),
    ];
    const profiling = createProfiling(profileFolder, processes, postgres, join(layout.run, 'postgres.log'));
    return {
      alice: callers[0]!,
      bob: callers[1]!,
      admin: callers[2]!,
      serverUrl: plan.serverUrl,
      database,
      processes,
      measure: profiling.measure,
      startAgent: agentStarter(demo.agent!, folder),
      stop: async () => {
        for (const caller of callers) caller.close();
        await database.end();
        await session.stop();
        const failure = session.failure();
        if (failure !== null) throw new Error(failure);
      },
    };
  } catch (error) {
    await session.stop();
    throw error;
  }
}

function profiled(plan: GatewayPlan, folder: string): GatewayPlan {
  const hook = fileURLToPath(new URL('./profiler.mjs', import.meta.url));
  const variables = { NODE_OPTIONS: `--import=${hook}`, SVC_PROFILE_DIR: folder };
  return {
    ...plan,
    environment: { ...plan.environment, ...variables },
    agent: plan.agent && { ...plan.agent, environment: { ...plan.agent.environment, ...variables } },
  };
}
