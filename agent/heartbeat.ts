import { sleep } from '../lib/sleep.js';
import type { CancelControl } from './cancel-control.js';
import type { GatewayClient } from './gateway-client.js';
import type { Log } from './log.js';
import { heartbeatAnswer } from './protocol.js';
import type { Timings } from './timings.js';

/** Sends heartbeats for an execution until `ended` aborts: the first after one period, never two at the same time (AP-81). */
export async function keepAlive(
  job: { executionId: string; control: CancelControl },
  dependencies: { client: GatewayClient; timings: Timings; log: Log },
  ended: AbortSignal,
): Promise<void> {
  const { client, timings, log } = dependencies;
  const path = `/api/agent/jobs/${job.executionId}/heartbeat`;
  while (!ended.aborted) {
    await sleep(timings.heartbeatMs, ended);
    if (ended.aborted) return;
    try {
      const { status, body } = await client.post(path, null, { timeoutMs: timings.httpMs, signal: ended });
      if (status === 410) job.control.request('gone');
      else if (status !== 200) log.warn('heartbeat refused', { execution_id: job.executionId, status });
      else if (heartbeatAnswer.parse(body).cancelled) job.control.request('asked');
    } catch (error) {
      if (!ended.aborted) log.warn('heartbeat failed', { execution_id: job.executionId, why: nameOf(error) });
    }
  }
}

/**
 * Sends one more heartbeat and returns whether the gateway knows no later attempt (AG-40); false also when it does not answer.
 */
export async function isNewest(
  executionId: string,
  { client, timings }: { client: GatewayClient; timings: Timings },
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const path = `/api/agent/jobs/${executionId}/heartbeat`;
    return (await client.post(path, null, { timeoutMs: timings.httpMs, signal })).status === 200;
  } catch {
    return false;
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error && error.name === 'ZodError' ? 'unreadable answer' : (error as Error).message;
}
