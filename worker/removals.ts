/** An unreachable store fails every removal, so a part stops when so many in a row fail. */
const maxFailures = 5;
/** Bounds the list that goes into statements. With more, a round begins anew with the oldest. */
const maxPassedOver = 1000;

/** Removals of one job. What cannot be removed holds up nothing else: the rest of the round passes it over, and the next round tries it again. */
export interface Removals {
  /** The ids of what failed in this round. */
  failed(): string[];
  /** Removes the items in turn. The first failure is thrown at the end, so that it is reported and retried (OP-80). */
  each<T>(items: readonly T[], idOf: (item: T) => string, remove: (item: T) => Promise<void>): Promise<void>;
  endRound(): void;
}

export function createRemovals(): Removals {
  const failed = new Set<string>();
  return {
    failed: () => [...failed],
    async each(items, idOf, remove) {
      const failures: unknown[] = [];
      let inARow = 0;
      for (const item of items) {
        const before = failures.length;
        await remove(item).catch((error: unknown) => {
          failures.push(error);
          if (failed.size >= maxPassedOver) failed.clear();
          failed.add(idOf(item));
        });
        inARow = failures.length > before ? inARow + 1 : 0;
        if (inARow === maxFailures) break;
      }
      if (failures.length > 0) throw failures[0];
    },
    endRound: () => failed.clear(),
  };
}
