import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import type { Config } from '../config/types.js';
import type { Metrics } from '../runtime/metrics.js';
import { temporalConnection } from '../runtime/temporal-connection.js';
import { type RequestState, requestWorkflowId, stateQuery } from '../workflows/messages.js';

/** What OP-74 shows of a request's workflow. */
export interface RequestWorkflow {
  /** The newest run, even if it ended; null if there is none or Temporal is unreachable. */
  runId: string | null;
  live: { version: number; status: string; deadline: string | null } | null;
  liveError: null | 'not_running' | 'unavailable';
}

export interface TemporalReader {
  /** Whether the namespace is reachable, known within 2 s (OP-10). */
  reachable(): Promise<boolean>;
  /** Never rejects; answers within 2 s (OP-74). */
  requestWorkflow(id: string): Promise<RequestWorkflow>;
  close(): Promise<void>;
}

const deadlineMs = 1900;
/** By default the library waits up to two minutes before it retries an unreachable server. */
const channelArgs = { 'grpc.initial_reconnect_backoff_ms': 200, 'grpc.max_reconnect_backoff_ms': 1000 };

/** Reads Temporal for `/ready` and for operators. Connects on the first question and reconnects by itself after an outage. */
export function createTemporalReader(
  config: Pick<Config, 'temporal'>,
  { temporalErrors }: Pick<Metrics, 'temporalErrors'>,
): TemporalReader {
  const { namespace, callTimeoutSecs } = config.temporal;
  const connection = Connection.lazy({ ...temporalConnection(config), channelArgs });
  const client = new Client({ connection, namespace });
  const limitMs = Math.min(deadlineMs, callTimeoutSecs * 1000);
  const asking = new Set<Promise<unknown>>();
  const within = async <T>(work: () => Promise<T>): Promise<T> => {
    const asked = connection.withDeadline(Date.now() + limitMs, work);
    asking.add(asked);
    return asked.finally(() => asking.delete(asked));
  };
  return {
    reachable: () =>
      within(() => client.workflowService.describeNamespace({ namespace })).then(
        () => true,
        () => {
          temporalErrors.inc({ operation: 'describe_namespace' });
          return false;
        },
      ),
    requestWorkflow: async (id) => {
      const found = await within(() => readWorkflow(client, id));
      if (found.liveError === 'unavailable') temporalErrors.inc({ operation: 'read_workflow' });
      return found;
    },
    close: async () => {
      // If the library retries a call on a closed connection, it throws where nothing can catch it.
      await Promise.allSettled(asking);
      await connection.close();
    },
  };
}

async function readWorkflow(client: Client, id: string): Promise<RequestWorkflow> {
  const handle = client.workflow.getHandle(requestWorkflowId(id));
  let runId: string | null = null;
  try {
    const run = await handle.describe();
    runId = run.runId;
    if (run.status.name !== 'RUNNING') return { runId, live: null, liveError: 'not_running' };
    const { stored } = await handle.query<RequestState>(stateQuery);
    return stored === null ? { runId, live: null, liveError: 'unavailable' } : { runId, live: stored, liveError: null };
  } catch (error) {
    return { runId, live: null, liveError: error instanceof WorkflowNotFoundError ? 'not_running' : 'unavailable' };
  }
}
