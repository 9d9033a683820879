import { LRUCache } from 'lru-cache';
import { listCancelled } from '../../db/executions.js';
import { topic } from '../../db/notifications.js';
import type { Services } from '../context.js';

/** Executions whose cancel this process has reported in a poll, by agent instance, for those that polled last. */
export type ToldCancels = LRUCache<string, Set<string>>;

export const rememberTold = (): ToldCancels => new LRUCache({ max: 10_000 });

export interface CancelWatch {
  /** Receives what the record of the poll found. */
  found(cancelled: readonly string[]): void;
  /** Executions whose cancel was asked for since the instance was last told. Queries only if a cancel was notified. */
  take(): Promise<string[]>;
  close(): void;
}

/** Watches the executions that an instance holds (AG-82), from before its poll is recorded until `close`. What it no longer holds is forgotten. */
export function watchCancels(
  services: Services,
  told: ToldCancels,
  { agentId, instanceId, holding }: { agentId: string; instanceId: string | null; holding: readonly string[] },
): CancelWatch {
  const key = `${agentId} ${instanceId}`;
  const known = new Set(holding.filter((id) => told.get(key)?.has(id)));
  if (known.size > 0) told.set(key, known);
  else told.delete(key);
  let cancelled: readonly string[] = [];
  let notified = false;
  const close = services.notifications.subscribe(topic.cancels(agentId), () => {
    notified = true;
  });
  return {
    close,
    found(ids) {
      cancelled = ids;
    },
    async take() {
      if (notified && holding.length > 0) {
        notified = false;
        cancelled = await listCancelled(services.database, agentId, holding);
      }
      const fresh = cancelled.filter((id) => !known.has(id));
      for (const id of fresh) known.add(id);
      if (fresh.length > 0) told.set(key, known);
      return fresh;
    },
  };
}
