import { Client, Connection } from '@temporalio/client';
import type { Anchor, AnchorOutcome } from '../../../activities/anchor.js';
import { openNotifications } from '../../../db/notifications.js';
import { openAuditKeys } from '../../../runtime/audit-keys.js';
import { createMetrics } from '../../../runtime/metrics.js';
import { openAnchorActivity } from '../../../worker/anchor/open.js';
import { createAnchorStarter } from '../../../worker/anchor/starter.js';
import { keepDoing } from '../../../worker/job.js';
import { createTemporalLink } from '../../../worker/temporal-link.js';
import { runTemporalWorker } from '../../../worker/temporal-worker.js';
import { loadWorkflowBundle } from '../../../worker/workflow-bundle.js';
import { openTestDatabase } from '../../support/postgres.js';
import { numbered, type Sealing, secretKey, writeEvents } from '../../support/sealing.js';
import { installTestRuntime, log } from '../support.js';

export interface AnchorWorkerOptions {
  url: string;
  address: string;
  taskQueue: string;
  anchor: Anchor;
  againMs?: number;
  /** For what Temporal asks of it; the rest goes to `url`. */
  activityUrl?: string;
}

let open = 0;

/** What a worker does for an anchor: the workflow, its activity and the job that starts it. */
export async function startAnchorWorker(options: AnchorWorkerOptions) {
  // One for all workers of a process, and gone with the last.
  if (open++ === 0) installTestRuntime();
  const { address, taskQueue, url, anchor } = options;
  const stopping = new AbortController();
  const database = openTestDatabase(url, 4);
  const activityDatabase = openTestDatabase(options.activityUrl ?? url, 4);
  const keys = await openAuditKeys({ database, secretKey, publicKeys: [] });
  const namespace = 'default';
  const metrics = createMetrics('0.0.0');
  const temporal = createTemporalLink({ namespace, callTimeoutMs: 3000, metrics, log });
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
      database: {
        url,
        poolMax: 4,
        connectTimeoutSecs: 3,
        poolWaitSecs: 3,
        statementTimeoutSecs: 10,
        startWaitSecs: 1,
        caFile: null,
      },
    },
    identity: taskQueue,
    // The one activity that such a workflow needs.
    activities: openAnchorActivity({ anchor, database: activityDatabase, keys, log, signal: stopping.signal }) as never,
    bundle: loadWorkflowBundle,
    link: temporal,
    metrics,
    log,
    signal: stopping.signal,
  });
  const notifications = openNotifications({ url, database, applicationName: 'test' });
  const againMs = options.againMs === undefined ? {} : { againMs: options.againMs };
  const starter = createAnchorStarter({ database, temporal, taskQueue, log, ...againMs });
  const failures: unknown[] = [];
  const starting = keepDoing(starter, { notifications, signal: stopping.signal, onFailure: (_, error) => failures.push(error) });
  return {
    failures,
    starter,
    async stop() {
      stopping.abort();
      await Promise.all([starting, worker.stopped]);
      await notifications.close();
      await database.close();
      await activityDatabase.close();
      open -= 1;
    },
  };
}

export const clientOf = (address: string) => new Client({ connection: Connection.lazy({ address }) });

export const anchored = (text: string): AnchorOutcome => ({
  kind: 'anchored',
  answer: new Uint8Array(Buffer.from(text)),
  isTruncated: false,
});
export const refused = (reason: string): AnchorOutcome => ({ kind: 'failed', reason, detail: 'marker-detail' });

/** The size of the tree in a note. */
export const sizeOf = (note: string) => Number(note.split('\n')[1]);

let written = 0;
/** Writes and seals events with this many checkpoints among them; answers their `seq`. */
export async function addCheckpoints(sealing: Sealing, count: number): Promise<number[]> {
  const before = (await rowsOf(sealing)).length;
  // The two events of the key are among the first hundred.
  await writeEvents(sealing.database, numbered(`e${written++}`, 100 * count));
  await sealing.sealAll();
  return (await rowsOf(sealing)).slice(before).map(({ seq }) => seq);
}

export interface Row {
  seq: number;
  state: string;
  attempts: number;
  last_error: string | null;
  covered_by: number | null;
  answer: Buffer | null;
  note: string;
}

export const rowsOf = ({ database }: Pick<Sealing, 'database'>): Promise<Row[]> =>
  database.query<Row>('select seq, state, attempts, last_error, covered_by, answer, note from audit_anchors order by seq');

export const statesOf = async (sealing: Pick<Sealing, 'database'>) =>
  (await rowsOf(sealing)).map(({ seq, state, covered_by: by }) => (by === null ? `${seq} ${state}` : `${seq} ${state} by ${by}`));
