import type { Operation } from '../domain/policies.js';
import { isMutating } from '../domain/request/types.js';
import { traced } from '../tracing/tracing.js';
import type { CancelControl } from './cancel-control.js';
import { type Claimed, claimJob } from './claim.js';
import type { Databases } from './databases.js';
import { type ClaimedJob, type ExecuteDependencies, executeJob, type JobReport } from './execute.js';
import type { GatewayClient } from './gateway-client.js';
import { isNewest, keepAlive } from './heartbeat.js';
import { jobSpan, partOfJob, toldOfJob } from './job-spans.js';
import type { Log } from './log.js';
import type { ClaimAnswer, OfferedJob } from './protocol.js';
import { type ActiveJob, type SlotEntry, Slots } from './slots.js';
import { createStartedAttempts, type StartedAttempts } from './started-attempts.js';
import { submitResult } from './submit.js';
import type { Timings } from './timings.js';

export interface JobsDependencies extends Omit<ExecuteDependencies, 'started'> {
  databases: Databases;
  client: GatewayClient;
  timings: Timings;
  log: Log;
  /** Aborts when nothing more may be claimed (AP-I10). */
  stop: AbortSignal;
  /** Aborts when nothing more may be sent. */
  abandoned: AbortSignal;
  onFreedSlot: () => void;
}

/** The jobs of this process; each holds a slot from its claim until its result is acknowledged or given up (AP-09). */
export interface Jobs {
  readonly free: number;
  active(): ActiveJob[];
  /** Claims an offered job and runs it if claimed; resolves with the claim's answer (AP-08). */
  start(offered: OfferedJob, agentId: string): Promise<'claimed' | 'refused'>;
  /** Runs what a poll claimed; refuses a job that this process already holds, which an honest answer never contains (AG-80, AG-81). */
  run(claimed: Claimed, agentId: string): 'claimed' | 'refused';
  /** The executions of the claimed jobs, and of those that ended last: one whose result was given up may still run for the gateway. */
  held(): string[];
  /** Cancels these executions, as the gateway asks (AG-82). */
  cancel(executionIds: readonly string[]): void;
  /** Cancels running jobs because the agent ends (AP-18). */
  cancelAll(): void;
  /** Resolves when no job is left. */
  idle(): Promise<void>;
}

export function createJobs(dependencies: JobsDependencies): Jobs {
  const { config, log, onFreedSlot } = dependencies;
  const slots = new Slots(config.maxConcurrentTasks, onFreedSlot);
  const all = { ...dependencies, started: createStartedAttempts() };

  const work = (entry: SlotEntry, claimed: Claimed, agentId: string) => {
    runTraced(claimedJob(claimed, agentId, entry.control, dependencies), all)
      .catch((error: Error) => log.error('job failed in the agent', { request_id: entry.offered.id, why: error.name }))
      .finally(() => slots.leave(entry));
  };

  return {
    get free() {
      return slots.free;
    },
    active: () => slots.active(),
    async start(offered, agentId) {
      const entry = slots.take(offered, null);
      const claimed = await claimJob(offered, dependencies);
      entry.executionId = claimed?.claim.execution_id ?? null;
      if (claimed === null) slots.leave(entry);
      else work(entry, claimed, agentId);
      return claimed ? 'claimed' : 'refused';
    },
    run(claimed, agentId) {
      const { execution_id: executionId, request_id: id, operation, fence } = claimed.claim;
      if (slots.held().includes(executionId)) {
        log.error('already started', { request_id: id, fence });
        return 'refused';
      }
      work(slots.take({ id, operation }, executionId), claimed, agentId);
      return 'claimed';
    },
    held: () => slots.held(),
    cancel: (executionIds) => slots.cancel('asked', ({ executionId }) => executionIds.includes(executionId ?? '')),
    cancelAll: () => slots.cancel('stopped', () => true),
    idle: () => slots.idle(),
  };
}

function claimedJob(
  { claim, lease, firstLostAt }: Claimed,
  agentId: string,
  control: CancelControl,
  dependencies: JobsDependencies,
): ClaimedJob {
  const isNewestAttempt = () =>
    isNewest({ executionId: claim.execution_id, control, lease }, dependencies, dependencies.abandoned);
  const target = dependencies.databases.find(claim.database, claim.environment);
  return { claim, target, agentId, control, lease, firstLostAt, strangers: [], isNewest: isNewestAttempt };
}

type RunDependencies = JobsDependencies & { started: StartedAttempts };

/** Runs a claimed job as a span of its request's trace. */
const runTraced = (job: ClaimedJob, dependencies: RunDependencies) =>
  traced(
    dependencies.tracing,
    jobSpan(job.claim),
    () => runClaimed(job, dependencies),
    (report) => toldOfJob(job, report),
  );

/** Runs a claimed job under heartbeats and submits its result. */
async function runClaimed(job: ClaimedJob, dependencies: RunDependencies): Promise<JobReport | null> {
  const { config, abandoned, log, tracing } = dependencies;
  const { claim, control, lease } = job;
  const ended = new AbortController();
  const begunAt = performance.now();
  const beating = keepAlive({ executionId: claim.execution_id, control, lease }, dependencies, ended.signal);
  const release = job.target?.hold();
  const report = await executeJob(job, dependencies);
  release?.();
  if (report === null) log.error('already started', { request_id: claim.request_id, fence: claim.fence });
  else {
    const { strangers } = job;
    if (strangers.length > 0) log.warn('marker rows fit no attempt', { request_id: claim.request_id, rows: strangers.length });
    const durationMs = performance.now() - begunAt;
    const mutating = isMutating(claim.operation as Operation);
    const submission = {
      executionId: claim.execution_id,
      ...report,
      mutating,
      durationMs,
      strangers,
      attempts: attemptsOf(claim),
    };
    const sending = () => submitResult(submission, { ...dependencies, retryMs: config.resultRetryMs, signal: abandoned });
    await traced(tracing, partOfJob(claim, 'submit result', 'client'), sending, () => ({ attributes: {} }));
  }
  ended.abort();
  await beating;
  return report;
}

/** The execution of each fence that this attempt may find applied. */
function attemptsOf({ fence, execution_id: id, unresolved_executions: earlier = [] }: ClaimAnswer): ReadonlyMap<number, string> {
  return new Map([...earlier.map((one) => [one.fence, one.execution_id] as const), [fence, id] as const]);
}
