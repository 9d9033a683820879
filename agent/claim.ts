import { randomUUID } from 'node:crypto';
import { sleep } from '../lib/sleep.js';
import { type GatewayClient, isRefusal } from './gateway-client.js';
import { Lease, type Moment, moment } from './lease.js';
import type { Log } from './log.js';
import { firstLostAt } from './lost-attempts.js';
import type { FirstLostAt } from './marker.js';
import { type ClaimAnswer, claimAnswer, type OfferedJob, type PollAnswer } from './protocol.js';
import type { Timings } from './timings.js';

interface ClaimDependencies {
  client: GatewayClient;
  timings: Timings;
  log: Log;
  /** Aborts when nothing more may be claimed (AP-I10). */
  stop: AbortSignal;
  /** Aborts when nothing more may be sent. */
  abandoned: AbortSignal;
}

export interface Claimed {
  claim: ClaimAnswer;
  lease: Lease;
  firstLostAt: FirstLostAt | null;
}

/** The claims of a poll that was answered just now; `since`: before the gateway can have begun their leases. */
export function claimsOf({ claims, server_time: serverTime }: PollAnswer, since: Moment): Claimed[] {
  const heard = { at: performance.now(), serverTime };
  return claims.map((claim) => claimedOf(claim, since, heard));
}

const claimedOf = (claim: ClaimAnswer, since: Moment, heard: Parameters<typeof firstLostAt>[1]): Claimed => ({
  claim,
  lease: new Lease(claim, since),
  firstLostAt: firstLostAt(claim, heard),
});

/**
 * Claims with one `claim_id`. A claim without an answer is repeated for as long as the lease that it may have begun could live, so that a server
 * that ended meanwhile gives the same answer when it is back (AP-08). Null when the job is not ours.
 */
export async function claimJob(offered: OfferedJob, dependencies: ClaimDependencies): Promise<Claimed | null> {
  const { timings, stop } = dependencies;
  const claimId = randomUUID();
  const begunAt = moment();
  const until = performance.now() + timings.claimGiveUpMs;
  for (let attempt = 0; !stop.aborted; attempt++) {
    const tried = await tryClaim(offered, claimId, dependencies);
    if ('claim' in tried) return tried.claim && claimedOf(tried.claim, begunAt, { at: begunAt.monotonicMs, serverTime: null });
    // Rate limited (AG-10): nothing was claimed, and nothing else is asked for meanwhile.
    await sleep(tried.retryAfterMs, stop);
    const backoff = timings.claimBackoffMs[Math.min(attempt, timings.claimBackoffMs.length - 1)] ?? 1000;
    if (performance.now() + backoff > until) break;
    await sleep(backoff, stop);
  }
  return null;
}

/** One claim; without an answer that decides, how long the gateway wants to be left alone. */
async function tryClaim(
  offered: OfferedJob,
  claimId: string,
  { client, timings, log, abandoned }: ClaimDependencies,
): Promise<{ claim: ClaimAnswer | null } | { retryAfterMs: number }> {
  try {
    const path = `/api/agent/jobs/${offered.id}/claim`;
    const answer = await client.post(path, { claim_id: claimId }, { timeoutMs: timings.httpMs, signal: abandoned });
    if (answer.status === 409 && isRefusal(answer)) return { claim: null };
    if (answer.status < 300) return { claim: readClaim(answer.body, offered) };
    log.warn('claim refused', { request_id: offered.id, status: answer.status });
    if (answer.status === 429) return { retryAfterMs: answer.retryAfterMs ?? 0 };
    return isRefusal(answer) ? { claim: null } : { retryAfterMs: 0 };
  } catch (error) {
    const why = error instanceof Error && error.name === 'ZodError' ? 'unreadable answer' : (error as Error).message;
    log.warn('claim not answered', { request_id: offered.id, why });
    return { retryAfterMs: 0 };
  }
}

/** Parses an answer to this claim. A valid answer for another job counts as unreadable. */
function readClaim(body: unknown, offered: OfferedJob): ClaimAnswer {
  return claimAnswer.refine(({ request_id: id }) => id === offered.id).parse(body);
}
