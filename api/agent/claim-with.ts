import { isUnavailable } from '../../db/errors.js';
import type { JoinedClaim } from '../../db/joined-claim.js';
import { isMutatingMigration, type StoredRequest } from '../../domain/request/types.js';
import type { Services } from '../context.js';
import { countMoved, traceMoved } from '../requests/moved.js';
import type { HeldPoll, JudgedClaim } from './ready-polls.js';

/** A request as what is about to be written dispatches it, and Postgres's instant of that. */
interface Dispatched {
  after: StoredRequest;
  now: number;
}

/**
 * Lets a poll that waits in this process claim the request by what `write` commits (AG-80). False, with nothing written, if none waits that could, or it may
 * not claim it this way; `write` must answer the same.
 */
export async function claimWith(
  services: Services,
  { after, now }: Dispatched,
  write: (claim: JoinedClaim) => Promise<boolean>,
): Promise<boolean> {
  // A migration needs the lock of its pair.
  if (services.readyPolls.size === 0 || after.status !== 'dispatched' || isMutatingMigration(after.operation)) return false;
  const poll = services.readyPolls.hold(after);
  if (poll === null) return false;
  let end = () => poll.end(null);
  try {
    const startedAt = performance.now();
    const judged = await judge(services, poll, { after, now });
    if (judged === null || !(await write(judged.claimed))) return false;
    const { answer } = judged.claimed.written.claim;
    end = () => poll.end(answer);
    countMoved(services.metrics, judged.moved);
    traceMoved(services.tracing, judged.moved, startedAt);
    return true;
  } catch (error) {
    // The claim may have been made. Its agent gets it by its next poll (AG-81), and counts its lease from before a poll that failed.
    if (isUnavailable(error)) end = () => poll.fail(error);
    throw error;
  } finally {
    end();
  }
}

/** A fault of the claim does not fail what dispatches the request. */
async function judge({ log }: Services, poll: HeldPoll, { after, now }: Dispatched): Promise<JudgedClaim | null> {
  try {
    return await poll.judge(after, now);
  } catch (error) {
    log.warn({ error: String(error), request_id: after.id }, 'request not claimed as it was dispatched');
    return null;
  }
}
