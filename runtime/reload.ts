import type { Logger } from 'pino';
import { formatProblem, keepRestartKeys, type Lookup, listRestartKeys, loadConfigForUse } from '../config/index.js';
import type { Config } from '../config/types.js';
import { insertAuditEvents } from '../db/audit.js';
import type { Database } from '../db/client.js';
import { systemActor } from '../domain/audit/draft.js';
import { GatewayError } from '../domain/errors.js';
import { type GenerationWatch, syncGeneration } from './generation.js';
import type { Metrics } from './metrics.js';
import type { ReloadRecord } from './reload-record.js';
import { StartError } from './start-error.js';
import { tryToAudit } from './try-to-audit.js';

const atMostEveryMs = 5000;
/** How many errors `config.rejected` keeps. */
const maxErrors = 50;

export interface ReloadOptions {
  database: Database;
  generations: Pick<GenerationWatch, 'current' | 'use'>;
  metrics: Metrics;
  log: Logger;
  environment: Record<string, string | undefined>;
  current(): Config;
  apply(next: Config): void;
  onEnd?: (record: ReloadRecord) => Promise<void>;
  /** How hosts of webhooks are looked up; default the system's resolver. */
  lookup?: Lookup;
  /** Between two reloads (CF-40); default 5 s. */
  everyMs?: number;
}

export interface Reloader {
  /** Reloads now, or once the last reload is 5 s ago. No request is lost. */
  request(): void;
  close(): Promise<void>;
}

/** Reloads `server.toml` (CF-40 to CF-43): all of it or nothing. */
export function createReloader(options: ReloadOptions): Reloader {
  const everyMs = options.everyMs ?? atMostEveryMs;
  let lastAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const run = () => {
    timer = undefined;
    lastAt = performance.now();
    running = running
      .then(() => reload(options))
      .catch((error: unknown) => options.log.error({ error: String(error) }, 'the outcome of a reload is not recorded'));
  };
  return {
    request: () => {
      timer ??= setTimeout(run, Math.max(0, lastAt + everyMs - performance.now()));
    },
    close: async () => {
      clearTimeout(timer);
      await running;
    },
  };
}

async function reload(options: ReloadOptions): Promise<void> {
  const startedAt = Date.now();
  const outcome = await attempt(options);
  options.metrics.configReloads.inc({ outcome: outcome.outcome });
  const generation = options.generations.current().number;
  await options.onEnd?.({ pid: process.pid, startedAt, generation, ...outcome });
}

type Outcome = Pick<ReloadRecord, 'outcome' | 'errors' | 'warnings'>;

async function attempt(options: ReloadOptions): Promise<Outcome> {
  const before = options.current();
  const loaded = await loadConfigForUse(before.file, options.environment, options.lookup);
  const warnings = loaded.warnings.map(formatProblem);
  if (!loaded.ok) return reject(options, loaded.errors.map(formatProblem), warnings);
  const { config } = loaded;
  const inForce = options.generations.current().number;
  try {
    const generation = await syncGeneration(options.database, config);
    warnings.push(...listRestartKeys(before, config).map((key) => `needs a restart: ${key}`));
    options.apply(keepRestartKeys(before, config));
    options.generations.use(generation);
    for (const warning of warnings) options.log.warn({}, warning);
    options.log.info({ generation: generation.number }, 'configuration reloaded');
    return { outcome: generation.number === inForce ? 'unchanged' : 'applied', errors: [], warnings };
  } catch (error) {
    return reject(options, linesOf(options, config.file, error), warnings);
  }
}

/** Lines that may be shown for an error; its own message only if it is meant for people. */
function linesOf({ metrics, log }: ReloadOptions, file: string, error: unknown): readonly string[] {
  if (error instanceof StartError) return error.lines;
  if (error instanceof GatewayError) return [`${file}: the gateway database is not reachable`];
  metrics.backgroundPanics.inc();
  log.error({ error: String(error), stack: error instanceof Error ? error.stack : undefined }, 'reload failed');
  return [`${file}: the reload failed; the log says why`];
}

async function reject(options: ReloadOptions, errors: readonly string[], warnings: readonly string[]): Promise<Outcome> {
  const { database, log } = options;
  for (const error of errors) log.error({}, error);
  await tryToAudit(options, 'config.rejected', () =>
    database.transaction((tx) =>
      insertAuditEvents(tx, [
        {
          type: 'config.rejected',
          outcome: 'failure',
          actor: systemActor,
          resourceType: 'config',
          resourceId: null,
          reason: null,
          metadata: { errors: errors.slice(0, maxErrors) },
        },
      ]),
    ),
  );
  return { outcome: 'rejected', errors, warnings };
}
