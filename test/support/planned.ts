import { expect } from 'vitest';
import type { TestApi } from './api.js';
import { eventually } from './processes.js';

/** What people see of the plan of a statement before its approval: in a request and in a preflight. */
export interface Seen {
  /** The only entry of `context.explain`. */
  entry: { sql: string; plan?: unknown; error?: string; hint?: string | null };
  /** `impact` of a preflight. */
  impact: { status: string; estimated_rows?: number | null; explain_plan?: unknown };
}

/** Creates a request on `shop/staging`, asks for a preflight of the same text, and waits for both plans. */
export async function seePlans(api: TestApi, token: string, sql: string): Promise<Seen> {
  const pair = { database: 'shop', environment: 'staging' };
  const asked = api.call('POST', '/api/preflight', { token, body: { ...pair, sql, explain_timeout_ms: 9000 } });
  const created = await api.call('POST', '/api/requests', { token, body: { ...pair, detail: sql } });
  expect([created.status, created.body.error]).toEqual([201, undefined]);
  const context = async () => (await api.call('GET', `/api/requests/${created.body.id}`, { token })).body.context;
  await expect.poll(async () => (await context()).status, { timeout: 20_000, interval: 100 }).not.toBe('collecting');
  const { explain } = await context();
  expect(explain).toHaveLength(1);
  return { entry: explain[0], impact: (await asked).body.impact };
}

/** Waits until the agent has polled. */
export async function untilKnown(api: TestApi): Promise<void> {
  await eventually(async () => (await api.services.database.query('select 1 from agents')).length === 1, 30_000);
}
