import { listCancelled } from '../../db/executions.js';
import type { Services } from '../context.js';

/** The executions whose cancel a poll of this process has told, by instance of an agent; those told least recently first. */
export type ToldCancels = Map<string, Set<string>>;

const maxInstances = 10_000;

export interface CancelWatch {
  /** Executions of this agent whose cancel was asked for since the instance was last told. */
  take(): Promise<string[]>;
}

/** Watches the executions that an instance holds (AG-82). What it no longer holds is forgotten. */
export function watchCancels(
  services: Services,
  told: ToldCancels,
  key: string,
  agentId: string,
  holding: readonly string[],
): CancelWatch {
  const known = new Set(holding.filter((id) => told.get(key)?.has(id)));
  remember(told, key, known);
  return {
    async take() {
      const asked = holding.filter((id) => !known.has(id));
      if (asked.length === 0) return [];
      const cancelled = await listCancelled(services.database, agentId, asked);
      for (const id of cancelled) known.add(id);
      remember(told, key, known);
      return cancelled;
    },
  };
}

function remember(told: ToldCancels, key: string, known: Set<string>): void {
  told.delete(key);
  if (known.size > 0) told.set(key, known);
  const [oldest] = told.keys();
  if (told.size > maxInstances && oldest !== undefined) told.delete(oldest);
}
