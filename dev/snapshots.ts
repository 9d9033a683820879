import { callApi } from './api-call.js';
import type { Layout } from './layout.js';
import type { Report } from './report.js';
import { userToken } from './users.js';
import { waitFor } from './wait-for.js';

const environments = ['staging', 'production'];
const schemaWaitMs = 60_000;

/**
 * Waits until the gateway has the schema of each shop database. Without it every write has unknown risk, and the first UPDATE on
 * staging would wait for approval. Throws when none arrives.
 */
export async function awaitSnapshots(layout: Layout, server: string, signal: AbortSignal, report: Report): Promise<void> {
  const done = report.begin('schemas');
  const isKnown = async (environment: string) =>
    (await callApi({ server, token: userToken(layout, 'alice') }, 'GET', `/api/schemas/shop?environment=${environment}`))
      .status === 200;
  const areKnown = async () => (await Promise.all(environments.map(isKnown))).every(Boolean);
  await waitFor('the schema of the shop databases', areKnown, { ms: schemaWaitMs, signal });
  done(environments.map((environment) => `shop/${environment}`).join(', '));
}
