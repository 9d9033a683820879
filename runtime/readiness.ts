import { limitDatabaseWork } from '../db/call-limit.js';
import type { Database } from '../db/client.js';
import { schemaVersion } from '../db/migrate.js';
import { isReadOnly } from '../db/read-only.js';
import { schemaFits } from '../db/schema-version.js';
import { isWorkerSeen } from '../db/workers.js';
import { within } from '../lib/deadline.js';
import type { Lifecycle } from './lifecycle.js';

const checkTimeoutMs = 2000;
const sharedForMs = 1000;

type Check = 'ok' | 'unavailable' | 'schema_mismatch' | 'not_seen';

export interface Readiness {
  status: 200 | 503;
  body: Record<string, unknown>;
}

export interface ReadinessOptions {
  database: Database;
  taskQueue: string;
  lifecycle: Lifecycle;
  temporalReachable: () => Promise<boolean>;
  resultsHealthy: () => Promise<boolean>;
}

/** Answers `/ready` (OP-10). Checks dependencies at most once a second, gives each 2 s, and reveals no address or error (OP-11). */
export function createReadiness(options: ReadinessOptions): () => Promise<Readiness> {
  let shared: { at: number; answer: Promise<Readiness> } | null = null;
  return () => {
    if (options.lifecycle.draining) return Promise.resolve(draining);
    if (shared === null || performance.now() - shared.at > sharedForMs) shared = { at: performance.now(), answer: look(options) };
    return shared.answer;
  };
}

const draining: Readiness = {
  status: 503,
  body: { status: 'draining', error: 'server is shutting down', code: 'service.draining', hint: null },
};

async function look(options: ReadinessOptions): Promise<Readiness> {
  const [database, temporal, worker, results] = await Promise.all([
    inTime(databaseCheck(options.database), 'unavailable'),
    inTime(
      options.temporalReachable().then((ok): Check => (ok ? 'ok' : 'unavailable')),
      'unavailable',
    ),
    inTime(workerCheck(options), 'not_seen'),
    inTime(
      options.resultsHealthy().then((ok): Check => (ok ? 'ok' : 'unavailable')),
      'unavailable',
    ),
  ]);
  const checks = { database, temporal, worker, result_storage: results };
  const failed = Object.entries(checks).flatMap(([name, check]) => (check === 'ok' ? [] : [name]));
  if (failed.length === 0) return { status: 200, body: { status: 'ok', checks } };
  const broken = failed.filter((name) => name !== 'temporal' && name !== 'worker');
  if (broken.length === 0) return { status: 200, body: { status: 'degraded', checks } };
  const error = { error: 'not ready', code: 'service.unavailable', hint: broken.join(', ') };
  return { status: 503, body: { status: 'unavailable', checks, ...error } };
}

function databaseCheck(database: Database): Promise<Check> {
  return limitDatabaseWork(checkTimeoutMs, async () => {
    // A connection of the pool may have been opened when it could still write.
    if (await isReadOnly(database)) return 'unavailable';
    return (await schemaFits(database, schemaVersion)) ? 'ok' : 'schema_mismatch';
  });
}

async function workerCheck({ database, taskQueue }: ReadinessOptions): Promise<Check> {
  return (await limitDatabaseWork(checkTimeoutMs, () => isWorkerSeen(database, taskQueue))) ? 'ok' : 'not_seen';
}

/** A check that fails or takes too long counts as not ok. */
function inTime(check: Promise<Check>, otherwise: Check): Promise<Check> {
  return within(
    check.catch(() => otherwise),
    checkTimeoutMs,
    otherwise,
  );
}
