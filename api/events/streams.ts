import type { Metrics } from '../../runtime/metrics.js';

/** How many event streams this process has open (CO-20). */
export interface EventStreams {
  readonly open: number;
  /** Counts one more, until the returned function is called or the client has gone. */
  take(gone: AbortSignal): () => void;
}

export function createEventStreams({ longPolls }: Pick<Metrics, 'longPolls'>): EventStreams {
  let open = 0;
  return {
    get open() {
      return open;
    },
    take(gone) {
      let isOpen = true;
      open += 1;
      longPolls.inc({ kind: 'events' });
      const release = () => {
        if (!isOpen) return;
        isOpen = false;
        open -= 1;
        longPolls.dec({ kind: 'events' });
        gone.removeEventListener('abort', release);
      };
      gone.addEventListener('abort', release, { once: true });
      if (gone.aborted) release();
      return release;
    },
  };
}
