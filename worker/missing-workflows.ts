import { WorkflowNotFoundError } from '@temporalio/client';
import { requestWorkflowId } from '../workflows/messages.js';
import type { TemporalLink } from './temporal-link.js';

/** Looks of one process beside each other. */
const atOnce = 16;

/** Those of the requests whose workflow does not run, by Temporal's own records. Whatever it cannot tell counts as missing. */
export async function listMissing(temporal: TemporalLink, ids: readonly string[]): Promise<string[]> {
  const missing = new Set<string>();
  const left = ids.values();
  const look = async () => {
    for (const id of left) if (!(await runs(temporal, id).catch(() => false))) missing.add(id);
  };
  await Promise.all(Array.from({ length: atOnce }, look));
  return ids.filter((id) => missing.has(id));
}

const runs = (temporal: TemporalLink, id: string): Promise<boolean> =>
  temporal.call('describe', (client) =>
    client.workflow
      .getHandle(requestWorkflowId(id))
      .describe()
      .then(
        ({ status }) => status.name === 'RUNNING',
        (error: unknown) => {
          if (error instanceof WorkflowNotFoundError) return false;
          throw error;
        },
      ),
  );
