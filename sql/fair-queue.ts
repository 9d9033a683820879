/** Waiting items, grouped by caller: callers take turns, and each caller's items come out in order. */
export interface FairQueue<Item> {
  /**
   * Returns the item that found no room, if any: the new item when its caller already has its share; else, when the queue is full, the last item of
   * the caller with the most. So callers with many items cannot keep out those with few.
   */
  add(caller: string, item: Item): Item | undefined;
  /** The next item, or undefined when nothing waits. */
  next(): Item | undefined;
}

/** A queue with room for `total` items, at most `perCaller` of one caller. */
export function createFairQueue<Item>({ total, perCaller }: { total: number; perCaller: number }): FairQueue<Item> {
  /** In the order of their turns; no list is empty. */
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

/** The longest list; on a tie, the list of the caller who asks. */
function longest<Item>(waiting: ReadonlyMap<string, Item[]>, own: Item[]): Item[] {
  let most = own;
  for (const items of waiting.values()) if (items.length > most.length) most = items;
  return most;
}
