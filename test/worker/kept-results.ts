import { sha256Hex } from '../../crypto/hash.js';
import type { Database } from '../../db/client.js';
import type { ResultPlace } from '../../db/results.js';
import type { ResultStore } from '../../runtime/result-store.js';
import type { Job } from '../../worker/job.js';
import { claim, finish, storeRequest } from '../support/requests.js';
import { recordResult } from '../support/stored-result.js';

export const dayMs = 86_400_000;

export interface Kept {
  id: string;
  executionId: string;
  key: string;
}

/** An executed request with its result as an object in the store, kept since `agoMs`. */
export async function keepResult(database: Database, results: ResultStore, agoMs = 0, retentionDays = 30): Promise<Kept> {
  const run = await execute(database);
  const { existed: _, ...object } = await results.put(run.key, data);
  await record(database, run, { place: { backend: results.backend, key: run.key }, ...object }, { agoMs, retentionDays });
  return run;
}

/** The same with the data in the row; nothing lies under the key. */
export async function keepInRow(database: Database, agoMs = 0, retentionDays = 30): Promise<Kept> {
  const run = await execute(database);
  const stored = { place: { data }, length: data.length, sha256: sha256Hex(data) };
  await record(database, run, stored, { agoMs, retentionDays });
  return run;
}

const data = Buffer.from('{"rows":[]}');

async function execute(database: Database): Promise<Kept> {
  const id = await storeRequest(database, { dispatched: true });
  const executionId = await claim(database, id);
  await finish(database, id, executionId);
  return { id, executionId, key: `${id}/${executionId}` };
}

async function record(
  database: Database,
  { id: requestId, executionId }: Kept,
  stored: { place: ResultPlace; length: number; sha256: string },
  { agoMs, retentionDays }: { agoMs: number; retentionDays: number },
): Promise<void> {
  const result = { executionId, ...stored, validJson: true, retentionDays };
  await database.transaction((tx) => recordResult(tx, requestId, result, Date.now() - agoMs));
}

/** Moves the last change of a request this many days back. */
export const age = (database: Database, id: string, days: number) =>
  database.query(`update requests set updated_at = updated_at - $2::int * interval '1 day' where id = $1`, [id, days]);

/** The executions with a record of their result. */
export const recorded = async (database: Database) =>
  (await database.query<{ execution_id: string }>('select execution_id from results')).map((row) => row.execution_id).sort();

/** All keys in the store. */
export async function keysOf(store: ResultStore): Promise<string[]> {
  const all = [];
  for await (const { key } of store.objects()) all.push(key);
  return all.sort();
}

/** Does rounds of a job until a whole one has found nothing more. */
export async function toEnd(job: Job): Promise<void> {
  while ((await job.once()) === 0);
}
