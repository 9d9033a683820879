import { listCancelled } from '../../db/executions.js';
import { topic } from '../../db/notifications.js';
import type { Services } from '../context.js';

/** Executions whose cancel this process has reported in a poll, by agent instance, in the order of their latest polls. */
export type ToldCancels = Map<string, Set<string>>;

const maxInstances = 10_000;

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
  remember(told, key, known);
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
      if (fresh.length > 0) remember(told, key, known);
      return fresh;
    },
  };
}

function remember(told: ToldCancels, key: string, known: Set<string>): void {
  told.delete(key);
  if (known.size > 0) told.set(key, known);
  const [oldest] = told.keys();
  if (told.size > maxInstances && oldest !== undefined) told.delete(oldest);
}
