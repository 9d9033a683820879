import { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Metrics } from '../runtime/metrics.js';
import { describeError, isAway, withinMs } from './temporal-errors.js';
import { type PreparedServer, prepareServer } from './temporal-server.js';

export interface LinkOptions {
  namespace: string;
  callTimeoutMs: number;
  metrics: Metrics;
  log: Logger;
}

/** Temporal as it can be used right now. */
export interface UsableTemporal {
  client: Client;
  searchable: boolean;
}

/** The one place that knows whether Temporal can be used; the worker's own native connection carries all calls. */
export interface TemporalLink {
  /** The connection to use from now on, on a server that has been prepared; null when it is gone. */
  use(connection: NativeConnection | null, prepared?: PreparedServer): void;
  /** Temporal, or null while it is away; after a failure it is asked again at most once per `probeMs`. */
  find(): Promise<UsableTemporal | null>;
  /** Whether it could be used when it was last looked for; asks nobody. */
  isUsable(): boolean;
  /** True once after each absence, for the publisher: what was held back meanwhile can go out. */
  takeReturn(): boolean;
  /** One call with its deadline; failures are counted, and the next `find` looks whether the server is still what it was. */
  call<T>(operation: string, work: (client: Client) => Promise<T>): Promise<T>;
}

/** How often a server that is away is looked for; OP-72 leaves 5 s until publishing starts. */
export const probeMs = 1000;
/** How often a server that refuses calls is checked for lost search attributes. */
const recheckMs = 5000;

export function createTemporalLink(options: LinkOptions): TemporalLink {
  let current: { connection: NativeConnection; client: Client; searchable: boolean } | null = null;
  let doubt: 'none' | 'refused' | 'away' = 'none';
  let isBack = true;
  let probedAt = Number.NEGATIVE_INFINITY;

  const doubted = (error: unknown) => {
    if (isAway(error)) doubt = 'away';
    else if (doubt === 'none') doubt = 'refused';
  };
  const probe = async (connection: NativeConnection) => {
    probedAt = performance.now();
    const prepared = await prepareServer(connection, options);
    if (current?.connection !== connection) return;
    if (doubt === 'away' || prepared.repaired) isBack = true;
    current.searchable = prepared.searchable;
    doubt = 'none';
  };
  return {
    use(connection, prepared) {
      const client = connection && new Client({ connection, namespace: options.namespace });
      current = connection && client && { connection, client, searchable: prepared?.searchable ?? false };
      doubt = 'none';
      isBack = true;
    },
    async find() {
      const isDue = performance.now() - probedAt >= (doubt === 'away' ? probeMs : recheckMs);
      if (current !== null && doubt !== 'none' && isDue) {
        await probe(current.connection).catch((error: unknown) => {
          if (doubt !== 'away') options.log.warn({ error: describeError(error) }, 'Temporal is not reachable');
          doubt = 'away';
          options.metrics.temporalErrors.inc({ operation: 'prepare' });
        });
      }
      if (current === null || doubt === 'away') return null;
      return { client: current.client, searchable: current.searchable };
    },
    isUsable: () => current !== null && doubt !== 'away',
    takeReturn() {
      const was = isBack;
      isBack = false;
      return was;
    },
    async call(operation, work) {
      const { callTimeoutMs, metrics } = options;
      const used = current;
      if (used === null) throw new Error('Temporal is not connected');
      try {
        return await withinMs(callTimeoutMs, () =>
          used.connection.withDeadline(Date.now() + callTimeoutMs, () => work(used.client)),
        );
      } catch (error) {
        metrics.temporalErrors.inc({ operation });
        doubted(error);
        throw error;
      }
    },
  };
}
