import { within } from '../lib/deadline.js';
import { sleep } from '../lib/sleep.js';
import { claimsOf } from './claim.js';
import type { AgentConfig } from './config-values.js';
import type { ExplainJobs } from './explain-jobs.js';
import type { Jobs } from './jobs.js';
import type { Moment } from './lease.js';
import type { Log } from './log.js';
import type { Poll } from './poll.js';
import type { Timings } from './timings.js';

interface Draining {
  jobs: Jobs;
  explains: ExplainJobs;
  poll: Poll;
  /** Until when a poll that was cut short may still claim. */
  claimsUntil: number | null;
  /** Before anything was claimed that polls may still bring. */
  claimsSince: Moment;
  /** Aborted when nothing more may be sent. */
  abandoned: AbortController;
}

/**
 * Tells the server, lets running jobs finish, and cancels them when that takes too long (AP-17, AP-18); resolves with the exit
 * code.
 */
export async function drain(
  { config, timings, log, stopNow }: { config: AgentConfig; timings: Timings; log: Log; stopNow: AbortSignal },
  { jobs, explains, poll, claimsUntil, claimsSince, abandoned }: Draining,
): Promise<number> {
  log.info('agent is stopping', { jobs: config.maxConcurrentTasks - jobs.free });
  /** Runs the claims that the answer brings; resolves with how many it began. */
  const lastWord = async (): Promise<number> => {
    const signal = AbortSignal.any([stopNow, AbortSignal.timeout(timings.stopGraceMs)]);
    const result = await poll({ limit: 0, explainLimit: 0, waitMs: 0, claim: true, draining: true, signal });
    if (!result.ok) return 0;
    const { answer } = result;
    const runs = claimsOf(answer, claimsSince).map((claimed) => jobs.run(claimed, answer.agent_id));
    return runs.filter((run) => run === 'claimed').length;
  };
  // A poll that was cut short may have claimed, or be about to (AG-81); nobody else can end that.
  const finish = async () => {
    await lastWord();
    await sleep(Math.max(0, (claimsUntil ?? 0) - performance.now()), stopNow);
    do await Promise.all([jobs.idle(), explains.idle()]);
    while ((await lastWord()) > 0);
    return true;
  };
  if (await within(finish(), config.drainTimeoutMs, false, stopNow)) return 0;
  log.error('running jobs are cancelled', { jobs: config.maxConcurrentTasks - jobs.free });
  jobs.cancelAll();
  await within(jobs.idle(), timings.stopGraceMs, undefined);
  abandoned.abort(new Error('agent stopped'));
  await sleep(0);
  return 1;
}
