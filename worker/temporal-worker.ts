import { NativeConnection, Worker, type WorkflowBundleOption } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Config } from '../config/types.js';
import { stopAfter } from '../lib/deadline.js';
import { sleep } from '../lib/sleep.js';
import type { Metrics } from '../runtime/metrics.js';
import { temporalConnection } from '../runtime/temporal-connection.js';
import type { Tracing } from '../tracing/tracing.js';
import type {
  AnchorActivities,
  DeliverActivities,
  OnboardingActivities,
  SlackCardActivities,
  StepActivities,
} from '../workflows/messages.js';
import { activitySpans } from './activity-spans.js';
import { describeError, withinMs } from './temporal-errors.js';
import type { TemporalLink } from './temporal-link.js';
import { prepareServer } from './temporal-server.js';

export interface TemporalWorkerOptions {
  config: Pick<Config, 'temporal' | 'worker' | 'database'>;
  identity: string;
  /** Without an anchor, an attempt for it that this worker gets fails and is tried again, by another worker in the end. */
  activities: StepActivities & DeliverActivities & SlackCardActivities & OnboardingActivities & Partial<AnchorActivities>;
  bundle: () => Promise<WorkflowBundleOption>;
  link: TemporalLink;
  metrics: Pick<Metrics, 'temporalErrors'>;
  log: Logger;
  signal: AbortSignal;
  tracing?: Tracing;
  /** Workflows cached between their tasks; 0 replays each from its history. */
  maxCachedWorkflows?: number;
}

export interface TemporalWorker {
  isWorking(): boolean;
  /** Settles after the signal aborts and the worker has stopped (OP-63). */
  stopped: Promise<void>;
}

const retryMs = 1000;
const connectMs = 10_000;

/** Connects and works until the signal aborts. Retries each second while Temporal is unreachable, or after the worker has failed. */
export function runTemporalWorker(options: TemporalWorkerOptions): TemporalWorker {
  const { signal, log, metrics } = options;
  const state = { worker: null as Worker | null };
  const running = async () => {
    let failure = '';
    while (!signal.aborted) {
      try {
        await workOnce(options, state);
        failure = '';
      } catch (error) {
        const text = describeError(error);
        if (text !== failure) log.warn({ error: text }, 'the worker cannot work for Temporal; trying again every second');
        failure = text;
        metrics.temporalErrors.inc({ operation: 'work' });
      }
      await sleep(retryMs, signal);
    }
  };
  return { isWorking: () => state.worker?.getState() === 'RUNNING', stopped: running() };
}

async function workOnce(options: TemporalWorkerOptions, state: { worker: Worker | null }): Promise<void> {
  const { config, link, log, signal } = options;
  const { namespace, callTimeoutSecs } = config.temporal;
  const connection = await connect(config);
  try {
    const prepared = await prepareServer(connection, { namespace, callTimeoutMs: callTimeoutSecs * 1000, log });
    const bundle = await options.bundle();
    if (signal.aborted) return;
    const worker = await createWorker(options, connection, bundle);
    state.worker = worker;
    const running = runUntilAborted(worker, signal);
    // Only once it polls: the server hands the first task of an eager start to this worker.
    link.use(connection, prepared);
    log.info({ task_queue: config.temporal.taskQueue }, 'working for Temporal');
    await running;
  } finally {
    state.worker = null;
    link.use(null);
    await connection
      .close()
      .catch((error: unknown) => log.debug({ error: describeError(error) }, 'connection to Temporal not closed'));
  }
}

/** Rejects if the server does not answer in time, and closes a connection that arrives later. */
function connect(config: TemporalWorkerOptions['config']): Promise<NativeConnection> {
  const connecting = NativeConnection.connect({ ...temporalConnection(config), grpcCompression: { codec: 'none' } });
  return withinMs(connectMs, connecting, (late) => void late.close().catch(() => {}));
}

/** Settings measured on one machine that runs everything. A crashed worker's sticky queue holds its tasks for 2 s instead of 10. */
function createWorker(
  { config, identity, activities, maxCachedWorkflows, tracing }: TemporalWorkerOptions,
  connection: NativeConnection,
  bundle: WorkflowBundleOption,
): Promise<Worker> {
  return Worker.create({
    connection,
    namespace: config.temporal.namespace,
    taskQueue: config.temporal.taskQueue,
    identity,
    activities,
    ...(tracing?.isOn ? { interceptors: { activity: [activitySpans(tracing)] } } : {}),
    workflowBundle: bundle,
    maxCachedWorkflows: maxCachedWorkflows ?? 400,
    // Deliveries wait for receivers, at most 8 for each webhook, and cards for Slack, at most 8: slow ones must not take all the room.
    maxConcurrentActivityTaskExecutions: 256,
    activityTaskPollerBehavior: { type: 'autoscaling', minimum: 1, initial: 1, maximum: 8 },
    workflowTaskPollerBehavior: { type: 'autoscaling', minimum: 4, initial: 4, maximum: 16 },
    // Each one holds a connection to the gateway's database.
    maxConcurrentLocalActivityExecutions: Math.min(config.worker.maxConcurrentActivities, config.database.poolMax),
    stickyQueueScheduleToStartTimeout: '2s',
    shutdownGraceTime: '20s',
    shutdownForceTime: '25s',
  });
}

async function runUntilAborted(worker: Worker, signal: AbortSignal): Promise<void> {
  const stop = () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const running = worker.run();
  await stopAfter(Number.POSITIVE_INFINITY, stop, () => running, signal);
}
