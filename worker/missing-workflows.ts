import { WorkflowNotFoundError } from '@temporalio/client';
import { requestWorkflowId } from '../workflows/messages.js';
import type { TemporalLink } from './temporal-link.js';

/** Looks of one process beside each other. */
const atOnce = 16;

export interface Looked {
  /** The requests whose workflow does not run, or of which Temporal could not tell. */
  missing: string[];
  /** All before this one were looked at; null if all were, because Temporal stayed usable. */
  leftFrom: string | null;
}

/** Looks for the workflows of the requests in Temporal's own records, for as long as Temporal is usable. */
export async function listMissing(temporal: TemporalLink, ids: readonly string[]): Promise<Looked> {
  const missing = new Set<string>();
  const left = new Set<string>();
  const queue = ids.values();
  const look = async () => {
    for (const id of queue) {
      const found = temporal.isUsable() && (await runs(temporal, id).catch(() => false));
      if (!temporal.isUsable()) left.add(id);
      else if (!found) missing.add(id);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, look));
  return { missing: ids.filter((id) => missing.has(id)), leftFrom: ids.find((id) => left.has(id)) ?? null };
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
