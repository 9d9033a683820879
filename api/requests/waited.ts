import { clockFrom } from '../../db/clock.js';
import { type Notifications, topic } from '../../db/notifications.js';
import type { FoundShown } from '../../db/shown-request.js';
import { createWatches, type Watches } from '../http/watches.js';

/** The longest wait. If a notification never comes, what was read stands no longer than for one who waits. */
const believedMs = 120_000;
/** Thousands may wait, each for a request of its own. */
const maxKeptChars = 32_768;

/** What was read of requests that callers wait for, by id. */
export type WaitedRequests = Watches<Kept>;

interface Kept {
  /** JSON, which takes less memory than what it says; null if a notification would not tell of all that may change. */
  request: string | null;
  /** PostgreSQL's, since it was read. */
  clock: () => number;
}

export const createWaitedRequests = (): WaitedRequests =>
  createWatches({ believedMs, stands: ({ request }) => request !== null && request.length <= maxKeptChars });

function keptOf(found: FoundShown | undefined): Kept {
  const { request, now } = found ?? { request: null, now: 0 };
  return { request: request !== null && isQuiet(request) ? JSON.stringify(request) : null, clock: clockFrom(now) };
}

/** Nobody is notified of plans, of what agents do with a request that was dispatched, or of a late result whose sender died. A long text is not written to be measured. */
function isQuiet({ status, dryRuns, detail, unresolved }: FoundShown['request']): boolean {
  const isPlanned = dryRuns.every(({ state }) => state === 'completed' || state === 'failed');
  return isPlanned && unresolved.length === 0 && (status === 'pending' || status === 'approved') && detail.length <= maxKeptChars;
}

/** One caller's wait for a request. */
export interface WaitedRequest {
  /** What was read, if nothing of the request was notified since; else null. */
  standing(): FoundShown | null;
  look(find: () => Promise<FoundShown | undefined>): Promise<FoundShown | undefined>;
  leave(): void;
}

export function joinWaited(
  requests: WaitedRequests,
  notifications: Pick<Notifications, 'subscribe' | 'hears'>,
  id: string,
): WaitedRequest {
  const watch = requests.join(notifications, id, [topic.request(id)]);
  return {
    standing() {
      const kept = watch.standing();
      return kept?.request ? { request: JSON.parse(kept.request), now: kept.clock() } : null;
    },
    async look(find) {
      let found: FoundShown | undefined;
      await watch.look(async () => {
        found = await find();
        return keptOf(found);
      });
      return found;
    },
    leave: watch.leave,
  };
}
