/** What waits, by who asked: each caller in turn, and of each caller what came first. */
export interface FairQueue<Item> {
  /**
   * Answers what found no room, if anything: the item itself when its caller has its share; else, when the queue is full, the last of the
   * caller with the most, so that many items of some never keep out the few of others.
   */
  add(caller: string, item: Item): Item | undefined;
  /** The next item, or undefined when nothing waits. */
  next(): Item | undefined;
}

/** A queue with room for `total` items, of one caller at most `perCaller`. */
export function createFairQueue<Item>({ total, perCaller }: { total: number; perCaller: number }): FairQueue<Item> {
  /** In the order of their turns; none is empty. */
  const waiting = new Map<string, Item[]>();
  let count = 0;
  return {
    add(caller, item) {
      const own = waiting.get(caller) ?? [];
      if (own.length >= perCaller) return item;
      waiting.set(caller, own);
      own.push(item);
      count += 1;
      if (count <= total) return undefined;
      count -= 1;
      const most = longest(waiting, own);
      const last = most.pop();
      if (own.length === 0) waiting.delete(caller);
      return last;
    },
    next() {
      const [turn] = waiting;
      if (turn === undefined) return undefined;
      const [caller, own] = turn;
      const item = own.shift();
      waiting.delete(caller);
      if (own.length > 0) waiting.set(caller, own);
      count -= 1;
      return item;
    },
  };
}

/** The one with the most items; among equals the one that asks. */
function longest<Item>(waiting: ReadonlyMap<string, Item[]>, own: Item[]): Item[] {
  let most = own;
  for (const items of waiting.values()) if (items.length > most.length) most = items;
  return most;
}
