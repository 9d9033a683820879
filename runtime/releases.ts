import type { Logger } from 'pino';

export interface Releases {
  add(close: () => Promise<void>): void;
  /** Closes what was opened, the last first; one that fails is logged and stops no other. */
  all(): Promise<void>;
}

export function createReleases(log: Logger): Releases {
  const opened: (() => Promise<void>)[] = [];
  return {
    add: (close) => opened.push(close),
    all: async () => {
      for (const close of opened.splice(0).reverse())
        await close().catch((error: unknown) => log.error({ error: String(error) }, 'not closed cleanly'));
    },
  };
}
