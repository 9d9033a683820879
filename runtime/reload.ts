import type { Logger } from 'pino';
import { formatProblem, loadConfig } from '../config/index.js';
import { listRestartKeys } from '../config/reload.js';
import type { Config, SharedConfig } from '../config/types.js';
import { insertAuditEvents } from '../db/audit.js';
import type { Database, Transaction } from '../db/client.js';
import { listActiveHolders } from '../db/users.js';
import { systemActor } from '../domain/audit.js';
import { hasAdmin } from '../domain/last-admin.js';
import { type GenerationWatch, syncGeneration } from './generation.js';
import type { Metrics } from './metrics.js';
import { StartError } from './start-error.js';

const atMostEveryMs = 5000;
/** What `config.rejected` keeps of the errors. */
const maxErrors = 50;

export interface ReloadOptions {
  database: Database;
  generations: GenerationWatch;
  metrics: Metrics;
  log: Logger;
  environment: Record<string, string | undefined>;
  current(): Config;
  apply(next: Config): void;
  /** Between two reloads (CF-40); 5 s if absent. */
  everyMs?: number;
}

export interface Reloader {
  /** Asks for a reload: now, or when the last one is 5 s ago; never lost. */
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
      .catch((error: unknown) => {
        options.metrics.backgroundPanics.inc();
        options.log.error({ error: String(error) }, 'reload failed');
      });
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
  const before = options.current();
  const loaded = loadConfig(before.file, options.environment);
  for (const warning of loaded.warnings) options.log.warn({}, formatProblem(warning));
  if (!loaded.ok) return reject(options, loaded.errors.map(formatProblem));
  const { config } = loaded;
  try {
    const inForce = options.generations.current().number;
    const generation = await syncGeneration(options.database, config, (tx) => requireAdmin(tx, config.shared));
    for (const key of listRestartKeys(before, config)) options.log.warn({}, `needs a restart: ${key}`);
    options.apply(config);
    options.generations.use(generation);
    options.metrics.configReloads.inc({ outcome: generation.number === inForce ? 'unchanged' : 'applied' });
    options.log.info({ generation: generation.number }, 'configuration reloaded');
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    await reject(options, error.lines);
  }
}

/** CF-43: nobody locks everybody out. The sync holds the generations' lock, so no change of a user is under way (IM-64). */
async function requireAdmin(tx: Transaction, shared: SharedConfig): Promise<void> {
  const known = new Set(shared.auth.groups.map((group) => group.name));
  const holders = await listActiveHolders(tx);
  const after = holders.map(({ roles, groups }) => ({ roles, groups: groups.filter((name) => known.has(name)) }));
  if (!hasAdmin(after, shared.auth)) throw new StartError('auth: no active user would be an admin any more');
}

async function reject({ database, metrics, log }: ReloadOptions, errors: readonly string[]): Promise<void> {
  for (const error of errors) log.error({}, error);
  metrics.configReloads.inc({ outcome: 'rejected' });
  try {
    await database.transaction((tx) =>
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
    );
  } catch (error) {
    metrics.auditWriteFailures.inc();
    log.error({ error: String(error) }, 'config.rejected not written');
  }
}
