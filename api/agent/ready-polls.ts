import type { JointClaim } from '../../db/joint-claim.js';
import type { Moved } from '../../db/move.js';
import type { StoredRequest } from '../../domain/request/types.js';

/** A poll that waits in this process and would claim a request as soon as it is dispatched, by its creation or its first resume (AG-80). */
export interface ReadyPoll {
  /** Whether its agent could claim the request now. */
  couldClaim(request: StoredRequest): boolean;
  /** Judges its claim of a request that is about to be stored as dispatched at `now`; null if it is refused. */
  judge(request: StoredRequest, now: number): Promise<JudgedClaim | null>;
}

export interface JudgedClaim {
  claimed: JointClaim;
  moved: Moved;
}

/** A poll that waits until its claim has been made or not. */
export interface HeldPoll {
  judge: ReadyPoll['judge'];
  /** Answers the poll with the claim; null lets it wait on. This or `fail` must be called. */
  end(answer: string | null): void;
  /** Fails the poll, because nobody knows whether its claim was made. */
  fail(error: unknown): void;
}

export interface ReadyPolls {
  /** How many polls wait. */
  readonly size: number;
  /** Returns how to leave, which resolves with the answer of a claim that was made meanwhile, or null, or rejects by `fail`. `wake` is called after each hold. */
  join(poll: ReadyPoll, wake: () => void): () => Promise<string | null>;
  /** Holds the poll that has waited longest of those that could claim the request; null if there is none. */
  hold(request: StoredRequest): HeldPoll | null;
}

interface Place extends ReadyPoll {
  wake(): void;
  answer: Promise<string | null>;
}

export function createReadyPolls(): ReadyPolls {
  const places = new Set<Place>();
  return {
    get size() {
      return places.size;
    },
    join({ couldClaim, judge }, wake) {
      const place: Place = { couldClaim, judge, wake, answer: Promise.resolve(null) };
      places.add(place);
      return () => {
        places.delete(place);
        return place.answer;
      };
    },
    hold(request) {
      const place = [...places].find(({ couldClaim }) => couldClaim(request));
      if (place === undefined) return null;
      places.delete(place);
      let resolve = (_: string | null) => {};
      let reject = (_: unknown) => {};
      place.answer = new Promise((answered, failed) => {
        [resolve, reject] = [answered, failed];
      });
      // The poll may have ended for a reason of its own.
      place.answer.catch(() => {});
      return {
        judge: place.judge,
        end(answer) {
          resolve(answer);
          place.wake();
        },
        fail(error) {
          reject(error);
          place.wake();
        },
      };
    },
  };
}
