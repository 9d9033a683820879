import type { Logger } from 'pino';
import type { Database, Transaction } from '../db/client.js';
import { type Moved, move } from '../db/move.js';
import { countBacklog, findAbout } from '../db/outbox.js';
import {
  beginRound,
  countFollowed,
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
      const stuck = await database.transaction((tx) => runRound(tx, options, open));
      for (const one of stuck) await moveAndReplace(options, one);
      // Runs more often than rounds are due, so that no round is a whole interval late if the process that ran the last one is gone.
      return Math.max(50, everyMs / 4);
    },
  };
}

/** Runs one round under its lock. Returns the requests that were already overdue in the last round. */
async function runRound(tx: Transaction, options: ReconcilerOptions, open: number | null): Promise<OverdueRequest[]> {
  const last = await beginRound(tx, options.everyMs);
  if (last === undefined) return [];
  const overdue = await listOverdue(tx, options.graceMs, maxOverdue);
  const known = new Set(last.overdue);
  const stuck = overdue.filter(({ id }) => known.has(id));
  const fresh = overdue.filter(({ id, waiting }) => !known.has(id) && !waiting).map(({ id }) => id);
  const fewer = open !== null && open < (await countFollowed(tx, options.graceMs));
  const rebuilt = await rebuild(tx, options, last, fewer);
  await tellToRead(tx, options, fresh, 'overdue requests were told to read again');
  const left = overdue.filter(({ id }) => !known.has(id)).map(({ id }) => id);
  await saveRound(tx, { overdue: left, fewer: rebuilt === null && fewer, rebuiltTo: rebuilt });
  return stuck;
}

/**
 * If two rounds find too few workflows, Temporal has lost its data. Then each request gets its workflow again, in parts that leave half of
 * the backlog to new requests. Returns how far it got, or null if nothing is being rebuilt.
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
  await tellToRead(tx, options, ids, 'workflows are missing and are started again');
  if (room === 0) return last.rebuiltTo;
  return ids.length < room ? null : (ids.at(-1) ?? null);
}

/** A workflow that ignored its news is not reliable: this makes the move and replaces the workflow. */
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

/** Open request workflows by Temporal's index; null while Temporal cannot tell. */
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
