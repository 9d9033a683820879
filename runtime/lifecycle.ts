/** Whether the process is on its way out (OP-60); waits end when it begins. */
export interface Lifecycle {
  readonly draining: boolean;
  /** Calls `wake` once when draining begins, at once if it has; the returned function takes it back. */
  onDrain(wake: () => void): () => void;
}

/** A lifecycle and the switch that only `main.ts` has. */
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
      // A wrapper per call, so that one function given twice is taken back once.
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
