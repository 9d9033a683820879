import type { Vouched } from './client.js';
import { latestGeneration, latestGenerationNumber } from './generations.js';

/** Whether a webhook is in the generation in force. Before the first generation, each one counts as configured. */
export type IsConfigured = (webhookId: string) => boolean;

/** Asks the database each time, so that nothing is sent to a webhook that has just been removed, and reads the content of each generation once. */
export function followConfiguredWebhooks(): (db: Vouched) => Promise<IsConfigured> {
  let known: { number: number; isConfigured: IsConfigured } | undefined;
  return async (db) => {
    const number = await latestGenerationNumber(db);
    if (known?.number === number) return known.isConfigured;
    const inForce = await latestGeneration(db);
    const ids = inForce && new Set(inForce.content.webhooks.map(({ id }) => id));
    const isConfigured = (id: string) => ids === undefined || ids.has(id);
    known = { number, isConfigured };
    return isConfigured;
  };
}
