/** Whether the process is draining (OP-60). Waits end when draining begins. */
export interface Lifecycle {
  readonly draining: boolean;
  /** Calls `wake` once when draining begins, or immediately if it has begun. The returned function unsubscribes. */
  onDrain(wake: () => void): () => void;
}

/** A lifecycle and its switch, which only the process's `main.ts` holds. */
export function createLifecycle(): { lifecycle: Lifecycle; drain: () => void } {
  const waiting = new Set<() => void>();
  let draining = false;
  const lifecycle: Lifecycle = {
    get draining() {
      return draining;
    },
    onDrain(wake) {
      if (draining) {
        wake();
        return () => {};
      }
      // Wrapped, so that a function that subscribes twice has two entries and each unsubscribes alone.
      const entry = () => wake();
      waiting.add(entry);
      return () => waiting.delete(entry);
    },
  };
  const drain = () => {
    if (draining) return;
    draining = true;
    for (const wake of waiting) wake();
    waiting.clear();
  };
  return { lifecycle, drain };
}
