import type { Metrics } from '../../runtime/metrics.js';

/** How many event streams this process has open (CO-20). */
export interface EventStreams {
  readonly open: number;
  openOf(userId: string): number;
  /** Counts one more of the user, until the returned function is called or the client has gone. */
  take(userId: string, gone: AbortSignal): () => void;
}

export function createEventStreams({ longPolls }: Pick<Metrics, 'longPolls'>): EventStreams {
  let open = 0;
  const byUser = new Map<string, number>();
  const openOf = (userId: string) => byUser.get(userId) ?? 0;
  const add = (userId: string, change: 1 | -1) => {
    open += change;
    const own = openOf(userId) + change;
    if (own === 0) byUser.delete(userId);
    else byUser.set(userId, own);
  };
  return {
    get open() {
      return open;
    },
    openOf,
    take(userId, gone) {
      let isOpen = true;
      add(userId, 1);
      longPolls.inc({ kind: 'events' });
      const release = () => {
        if (!isOpen) return;
        isOpen = false;
        add(userId, -1);
        longPolls.dec({ kind: 'events' });
        gone.removeEventListener('abort', release);
      };
      gone.addEventListener('abort', release, { once: true });
      if (gone.aborted) release();
      return release;
    },
  };
}
