import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { type Logger, pino } from 'pino';
import { createDeliver, type DeliverOptions } from '../../activities/deliver.js';
import { createOnboarding } from '../../activities/onboarding.js';
import { createPostCard, type PostCardOptions } from '../../activities/slack-card.js';
import { createStep } from '../../activities/step.js';
import type { Database } from '../../db/client.js';
import { openNotifications } from '../../db/notifications.js';
import { openDatabase } from '../../db/open-database.js';
import { noneOutgoing } from '../../db/transaction.js';
import type { OutgoingOf } from '../../domain/notifications/outgoing.js';
import { createMetrics } from '../../runtime/metrics.js';
import { type Job, keepDoing } from '../../worker/job.js';
import { createPublisher } from '../../worker/publisher.js';
import { createTemporalLink, type TemporalLink } from '../../worker/temporal-link.js';
import { runTemporalWorker } from '../../worker/temporal-worker.js';
import { loadWorkflowBundle } from '../../worker/workflow-bundle.js';
import { type RequestState, requestWorkflowId, stateQuery } from '../../workflows/messages.js';
import { createTestDatabase, testMacs } from '../support/postgres.js';
import { eventually as askAgain } from '../support/processes.js';
import { temporalAddress } from '../support/temporal.js';

export const log = pino({ level: process.env.SVC_TEST_LOG ?? 'silent' });

/** The native runtime is one per process; tests stop their workers themselves. */
export function installTestRuntime(): void {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    shutdownSignals: [],
    telemetryOptions: { logging: { filter: 'off' } },
  });
}

export interface TestWorkerOptions {
  /** Where it is told that Temporal is away. */
  log?: Logger;
  address?: string;
  namespace?: string;
  /** Replaces what the step answers, such as a clock by a machine that is wrong. */
  wrapStep?: (step: ReturnType<typeof createStep>['step']) => ReturnType<typeof createStep>['step'];
  /** How attempts of deliveries are made. */
  deliver?: Omit<DeliverOptions, 'database'>;
  /** How cards in Slack are posted. */
  slack?: Partial<Omit<PostCardOptions, 'database'>>;
  /** What recorded events send out; nothing if absent. */
  outgoingOf?: OutgoingOf;
  /** Further background work beside the publisher. */
  jobs?: (parts: TestParts) => Job[];
  publish?: boolean;
  maxCachedWorkflows?: number;
}

export interface TestParts {
  database: Database;
  temporal: TemporalLink;
  taskQueue: string;
  metrics: ReturnType<typeof createMetrics>;
}

