/** What was opened and must be closed. */
export interface Releases {
  add(close: () => unknown): void;
  /** Closes everything, the last opened first, one at a time. A failure is reported and stops no other. */
  all(): Promise<void>;
}

export function createReleases(onFailure: (error: unknown) => void): Releases {
  const opened: (() => unknown)[] = [];
  return {
    add: (close) => void opened.push(close),
    async all() {
      for (let close = opened.pop(); close !== undefined; close = opened.pop()) {
        try {
          await close();
        } catch (error) {
          onFailure(error);
        }
      }
    },
  };
}
