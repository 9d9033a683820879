import { isUnavailable } from '../../db/errors.js';
import type { JointClaim } from '../../db/joint-claim.js';
import type { StoredRequest } from '../../domain/request/types.js';
import type { HeldPoll } from '../agent/ready-polls.js';
import type { Services } from '../context.js';
import { countMoved, traceMoved } from './moved.js';

/** A request as the change that is about to be written dispatches it, and the instant of that. */
interface Dispatched {
  request: StoredRequest;
  now: number;
}

/**
 * Has `write` store the change with the claim of an agent that waits for the request in this process (AG-80). Undefined, with nothing written, if none
 * waits, its claim is refused, or `write` resolves with undefined or false.
 */
export async function withReadyClaim<T>(
  services: Services,
  dispatched: Dispatched,
  write: (claim: JointClaim) => Promise<T | undefined | false>,
): Promise<T | undefined> {
  const poll = services.readyPolls.hold(dispatched.request);
  if (poll === null) return undefined;
  let end = () => poll.end(null);
  try {
    const startedAt = performance.now();
    const judged = await judge(services, poll, dispatched);
    const stored = judged && (await write(judged.claimed));
    if (!judged || !stored) return undefined;
    const { answer } = judged.claimed.written.claim;
    end = () => poll.end(answer);
    countMoved(services.metrics, judged.moved);
    traceMoved(services.tracing, judged.moved, startedAt);
    return stored;
  } catch (error) {
    // The claim may have been made. Its agent gets it by its next poll (AG-81), and counts its lease from before a poll that failed.
    if (isUnavailable(error)) end = () => poll.fail(error);
    throw error;
  } finally {
    // Whoever dispatched is answered first.
    setImmediate(end);
  }
}

/** A fault of the claim does not fail the change. */
async function judge({ log }: Services, poll: HeldPoll, { request, now }: Dispatched) {
  try {
    return await poll.judge(request, now);
  } catch (error) {
    log.warn({ error: String(error), request_id: request.id }, 'request not claimed as it was dispatched');
    return null;
  }
}
