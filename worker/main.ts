import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { formatProblem, loadConfigForUse } from '../config/index.js';
import type { Moved } from '../db/move.js';
import { deleteEndedWindows } from '../db/rate-windows.js';
import { deleteOldSignatures } from '../db/slack-signatures.js';
import { createReleases } from '../lib/releases.js';
import { openAuditKeys, type ReadAuditKeys } from '../runtime/audit-keys.js';
import { type Configuration, openConfiguration } from '../runtime/configuration.js';
import { type GatewayDatabase, openGatewayDatabase } from '../runtime/gateway-database.js';
import { hangUpSignal } from '../runtime/hang-up.js';
import { createLifecycle } from '../runtime/lifecycle.js';
import { tryListening } from '../runtime/listen-address.js';
import { createLog } from '../runtime/log.js';
import { createMetrics, type Metrics } from '../runtime/metrics.js';
import { openResultStore } from '../runtime/open-result-store.js';
import type { ResultStore } from '../runtime/result-store.js';
import { StartError } from '../runtime/start-error.js';
import { stopSignals } from '../runtime/stop-signals.js';
import { openProcessTracing } from '../runtime/tracing.js';
import { version } from '../runtime/version.js';
import type { Tracing } from '../tracing/tracing.js';
import { createActivities } from './activities.js';
import { anchorOf, openAnchorActivity } from './anchor/open.js';
import { createAnchorStarter } from './anchor/starter.js';
import { createAuditBlocks } from './audit-blocks.js';
import { createAuditPurge } from './audit-purge.js';
import { createCleaner } from './cleaner.js';
import { createDeliveryKeeper } from './delivery-keeper.js';
import { createDeliveryStarter } from './delivery-starter.js';
import { createEndedWorkflows } from './ended-workflows.js';
import { createResultCleaner } from './expired-results.js';
import { createExplainKeeper } from './explain-keeper.js';
import { createGivesWay } from './give-way.js';
import { createGoneOwners } from './gone-owners.js';
import { type Job, keepDoing } from './job.js';
import { jobReport } from './job-report.js';
import { createKeyKeeper } from './key-keeper.js';
import { createLicenseKeeper } from './license-keeper.js';
import { createMcpCleaner } from './mcp-cleaner.js';
import { countMoves, recordMoved } from './moved.js';
import { createOnboardingKeeper } from './onboarding-keeper.js';
import { createOnboardingStarter } from './onboarding-starter.js';
import { createOrphanCleaner } from './orphans.js';
import { createPresence } from './presence.js';
import { startProbes } from './probes.js';
import { createPublisher } from './publisher.js';
import { createPurge } from './purge.js';
import { createReconciler } from './reconciler.js';
import { createRelayCleaner } from './relay-cleaner.js';
import { createSealer } from './sealer.js';
import { createSlackCardKeeper, createSlackCardStarter } from './slack-card-starter.js';
import { createSweeper } from './sweeper.js';
import { createTemporalLink, type TemporalLink } from './temporal-link.js';
import { installRuntime } from './temporal-runtime.js';
import { runTemporalWorker } from './temporal-worker.js';
import { loadWorkflowBundle } from './workflow-bundle.js';

const reconcileEveryMs = 60_000;
const reconcileGraceMs = 30_000;

/** `svc worker`: runs until SIGTERM or SIGINT. Returns the exit code: 0 after a clean stop, 1 if it cannot start (OP-51, OP-63). */
export async function runWorker(options: { config: string }): Promise<number> {
  // Before the file is read: a signal that nobody listens to ends the process.
  const { signal, release } = stopSignals();
  const hangUp = hangUpSignal();
  try {
    return await startAndWork(options.config, signal, hangUp.connect);
  } catch (error) {
    if (signal.aborted) return 0;
    if (!(error instanceof StartError)) throw error;
    for (const line of error.lines) say(line);
    return 1;
  } finally {
    hangUp.release();
    release();
  }
}

async function startAndWork(file: string, signal: AbortSignal, onHangUp: (reload: () => void) => void): Promise<number> {
  const loaded = await loadConfigForUse(file, process.env);
  for (const warning of loaded.warnings) say(`warning: ${formatProblem(warning)}`);
  if (!loaded.ok) throw new StartError(...loaded.errors.map(formatProblem));
  const { config } = loaded;
  const log = createLog({ process: 'worker', version, level: config.logging.level, format: config.logging.format });
  const releases = createReleases((error) => log.error({ error: String(error) }, 'not closed cleanly'));
  try {
    if (config.worker.listen !== null) await tryListening(config.worker.listen);
    const metrics = createMetrics(version);
    const tracing = await openProcessTracing({ config, process: 'worker', metrics, log }, releases);
    const gateway = await openGatewayDatabase(config, log, 'worker', signal);
    releases.add(gateway.close);
    const auditKeys = await gateway.patiently(() => openAuditKeys({ ...gateway, publicKeys: config.security.auditPublicKeys }));
    const configuration = await openConfiguration({ config, gateway, metrics, log }, releases);
    onHangUp(configuration.reload);
    await work({ configuration, gateway, auditKeys, metrics, tracing, log, signal });
    return 0;
  } finally {
    await releases.all();
  }
}

