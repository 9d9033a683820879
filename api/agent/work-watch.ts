import type { Work } from '../../db/claimable-jobs.js';
import type { Notifications } from '../../db/notifications.js';

/** How long a look that found nothing stands for another one, if nothing was notified. */
const believedMs = 5000;
/** How long a watch waits for the agent's next poll, which mostly comes at once. */
const keptMs = 1000;

/** Hears of news for an agent, also between its polls, so that a poll need not look for work that the one before did not find. */
export interface WorkWatch {
  /** Whether the last look found nothing, and nothing was notified since it began. */
  isQuiet(): boolean;
  look(find: () => Promise<Work>): Promise<Work>;
  close(): void;
}

/** What polls of one agent left behind, by its id: `asked` is what they looked for. */
export type KeptWatches = Map<string, { asked: string; watch: WorkWatch; timer: NodeJS.Timeout }>;

/** The watch that the agent's last poll left if it asked for the same, else a new one. The poll must leave it with `keepWatch`. */
export function takeWatch(
  kept: KeptWatches,
  { subscribe }: Pick<Notifications, 'subscribe'>,
  { agentId, asked, topics }: { agentId: string; asked: string; topics: readonly string[] },
): WorkWatch {
  const last = kept.get(agentId);
  if (last?.asked !== asked) return openWatch(subscribe, topics);
  clearTimeout(last.timer);
  kept.delete(agentId);
  return last.watch;
}

/** Keeps the watch for a second; of polls that wait beside each other, that of the last one to end. */
export function keepWatch(kept: KeptWatches, watch: WorkWatch, { agentId, asked }: { agentId: string; asked: string }): void {
  const drop = () => {
    const last = kept.get(agentId);
    clearTimeout(last?.timer);
    last?.watch.close();
    kept.delete(agentId);
  };
  drop();
  kept.set(agentId, { asked, watch, timer: setTimeout(drop, keptMs).unref() });
}

function openWatch(subscribe: Notifications['subscribe'], topics: readonly string[]): WorkWatch {
  const never = Number.NEGATIVE_INFINITY;
  let emptyAt = never;
  let news = 0;
  const hear = () => {
    emptyAt = never;
    news++;
  };
  const releases = topics.map((name) => subscribe(name, hear));
  return {
    isQuiet: () => performance.now() < emptyAt + believedMs,
    async look(find) {
      const [startedAt, before] = [performance.now(), news];
      emptyAt = never;
      const work = await find();
      if (isEmpty(work) && news === before) emptyAt = startedAt;
      return work;
    },
    close() {
      for (const release of releases) release();
    },
  };
}

const isEmpty = ({ jobs, dryRuns, dryRunSoon, preflightWaits }: Work): boolean =>
  jobs.length + dryRuns.length === 0 && !dryRunSoon && !preflightWaits;
