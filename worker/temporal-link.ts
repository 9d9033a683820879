import { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Metrics } from '../runtime/metrics.js';
import { createTroubles, type Troubles } from '../runtime/troubles.js';
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

/** The only place that knows whether Temporal is usable. All calls use the worker's own native connection. */
export interface TemporalLink {
  /** Sets the connection to use from now on, to a prepared server; null if the connection is gone. */
  use(connection: NativeConnection | null, prepared?: PreparedServer): void;
  /** Null while Temporal is unusable. After a failure it is asked again at most once per `probeMs`. */
  find(): Promise<UsableTemporal | null>;
  /** The result of the last check; sends no call. */
  isUsable(): boolean;
  /** True once after each outage: tells the publisher to send what was held back. */
  takeReturn(): boolean;
  /** Runs one call with its deadline. Failures are counted, and make the next `find` check the server again. */
  call<T>(operation: string, work: (client: Client) => Promise<T>): Promise<T>;
}

/** How often an unreachable server is probed. OP-72 leaves 5 s until publishing starts. */
export const probeMs = 1000;
/** How often a server that refuses calls is checked for lost search attributes. */
const recheckMs = 5000;

interface LinkState {
  current: { connection: NativeConnection; client: Client; searchable: boolean } | null;
  /** Why the server must be checked before it is used again. */
  doubt: 'none' | 'refused' | 'away';
  isBack: boolean;
  probedAt: number;
  troubles: Troubles;
}

const part = 'Temporal';

export function createTemporalLink(options: LinkOptions): TemporalLink {
  const troubles = createTroubles(options.log);
  const state: LinkState = { current: null, doubt: 'none', isBack: true, probedAt: Number.NEGATIVE_INFINITY, troubles };
  return {
    use(connection, prepared) {
      const client = connection && new Client({ connection, namespace: options.namespace });
      state.current = connection && client && { connection, client, searchable: prepared?.searchable ?? false };
      state.doubt = 'none';
      state.isBack = true;
      if (connection !== null) troubles.works(part);
    },
    find: () => find(state, options),
    isUsable: () => state.current !== null && state.doubt !== 'away',
    takeReturn() {
      const was = state.isBack;
      state.isBack = false;
      return was;
    },
    call: (operation, work) => call(state, options, operation, work),
  };
}

async function find(state: LinkState, options: LinkOptions): Promise<UsableTemporal | null> {
  const isDue = performance.now() - state.probedAt >= (state.doubt === 'away' ? probeMs : recheckMs);
  if (state.current !== null && state.doubt !== 'none' && isDue) {
    await probe(state, state.current.connection, options).catch((error: unknown) => {
      state.troubles.failed(part, null, 'Temporal is not reachable', { error: describeError(error) });
      state.doubt = 'away';
      options.metrics.temporalErrors.inc({ operation: 'prepare' });
    });
  }
  if (state.current === null || state.doubt === 'away') return null;
  return { client: state.current.client, searchable: state.current.searchable };
}

async function probe(state: LinkState, connection: NativeConnection, options: LinkOptions): Promise<void> {
  state.probedAt = performance.now();
  const prepared = await prepareServer(connection, options);
  state.troubles.works(part);
  if (state.current?.connection !== connection) return;
  if (state.doubt === 'away' || prepared.repaired) state.isBack = true;
  state.current.searchable = prepared.searchable;
  state.doubt = 'none';
}

async function call<T>(
  state: LinkState,
  { callTimeoutMs, metrics }: LinkOptions,
  operation: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { current } = state;
  if (current === null) throw new Error('Temporal is not connected');
  try {
    const { connection, client } = current;
    return await withinMs(
      callTimeoutMs,
      connection.withDeadline(Date.now() + callTimeoutMs, () => work(client)),
    );
  } catch (error) {
    metrics.temporalErrors.inc({ operation });
    if (isAway(error)) state.doubt = 'away';
    else if (state.doubt === 'none') state.doubt = 'refused';
    throw error;
  }
}