interface WorkOptions {
  configuration: Configuration;
  gateway: GatewayDatabase;
  auditKeys: ReadAuditKeys;
  metrics: Metrics;
  tracing: Tracing;
  log: Logger;
  signal: AbortSignal;
}

/** Works until the signal. Finishes what has begun before the database closes. */
async function work(options: WorkOptions): Promise<void> {
  const { configuration, metrics, tracing, log, signal } = options;
  const { database, notifications, troubles } = options.gateway;
  const { lifecycle, drain } = createLifecycle();
  signal.addEventListener('abort', drain, { once: true });
  const config = configuration.config();
  const { namespace, taskQueue, callTimeoutSecs } = config.temporal;
  const identity = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  installRuntime(log);
  const temporal = createTemporalLink({ namespace, callTimeoutMs: callTimeoutSecs * 1000, metrics, log });
  const results = await openResultStore(config);
  const probes = await startProbes({ configuration, database, temporal, metrics, lifecycle, results, log });
  const counted = countMoves(metrics);
  const target = anchorOf(config.audit);
  const anchor = target && openAnchorActivity({ anchor: target, database, keys: options.auditKeys, log, signal });
  const activities = { ...createActivities({ ...options, database, troubles, onMoved: counted }), ...anchor };
  const parts = { config, identity, activities, bundle: loadWorkflowBundle, link: temporal };
  const worker = runTemporalWorker({ ...parts, metrics, log, signal, tracing });
  const onMoved = (moved: Moved) => {
    counted(moved);
    recordMoved(tracing, moved);
  };
  const isAnchored = anchor !== null;
  const jobs = createJobs({ ...options, temporal, results, onMoved, identity, isWorking: worker.isWorking, isAnchored });
  log.info({ task_queue: taskQueue }, 'worker started');
  const host = { notifications, signal, ...jobReport(metrics, troubles) };
  await Promise.all([worker.stopped, ...jobs.map((job) => keepDoing(job, host))]);
  await probes?.close();
  log.info({}, 'worker stopped');
}

interface JobOptions extends WorkOptions {
  temporal: TemporalLink;
  results: ResultStore;
  onMoved: ReturnType<typeof countMoves>;
  identity: string;
  isWorking: () => boolean;
  isAnchored: boolean;
}

/** Everything that a worker does beside its workflows. */
function createJobs({ configuration, gateway, temporal, results, metrics, tracing, log, signal, ...options }: JobOptions): Job[] {
  const { database } = gateway;
  const { onMoved, identity, isWorking, isAnchored, auditKeys } = options;
  const { taskQueue, maxBacklog } = configuration.config().temporal;
  const days = () => configuration.config().retention;
  const told = { database, temporal, taskQueue, log };
  return [
    createPublisher({ ...told, tracing, givesWay: createGivesWay(database, maxBacklog) }),
    createDeliveryStarter({ ...told, onCancelled: () => metrics.webhookDeliveries.inc({ status: 'cancelled' }) }),
    createDeliveryKeeper(told),
    createOnboardingStarter(told),
    createOnboardingKeeper(told),
    createSlackCardStarter(told),
    createSlackCardKeeper(told),
    createSweeper({ database, onMoved }),
    createReconciler({ ...told, everyMs: reconcileEveryMs, graceMs: reconcileGraceMs, maxBacklog, metrics, onMoved }),
    createGoneOwners({ database, metrics }),
    createEndedWorkflows({ ...told, metrics }),
    createPresence({ database, identity, taskQueue, isWorking }),
    createRelayCleaner({ database }),
    createResultCleaner({ database, results, resultTtlDays: () => days().resultTtlDays }),
    createOrphanCleaner({ database, results, signal }),
    createPurge({ database, results, requestTtlDays: () => days().requestTtlDays }),
    createAuditPurge({ database, keys: auditKeys, log, auditTtlDays: () => days().auditTtlDays }),
    createAuditBlocks({ database }),
    createCleaner(database, 'rate window cleaner', deleteEndedWindows),
    createCleaner(database, 'slack signature cleaner', deleteOldSignatures),
    createMcpCleaner({ database, config: configuration.config }),
    createExplainKeeper({ database }),
    createKeyKeeper({ database }),
    createLicenseKeeper({ database, log, config: configuration.config, shared: () => configuration.generation().shared }),
    createSealer({ database, keys: auditKeys, origin: () => configuration.config().audit.origin, isAnchored, log }),
    ...(isAnchored ? [createAnchorStarter(told)] : []),
  ];
}

const say = (line: string): boolean => process.stderr.write(`${line}\n`);
