import type { SchemaSnapshot, SnapshotTable } from '../domain/snapshot.js';
import { sleep } from '../lib/sleep.js';
import { folded, MARKER_TABLE } from '../sql/reserved-table.js';
import type { AgentConfig } from './config-values.js';
import type { Databases } from './databases.js';
import { Interrupted } from './drivers/faults.js';
import { type GatewayClient, isRefusal } from './gateway-client.js';
import type { GatewayAnswer } from './http-exchange.js';
import type { Log } from './log.js';
import { cutErrorText } from './outcome.js';
import { NoSnapshot, SnapshotTooLarge } from './snapshot/no-snapshot.js';
import type { Target } from './target.js';
import type { Timings } from './timings.js';

export interface SnapshotSync {
  /** Syncs connected databases not synced yet: at startup, and when one is back (AP-65). */
  catchUp(): void;
  /** Syncs all databases at every interval from now on. */
  begin(): void;
  /** Syncs one database in the background: now, or once more after the current sync. */
  request(target: Target): void;
  /** The same when the server asks; ignores a database that is already syncing, disconnected or not ours. */
  answer(target: Target | undefined): void;
  /** Resolves when nothing runs any more, which is soon after the signal aborts. */
  idle(): Promise<void>;
}

interface Dependencies {
  config: Pick<AgentConfig, 'snapshotSync' | 'marker'>;
  client: GatewayClient;
  databases: Databases;
  timings: Timings;
  log: Log;
}

const MAX_BODY_BYTES = 10_485_760;
const SEND_ATTEMPTS = 4;

/** Reports snapshots of the databases to the server; syncs of one database never overlap. */
export function createSnapshotSync(dependencies: Dependencies, stop: AbortSignal): SnapshotSync {
  const { config, databases, log } = dependencies;
  const { enabled, onStartup, intervalMs } = config.snapshotSync;
  const synced = new WeakSet<Target>();
  const send = createSender(dependencies, stop);
  // A reload may have taken it away (AP-19).
  const isServed = (target: Target) => databases.all.includes(target);
  const sync = async (target: Target) => {
    if (!isServed(target)) return;
    const body = await collect(target, dependencies, stop);
    if (isServed(target) && (await send(target, body))) synced.add(target);
  };
  const syncs = createSyncs(sync, log, stop);
  const request = (target: Target) => {
    if (enabled && !stop.aborted) syncs.start(target);
  };
  // The server refuses databases that the polls do not name, and a disconnected one has nothing to report.
  const connected = () => databases.all.filter((target) => !target.degraded);
  return {
    request,
    catchUp() {
      if (onStartup) for (const target of connected()) if (!synced.has(target)) request(target);
    },
    answer(target) {
      if (target && !target.degraded && !syncs.isRunning(target)) request(target);
    },
    begin() {
      if (enabled && intervalMs > 0) void repeat(() => connected().forEach(request), intervalMs, stop);
    },
    idle: () => syncs.idle(),
  };
}

/** Runs `sync` in the background, once at a time for each target; one that is asked for meanwhile runs after that. */
function createSyncs(sync: (target: Target) => Promise<void>, log: Log, stop: AbortSignal) {
  const running = new Map<Target, { again: boolean; done: Promise<void> }>();
  const run = async (target: Target, entry: { again: boolean }) => {
    try {
      do {
        entry.again = false;
        await sync(target);
      } while (entry.again && !stop.aborted);
    } finally {
      running.delete(target);
    }
  };
  return {
    isRunning: (target: Target) => running.has(target),
    start(target: Target) {
      const entry = running.get(target);
      if (entry) {
        entry.again = true;
        return;
      }
      const started = { again: false, done: Promise.resolve() };
      running.set(target, started);
      started.done = run(target, started).catch((error: Error) =>
        log.error('schema sync failed in the agent', { database: target.name, why: error.name }),
      );
    },
    async idle() {
      await Promise.all([...running.values()].map(({ done }) => done));
    },
  };
}

async function repeat(work: () => void, everyMs: number, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await sleep(everyMs, stop);
    work();
  }
}

/** The body of a sync; null when the agent stops. */
async function collect(target: Target, { config, timings, log }: Dependencies, stop: AbortSignal): Promise<string | null> {
  try {
    const snapshot = withoutMarkers(await target.driver.snapshot(timings.snapshotMs, stop), config.marker.table);
    const body = bodyOf(target, { status: 'ready', snapshot, error_message: null });
    if (Buffer.byteLength(body) > MAX_BODY_BYTES) throw new SnapshotTooLarge();
    return body;
  } catch (error) {
    if (error instanceof Interrupted) return null;
    const why = error instanceof NoSnapshot ? error.message : cutErrorText(target.driver.errorText(error));
    log.warn('schema not collected', { database: target.name, why: error instanceof NoSnapshot ? why : undefined });
    return bodyOf(target, { status: 'failed', snapshot: null, error_message: why });
  }
}

/** No request may name the table of markers (HD-40), so nobody needs to see it. One with foreign keys stays: deletes elsewhere may go through it. */
function withoutMarkers(snapshot: SchemaSnapshot, markerTable: string): SchemaSnapshot {
  const names = new Set([MARKER_TABLE, markerTable].map(folded));
  const isShown = ({ name, constraints }: SnapshotTable) =>
    !names.has(folded(name)) || constraints.some((one) => one.constraint_type === 'foreign_key');
  return { ...snapshot, tables: snapshot.tables.filter(isShown) };
}

function bodyOf({ database, environment, driver }: Target, outcome: object): string {
  return JSON.stringify({ database, environment, dialect: driver.dialect, ...outcome });
}

/** Sends a body, with up to three retries; true when accepted. Logs once that a server is too old for syncs (AP-65). */
function createSender({ client, timings, log }: Dependencies, stop: AbortSignal) {
  let warnedTooOld = false;
  return async (target: Target, body: string | null): Promise<boolean> => {
    let why = '';
    for (let attempt = 0; body !== null && attempt < SEND_ATTEMPTS && !stop.aborted; attempt++) {
      if (attempt > 0) await sleep(timings.resultBackoffMs[Math.min(attempt, timings.resultBackoffMs.length) - 1] ?? 1000, stop);
      const answer = await post(client, body, timings, stop);
      if (typeof answer === 'string') {
        why = answer;
        continue;
      }
      const { status } = answer;
      if (status < 300) {
        log.debug('schema synced', { database: target.name });
        return true;
      }
      if (status === 501 || (status === 404 && isRefusal(answer))) {
        if (!warnedTooOld) log.warn('schema not synced: server too old', { status });
        warnedTooOld = true;
        return false;
      }
      why = `status ${status}`;
      // The server learns of a reconnected database only with the next poll, and refuses it until then.
      if (isRefusal(answer) && status !== 403) break;
    }
    if (body !== null && !stop.aborted) log.warn('schema not synced', { database: target.name, why });
    return false;
  };
}

/** The answer, or why there is none. */
async function post(client: GatewayClient, body: string, timings: Timings, stop: AbortSignal): Promise<GatewayAnswer | string> {
  try {
    return await client.post('/api/agent/schema-sync', [body], {
      timeoutMs: timings.httpMs,
      longestMs: timings.largeBodyMs,
      signal: stop,
    });
  } catch (error) {
    return (error as Error).message;
  }
}
