import { within } from '../lib/deadline.js';
import { sleep } from '../lib/sleep.js';
import type { AgentConfig } from './config-values.js';
import type { ExplainJobs } from './explain-jobs.js';
import type { Jobs } from './jobs.js';
import type { Log } from './log.js';
import type { Poll } from './poll.js';
import type { Timings } from './timings.js';

interface Draining {
  jobs: Jobs;
  explains: ExplainJobs;
  poll: Poll;
  /** Aborted when nothing more may be sent. */
  abandoned: AbortController;
}

/**
 * Tells the server, lets running jobs finish, and cancels them when that takes too long (AP-17, AP-18); resolves with the exit
 * code.
 */
export async function drain(
  { config, timings, log, stopNow }: { config: AgentConfig; timings: Timings; log: Log; stopNow: AbortSignal },
  { jobs, explains, poll, abandoned }: Draining,
): Promise<number> {
  log.info('agent is stopping', { jobs: config.maxConcurrentTasks - jobs.free });
  const lastWord = () =>
    poll({
      limit: 0,
      explainLimit: 0,
      waitMs: 0,
      draining: true,
      signal: AbortSignal.any([stopNow, AbortSignal.timeout(timings.stopGraceMs)]),
    });
  const told = lastWord();
  const drained = await within(
    Promise.all([jobs.idle(), explains.idle()]).then(() => true),
    config.drainTimeoutMs,
    false,
    stopNow,
  );
  await told;
  if (drained) {
    await lastWord();
    return 0;
  }
  log.error('running jobs are cancelled', { jobs: config.maxConcurrentTasks - jobs.free });
  jobs.cancelAll();
  await within(jobs.idle(), timings.stopGraceMs, undefined);
  abandoned.abort(new Error('agent stopped'));
  await sleep(0);
  return 1;
}
