import type { Logger } from 'pino';
import type { Database, Transaction } from '../db/client.js';
import { type Moved, move } from '../db/move.js';
import { topic } from '../db/notifications.js';
import { countBacklog, insertReadAgain } from '../db/outbox.js';
import {
  beginRound,
  countFollowed,
  findAbout,
  listNotFinal,
  listOverdue,
  type OverdueRequest,
  type ReconcilerState,
  saveRound,
} from '../db/reconcile.js';
import { judge } from '../domain/request/judge.js';
import type { Metrics } from '../runtime/metrics.js';
import { requestWorkflow } from '../workflows/messages.js';
import type { Job } from './job.js';
import { replaceWorkflow } from './send-news.js';
import type { TemporalLink } from './temporal-link.js';

export interface ReconcilerOptions {
  database: Database;
  temporal: TemporalLink;
  taskQueue: string;
  maxBacklog: number;
  metrics: Metrics;
  log: Logger;
  onMoved: (moved: Moved) => void;
  /** Between two rounds of all processes together. */
  everyMs: number;
  /** How long a clock may be over, and a request quiet, before anybody wonders. */
  graceMs: number;
}

const maxOverdue = 500;

/** OP-73: gives requests their workflow again, and moves what is still overdue itself. In health it finds nothing. */
export function createReconciler(options: ReconcilerOptions): Job {
  const { database, everyMs } = options;
  return {
    name: 'reconciler',
    async once() {
      const open = await countOpenWorkflows(options);
      const stuck = await database.transaction((tx) => runRound(tx, options, open));
      for (const one of stuck) await moveAndReplace(options, one);
      // Looks more often than it acts, so that a round is not late by a whole one when the process that ran the last one is gone.
      return Math.max(50, everyMs / 4);
    },
  };
}

/** One round under its lock; answers what stayed overdue through the last one. */
async function runRound(tx: Transaction, options: ReconcilerOptions, open: number | null): Promise<OverdueRequest[]> {
  const last = await beginRound(tx, options.everyMs);
  if (last === undefined) return [];
  const overdue = await listOverdue(tx, options.graceMs, maxOverdue);
  const known = new Set(last.overdue);
  const stuck = overdue.filter(({ id }) => known.has(id));
  const fresh = overdue.filter(({ id, waiting }) => !known.has(id) && !waiting).map(({ id }) => id);
  const fewer = open !== null && open < (await countFollowed(tx, options.graceMs));
  const rebuilt = await rebuild(tx, options, last, fewer);
  await tell(tx, options, fresh, 'overdue requests were told to read again');
  const left = overdue.filter(({ id }) => !known.has(id)).map(({ id }) => id);
  await saveRound(tx, { overdue: left, fewer: rebuilt === null && fewer, rebuiltTo: rebuilt });
  return stuck;
}

/**
 * Temporal has lost its data when two rounds find too few workflows: each request gets its workflow again, in parts that leave half of the
 * backlog to new requests. Answers how far it came, null when nothing is being rebuilt.
 */
async function rebuild(
  tx: Transaction,
  options: ReconcilerOptions,
  last: ReconcilerState,
  fewer: boolean,
): Promise<string | null> {
  if (last.rebuiltTo === null && !(fewer && last.fewer)) return null;
  const room = Math.max(0, Math.floor(options.maxBacklog / 2) - (await countBacklog(tx)));
  const ids = room === 0 ? [] : await listNotFinal(tx, last.rebuiltTo, room);
  await tell(tx, options, ids, 'workflows are missing and are started again');
  if (room === 0) return last.rebuiltTo;
  return ids.length < room ? null : (ids.at(-1) ?? null);
}

async function tell(tx: Transaction, { metrics, log }: ReconcilerOptions, ids: string[], what: string): Promise<void> {
  if (ids.length === 0) return;
  await insertReadAgain(tx, ids, false);
  tx.wake(topic.outbox);
  metrics.workflowRepairs.inc(ids.length);
  log.warn({ count: ids.length, first: ids[0] }, what);
}

/** A workflow that did not act on being told is not to be relied on: the move is made here, and a new one takes over. */
async function moveAndReplace(options: ReconcilerOptions, { id, clock }: OverdueRequest): Promise<void> {
  const { database, temporal, taskQueue, metrics, log, onMoved } = options;
  const moved = await database.transaction((tx) =>
    move(tx, id, (request, now) => judge(request, { kind: 'clock', clock }, now), {
      lockExecution: clock === 'lease',
      pair: clock === 'lease',
    }),
  );
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

/** Open request workflows as Temporal's index counts them, null while it cannot say. */
async function countOpenWorkflows({ temporal }: ReconcilerOptions): Promise<number | null> {
  if ((await temporal.find()) === null) return null;
  const query = `WorkflowType = '${requestWorkflow}' AND ExecutionStatus = 'Running'`;
  return temporal
    .call('count', (client) => client.workflow.count(query))
    .then(
      ({ count }) => count,
      () => null,
    );
}
