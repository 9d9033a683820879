import { sleep } from '../lib/sleep.js';
import type { CancelControl } from './cancel-control.js';
import { type GatewayClient, isRefusal } from './gateway-client.js';
import type { GatewayAnswer } from './http-exchange.js';
import { type Lease, moment } from './lease.js';
import type { Log } from './log.js';
import { heartbeatAnswer } from './protocol.js';
import type { Timings } from './timings.js';

export interface BeatingJob {
  executionId: string;
  control: CancelControl;
  lease: Lease;
}

interface BeatDependencies {
  client: GatewayClient;
  timings: Timings;
  log: Log;
}

/** Sends heartbeats for an execution until `ended` aborts: the first after one period, never two at the same time (AP-81). */
export async function keepAlive(job: BeatingJob, dependencies: BeatDependencies, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    await sleep(dependencies.timings.heartbeatMs, ended);
    if (!ended.aborted) await beat(job, dependencies, ended);
  }
}

async function beat(job: BeatingJob, dependencies: BeatDependencies, ended: AbortSignal): Promise<void> {
  const { log } = dependencies;
  const { executionId } = job;
  try {
    const { status } = await sendBeat(job, dependencies, ended);
    if (status !== 200 && status !== 410) log.warn('heartbeat refused', { execution_id: executionId, status });
  } catch (error) {
    if (!ended.aborted) log.warn('heartbeat failed', { execution_id: executionId, why: nameOf(error) });
  }
}

/**
 * Sends one more heartbeat and returns whether the gateway knows no later attempt (AG-40); false also when it does not answer.
 */
export async function isNewest(
  job: BeatingJob,
  dependencies: Omit<BeatDependencies, 'log'>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return (await sendBeat(job, dependencies, signal)).status === 200;
  } catch {
    return false;
  }
}

/** Sends a heartbeat and heeds what the answer says of the lease and of a cancel. */
async function sendBeat(
  { executionId, control, lease }: BeatingJob,
  { client, timings }: Omit<BeatDependencies, 'log'>,
  signal: AbortSignal,
): Promise<GatewayAnswer> {
  const sentAt = moment();
  const path = `/api/agent/jobs/${executionId}/heartbeat`;
  const answer = await client.post(path, null, { timeoutMs: Math.min(timings.httpMs, lease.beatMs), signal });
  // The page of a proxy says nothing of the lease, whatever its status is.
  if (answer.status === 200) {
    const { cancelled } = heartbeatAnswer.parse(answer.body);
    lease.extend(sentAt);
    if (cancelled) control.request('asked');
  } else if (isRefusal(answer)) {
    const isGone = answer.status === 410;
    if (isGone || answer.status === 409) lease.end();
    if (isGone) control.request('gone');
  }
  return answer;
}

function nameOf(error: unknown): string {
  return error instanceof Error && error.name === 'ZodError' ? 'unreadable answer' : (error as Error).message;
}
