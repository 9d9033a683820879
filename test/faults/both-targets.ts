import { findMysql } from '../support/mysql.js';
import { createTestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { type System, startSystem } from '../support/system.js';
import type { SystemOptions } from '../support/system-programs.js';
import { temporalAddress } from '../support/temporal.js';
import { startTestAgent, type TestAgent, type TestAgentOptions } from '../support/test-agent.js';
import { createTripwire, type Tripwire } from '../support/tripwire.js';
import { type PatientCalls, patientCalls } from './calls.js';
import { waitMs } from './looks.js';
import { prepareMysql, preparePostgres, type Target } from './targets.js';
import { createWrites } from './writes.js';

/** A gateway whose agent writes to a PostgreSQL and, where there is one, a MySQL or MariaDB. */
export interface BothTargets {
  system: System;
  calls: PatientCalls;
  writes: ReturnType<typeof createWrites>;
  targets: Target[];
  /** Between the system's own agent and all that it calls. */
  wire: Tripwire;
  /** Starts a further agent with the same token, in this process and past the wire. */
  startOther(options?: Pick<TestAgentOptions, 'head' | 'timings'>): Promise<void>;
  /** Stops those. */
  endOthers(): Promise<void>;
  close(): Promise<void>;
}

type Options = Pick<SystemOptions, 'agentHead' | 'environmentOf'> & { testFile: string; keys: number };

/** Starts it; `close` it after the test file, whose `import.meta.url` is given. */
export async function startBothTargets({ testFile, keys, ...options }: Options): Promise<BothTargets> {
  const [stored, mysql] = await Promise.all([createTestDatabase(), findMysql(testFile)]);
  const store = mysql && (await mysql.createDatabase());
  const wire = createTripwire();
  const front = (name: string) => (url: string) => wire.front(name, url);
  const system = await startSystem({
    databaseUrl: stored.url,
    temporalAddress: await temporalAddress(),
    store,
    ...options,
    through: { server: front('server'), target: front('shop'), store: front('store') },
  });
  const targets = [await preparePostgres(system.targetUrl, keys)];
  if (store) targets.push(await prepareMysql(store.adminUrl, keys));
  const calls = patientCalls(system);
  const others: TestAgent[] = [];
  const endOthers = async () => {
    for (const other of others) other.stop();
    await Promise.all(others.splice(0).map((other) => other.exit));
  };
  return {
    system,
    calls,
    targets,
    wire,
    endOthers,
    writes: createWrites({ system, calls, targets }),
    async startOther(how = {}) {
      const gateway = { url: system.servers[0]!.url };
      const tables = store ? `[databases.store.staging]\nurl = "${store.url}"` : '';
      const other = startTestAgent({ gateway, token: system.tokens.agent, url: system.targetUrl, tables, ...how });
      others.push(other);
      await eventually(() => other.lines.some((line) => line.includes('agent is ready')), waitMs);
    },
    async close() {
      await endOthers();
      for (const target of targets) await target.close();
      await system.close();
      await wire.close();
      await store?.drop();
      await stored.drop();
    },
  };
}
