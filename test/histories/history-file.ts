import { writeFileSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';

const { History } = proto.temporal.api.history.v1;
type Recorded = ReturnType<typeof History.create>;

// The library's own historyToJSON mixes two versions of protobufjs and throws.

/** A history as readable JSON; payloads are base64. */
export const toJson = (history: Parameters<typeof History.fromObject>[0]): unknown =>
  History.toObject(History.fromObject(history), { longs: String, enums: String, bytes: String });

/** The history that `toJson` was given. */
export const fromJson = (json: unknown): Recorded => History.fromObject(json as Parameters<typeof History.fromObject>[0]);

/** Writes the history of a run, the newest one if none is named. */
export async function recordHistory(client: Client, name: string, workflowId: string, runId?: string): Promise<void> {
  const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  writeFileSync(new URL(`${name}.json`, import.meta.url), `${JSON.stringify({ workflowId, history: toJson(history) })}\n`);
}