/** Publisher and Temporal worker on a database and a task queue of their own. */
export async function startTestWorker(options: TestWorkerOptions = {}) {
  installTestRuntime();
  const stored = await createTestDatabase();
  const notify = { publish: (_: string[]) => {} };
  const shared = {
    url: stored.url,
    connectTimeoutMs: 10_000,
    statementTimeoutMs: 10_000,
    applicationName: 'test',
    macs: testMacs,
  };
  const database = openDatabase({
    ...shared,
    poolMax: 10,
    onWake: (topics) => notify.publish(topics),
    outgoingOf: options.outgoingOf ?? noneOutgoing,
  });
  const notifications = openNotifications({ url: stored.url, database, applicationName: 'test' });
  notify.publish = notifications.publish;
  const address = options.address ?? (await temporalAddress());
  const namespace = options.namespace ?? 'default';
  const taskQueue = `test-${randomUUID()}`;
  const metrics = createMetrics('0.0.0');
  const stopping = new AbortController();
  const temporal = createTemporalLink({ namespace, callTimeoutMs: 3000, metrics, log: options.log ?? log });
  const { step } = createStep({ database });
  const worker = runTemporalWorker({
    config: {
      temporal: {
        address,
        namespace,
        taskQueue,
        tls: false,
        apiKey: null,
        callTimeoutSecs: 3,
        maxBacklog: 10_000,
        uiUrl: null,
        tlsFiles: { ca: null, cert: null, key: null, serverName: null },
      },
      worker: { listen: null, maxConcurrentActivities: 10 },
      database: { ...database0, url: stored.url },
    },
    identity: taskQueue,
    activities: {
      step: options.wrapStep?.(step) ?? step,
      ...createDeliver({ database, ...(options.deliver ?? noWebhook) }),
      ...createOnboarding({ database, tellsSlack: () => true }),
      ...createPostCard({ database, ...noSlack, ...options.slack }),
    },
    bundle: loadWorkflowBundle,
    link: temporal,
    metrics,
    log,
    signal: stopping.signal,
    ...(options.maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows: options.maxCachedWorkflows }),
  });
  const parts: TestParts = { database, temporal, taskQueue, metrics };
  const jobs = [
    ...(options.publish === false ? [] : [createPublisher({ database, temporal, taskQueue, log })]),
    ...(options.jobs?.(parts) ?? []),
  ];
  const failures: unknown[] = [];
  const host = { notifications, signal: stopping.signal, onFailure: (_: string, error: unknown) => failures.push(error) };
  const running = jobs.map((job) => keepDoing(job, host));
  const connection = Connection.lazy({ address });
  const client = new Client({ connection, namespace });
  return {
    ...parts,
    url: stored.url,
    worker,
    client,
    failures,
    notifications,
    async stop() {
      stopping.abort();
      await Promise.all([...running, worker.stopped]);
      await connection.close();
      await notifications.close();
      await database.close();
      await stored.drop();
    },
  };
}

const noWebhook: Omit<DeliverOptions, 'database'> = {
  isKnown: () => false,
  send: () => Promise.reject(new Error('there is no webhook')),
  nextAttemptMs: () => null,
};

const noSlack: Omit<PostCardOptions, 'database'> = {
  isOn: () => false,
  call: () => Promise.reject(new Error('there is no Slack')),
  lookUp: async () => null,
  groupsWith: () => [],
  publicUrl: () => null,
};

const database0 = {
  poolMax: 10,
  connectTimeoutSecs: 3,
  poolWaitSecs: 3,
  statementTimeoutSecs: 10,
  startWaitSecs: 1,
  caFile: null,
};

export type TestWorker = Awaited<ReturnType<typeof startTestWorker>>;

/** Asks again until there is an answer; if none comes, the test's own timeout ends it. */
export const eventually = <T>(ask: () => T | Promise<T>) => askAgain(ask, 120_000);

/** The `state` query of a request's workflow, null while it cannot be asked. */
export async function liveState({ client }: Pick<TestWorker, 'client'>, id: string): Promise<RequestState | null> {
  return client.workflow
    .getHandle(requestWorkflowId(id))
    .query<RequestState>(stateQuery)
    .catch(() => null);
}

/** Waits until the workflow knows the status. */
export const untilKnown = (worker: TestWorker, id: string, status: string) =>
  eventually(async () => {
    const state = await liveState(worker, id);
    return state?.stored?.status === status ? state : null;
  });

/** Waits until the stored request has the status. */
export const untilStored = (worker: Pick<TestWorker, 'database'>, id: string, status: string) =>
  eventually(async () => (await statusOf(worker, id)) === status);

export async function statusOf({ database }: Pick<TestWorker, 'database'>, id: string): Promise<string | undefined> {
  const [row] = await database.query<{ status: string }>('select status from requests where id = $1', [id]);
  return row?.status;
}

/** How Temporal describes the newest run. */
export const describeRun = ({ client }: Pick<TestWorker, 'client'>, id: string) =>
  client.workflow.getHandle(requestWorkflowId(id)).describe();

/** Waits until nothing runs for the request. */
export const untilEnded = (worker: TestWorker, id: string) =>
  eventually(async () => {
    const run = await describeRun(worker, id).catch(() => null);
    return run !== null && run.status.name !== 'RUNNING' ? run : null;
  });
