/** Work that goes on after its answer. */
export interface Errands {
  /** The work must not reject. */
  run(work: () => Promise<void>): void;
  /** For a stop: waits until nothing runs any more. */
  done(): Promise<void>;
}

export function createErrands(): Errands {
  const running = new Set<Promise<void>>();
  return {
    run(work) {
      const one = work().finally(() => running.delete(one));
      running.add(one);
    },
    async done() {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}
