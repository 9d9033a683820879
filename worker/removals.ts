import { eachAlone } from './each-alone.js';

/** Bounds the list that goes into statements. With more, a round begins anew with the oldest. */
const maxPassedOver = 1000;

/** Removals of one job. What cannot be removed holds up nothing else: the rest of the round passes it over, and the next round tries it again. */
export interface Removals {
  /** The ids of what failed in this round. */
  failed(): string[];
  /** Removes the items, each alone. The first failure is thrown at the end, so that it is reported and retried (OP-80). */
  each<T>(items: readonly T[], idOf: (item: T) => string, remove: (item: T) => Promise<void>): Promise<void>;
  endRound(): void;
}

export function createRemovals(): Removals {
  const failed = new Set<string>();
  return {
    failed: () => [...failed],
    each: (items, idOf, remove) =>
      eachAlone(items, remove, (item) => {
        if (failed.size >= maxPassedOver) failed.clear();
        failed.add(idOf(item));
      }),
    endRound: () => failed.clear(),
  };
}
