import { DefaultLogger, type LogEntry, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';

const levels = { TRACE: 'debug', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const;

/** Routes the Temporal library's log through ours and leaves system signals to us. Call once per process, before the first connection. */
export function installRuntime(log: Logger): void {
  const write = ({ level, message, meta }: LogEntry) => log[levels[level]]({ ...textOf(meta) }, message);
  Runtime.install({
    logger: new DefaultLogger('INFO', write),
    shutdownSignals: [],
    // The client warns of each repeated call, many times per second while the server is unreachable. Our own log reports that once.
    telemetryOptions: { logging: { forward: {}, filter: 'error,temporalio_sdk_core=warn' } },
  });
}

/** Only what locates the event: payloads and stacks of workflows stay out of our log. */
function textOf(meta: LogEntry['meta']): Record<string, string> {
  const { error, workflowId, runId } = (meta ?? {}) as Record<string, unknown>;
  const text = error instanceof Error ? error.message : error;
  const known = Object.entries({ error: text, workflow_id: workflowId, run_id: runId });
  return Object.fromEntries(known.flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])));
}
