import type { Logger } from 'pino';
import { moveByClock } from '../activities/step.js';
import type { Database, Transaction } from '../db/client.js';
import type { Moved } from '../db/move.js';
import { countBacklog, findAbout } from '../db/outbox.js';
import {
  beginRound,
  countFollowed,
  listNotFinal,
  listOverdue,
  type OverdueRequest,
  type ReconcilerState,
  returnToRebuild,
  saveRound,
} from '../db/reconcile.js';
import type { Metrics } from '../runtime/metrics.js';
import { requestWorkflow } from '../workflows/messages.js';
import { eachAlone } from './each-alone.js';
import type { Job } from './job.js';
import { listMissing } from './missing-workflows.js';
import { replaceWorkflow } from './send-news.js';
import { tellToRead } from './tell-to-read.js';
import type { TemporalLink } from './temporal-link.js';

export interface ReconcilerOptions {
  database: Database;
  temporal: TemporalLink;
  taskQueue: string;
  maxBacklog: number;
  metrics: Metrics;
  log: Logger;
  onMoved: (moved: Moved) => void;
  /** Between two rounds, over all processes. */
  everyMs: number;
  /** How long a deadline may be past, or a request unchanged, before the reconciler acts. */
  graceMs: number;
}

const maxOverdue = 500;

/** OP-73: restores lost workflows, and makes overdue moves itself. Finds nothing while all is well. */
export function createReconciler(options: ReconcilerOptions): Job {
  const { database, everyMs } = options;
  return {
    name: 'reconciler',
    async once() {
      const open = await countOpenWorkflows(options);
      const round = await database.transaction((tx) => runRound(tx, options, open));
      try {
        await eachAlone(round.stuck, (one) => moveAndReplace(options, one));
      } finally {
        await startMissing(options, round);
      }
      // Runs more often than rounds are due, so that no round is a whole interval late if the process that ran the last one is gone.
      return Math.max(50, everyMs / 4);
    },
  };
}

interface Round {
  /** Overdue already in the last round. */
  stuck: OverdueRequest[];
  /** May have lost their workflows: the part of a rebuild that follows `rebuiltFrom`. */
  doubtful: string[];
  rebuiltFrom: string | null;
}

/** Runs one round under its lock. */
async function runRound(tx: Transaction, options: ReconcilerOptions, open: number | null): Promise<Round> {
  const last = await beginRound(tx, options.everyMs);
  if (last === undefined) return { stuck: [], doubtful: [], rebuiltFrom: null };
  const overdue = await listOverdue(tx, options.graceMs, maxOverdue);
  const known = new Set(last.overdue);
  const stuck = overdue.filter(({ id }) => known.has(id));
  const fresh = overdue.filter(({ id, waiting }) => !known.has(id) && !waiting).map(({ id }) => id);
  const fewer = open !== null && open < (await countFollowed(tx, options.graceMs));
  const { doubtful, rebuiltTo } = await rebuild(tx, options, last, fewer);
  await tellToRead(tx, options, fresh, 'overdue requests were told to read again');
  const left = overdue.filter(({ id }) => !known.has(id)).map(({ id }) => id);
  await saveRound(tx, { overdue: left, fewer: rebuiltTo === null && fewer, rebuiltTo });
  return { stuck, doubtful, rebuiltFrom: last.rebuiltTo };
}

/**
 * If two rounds find too few workflows, Temporal has lost its data, or its index is late. Then each request is looked at, in parts that leave
 * half of the backlog to new requests. Returns the next part and how far that gets, or null if nothing is left.
 */
async function rebuild(
  tx: Transaction,
  options: ReconcilerOptions,
  last: ReconcilerState,
  fewer: boolean,
): Promise<{ doubtful: string[]; rebuiltTo: string | null }> {
  if (last.rebuiltTo === null && !(fewer && last.fewer)) return { doubtful: [], rebuiltTo: null };
  const room = Math.max(0, Math.floor(options.maxBacklog / 2) - (await countBacklog(tx)));
  if (room === 0) return { doubtful: [], rebuiltTo: last.rebuiltTo };
  const doubtful = await listNotFinal(tx, last.rebuiltTo, room);
  return { doubtful, rebuiltTo: doubtful.length < room ? null : doubtful.at(-1)! };
}

/**
 * Each request whose workflow is gone gets it again. Telling all would keep a Temporal busy whose index is late because it is busy. If Temporal
 * becomes unusable, a later round goes on from there.
 */
async function startMissing(options: ReconcilerOptions, { doubtful, rebuiltFrom }: Round): Promise<void> {
  const { missing, leftFrom } = await listMissing(options.temporal, doubtful);
  if (leftFrom !== null) await returnToRebuild(options.database, doubtful[doubtful.indexOf(leftFrom) - 1] ?? rebuiltFrom);
  if (missing.length === 0) return;
  await options.database.transaction((tx) => tellToRead(tx, options, missing, 'workflows are missing and are started again'));
}

/** A workflow that ignored its news is not reliable: this makes the move and replaces the workflow. */
async function moveAndReplace(options: ReconcilerOptions, { id, clock }: OverdueRequest): Promise<void> {
  const { database, temporal, taskQueue, metrics, log, onMoved } = options;
  const moved = await moveByClock(database, id, clock);
  if (!moved.changed) return;
  onMoved(moved);
  metrics.workflowRepairs.inc();
  log.warn({ request_id: id, clock }, 'a request stayed overdue and was moved without its workflow');
  const usable = await temporal.find();
  if (usable === null) return;
  const about = (await findAbout(database, id)) ?? null;
  const to = { requestId: id, about, taskQueue, searchable: usable.searchable };
  await temporal.call('start', (client) => replaceWorkflow(client, to)).catch(() => {});
}

/** Open request workflows of this gateway by Temporal's index; null while Temporal cannot tell. Another gateway in the namespace has its own task queue. */
async function countOpenWorkflows({ temporal, taskQueue }: ReconcilerOptions): Promise<number | null> {
  if ((await temporal.find()) === null) return null;
  const query = `WorkflowType = '${requestWorkflow}' AND ExecutionStatus = 'Running' AND TaskQueue = '${quoted(taskQueue)}'`;
  return temporal
    .call('count', (client) => client.workflow.count(query))
    .then(
      ({ count }) => count,
      () => null,
    );
}

/** Within the quotes of a query. */
const quoted = (text: string) => text.replace(/[\\']/g, '\\$&');
