/** A fixed number of permits. Those who find none wait in order. */
export interface Permits {
  /** Resolves with true once a permit is taken, or with false if the signal aborts first. */
  take(signal?: AbortSignal): Promise<boolean>;
  give(): void;
}

export function createPermits(count: number): Permits {
  let free = count;
  const waiting = new Set<() => void>();
  return {
    take(signal) {
      if (signal?.aborted) return Promise.resolve(false);
      if (free > 0) {
        free--;
        return Promise.resolve(true);
      }
      return new Promise((resolve) => {
        const settle = (taken: boolean) => {
          waiting.delete(granted);
          signal?.removeEventListener('abort', aborted);
          resolve(taken);
        };
        const granted = () => settle(true);
        const aborted = () => settle(false);
        waiting.add(granted);
        signal?.addEventListener('abort', aborted, { once: true });
      });
    },
    give() {
      const [next] = waiting;
      if (next) next();
      else free++;
    },
  };
}
