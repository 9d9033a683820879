import { type OwnPostgres, openOwnPostgres } from '../support/own-postgres.js';
import { openSteppedClocks, type SteppedClocks } from '../support/stepped-clock.js';
import { type System, startSystem } from '../support/system.js';
import { openOwnTemporal } from '../worker/own-temporal.js';
import { createNetwork, type Network } from './network.js';
import { openReplicated, type ReplicatedPostgres } from './replicated-postgres.js';

/** Several of each program, with everything that can be taken away from them. */
export interface Stage {
  system: System;
  postgres: ReplicatedPostgres;
  target: OwnPostgres;
  temporal: Awaited<ReturnType<typeof openOwnTemporal>>;
  network: Network;
  /** Null without a C compiler. */
  clocks: SteppedClocks | null;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const closing: (() => unknown)[] = [];
  const close = async () => {
    for (const end of closing.splice(0).reverse()) await end();
  };
  try {
    const clocks = openSteppedClocks();
    closing.push(() => clocks?.close());
    const environmentOf = (program: string) => clocks?.environmentOf(program) ?? {};
    const temporal = await openOwnTemporal();
    closing.push(temporal.close);
    await temporal.start();
    const target = await openOwnPostgres();
    closing.push(target.close);
    const postgres = await openReplicated(environmentOf);
    closing.push(postgres.close);
    const network = createNetwork();
    closing.push(network.close);
    const system = await startSystem({
      databaseUrl: postgres.url('postgres'),
      temporalAddress: temporal.address,
      targetUrl: target.url('postgres'),
      servers: 2,
      workers: 2,
      agents: 3,
      balanced: true,
      environmentOf,
      through: {
        database: network.detourTo('the database'),
        temporal: network.detourTo('Temporal'),
        server: network.detourTo('the servers'),
        target: network.detourTo('the target'),
      },
    });
    closing.push(system.close);
    return { system, postgres, target, temporal, network, clocks, close };
  } catch (error) {
    await close();
    throw error;
  }
}
