import type { Logger } from 'pino';
import type { Database } from '../db/client.js';
import { databaseNow } from '../db/clock.js';
import { listWithoutWorkflow } from '../db/reconcile.js';
import { iso } from '../db/row-types.js';
import type { Metrics } from '../runtime/metrics.js';
import { requestOfWorkflow, requestWorkflow } from '../workflows/messages.js';
import type { Job } from './job.js';
import { inRounds } from './rounds.js';
import { tellToRead } from './tell-to-read.js';
import type { TemporalLink } from './temporal-link.js';

export interface EndedWorkflowsOptions {
  database: Database;
  temporal: TemporalLink;
  metrics: Metrics;
  log: Logger;
  everyMs?: number;
}

const everyMs = 4000;
/** How far back a round looks, by PostgreSQL's clock: Temporal's index may be late, and its clock another one. */
const windowMs = 60_000;
/** What one round takes up at most. The reconciler finds whatever stays behind. */
const batch = 500;

/** Restarts, within 10 s, the workflow of a request that an operator terminated or that failed (OP-73). */
export function createEndedWorkflows({ database, temporal, metrics, log, ...options }: EndedWorkflowsOptions): Job {
  let told: ReadonlySet<string> = new Set();
  return inRounds(database, {
    name: 'ended workflows',
    everyMs: options.everyMs ?? everyMs,
    async part() {
      if ((await temporal.find()) === null) return false;
      const ended = await listEnded(temporal, (await databaseNow(database)) - windowMs);
      if (ended === null) return false;
      const fresh = ended.filter(({ runId }) => !told.has(runId)).map(({ requestId }) => requestId);
      if (fresh.length > 0)
        await database.transaction(async (tx) => {
          const ids = await listWithoutWorkflow(tx, fresh);
          await tellToRead(tx, { metrics, log }, ids, 'workflows were ended from outside and are started again');
        });
      told = new Set(ended.map(({ runId }) => runId));
      return false;
    },
  });
}

/**
 * Runs that ended in the window without the workflow's own return, also those of another gateway in the namespace: nobody knows their ids here.
 * Null while Temporal cannot tell; a failure would keep all processes from the next round for a minute.
 */
async function listEnded(temporal: TemporalLink, since: number): Promise<{ runId: string; requestId: string }[] | null> {
  const query =
    `WorkflowType = '${requestWorkflow}' ` +
    `AND ExecutionStatus IN ('Terminated', 'Failed', 'TimedOut', 'Canceled') AND CloseTime > '${iso(since)}'`;
  const listed = temporal.call('list', async (client) => {
    const found: { runId: string; requestId: string }[] = [];
    for await (const { runId, workflowId } of client.workflow.list({ query, pageSize: batch })) {
      const requestId = requestOfWorkflow(workflowId);
      if (requestId !== null) found.push({ runId, requestId });
      if (found.length === batch) break;
    }
    return found;
  });
  return listed.catch(() => null);
}
