import type { Queryable } from './client.js';

/** Remembers a signature of Slack. False if a process has remembered it before: then the call is a repeat (SL-12). */
export const rememberSignature = (db: Queryable, signature: string): Promise<boolean> =>
  remember(db, Buffer.from(signature.slice('v0='.length), 'hex'), 0);

/** A modal can stay open for long after an answer that did not know the outcome. */
const viewDays = 30;

/** No signature: those are 32 bytes of a hash. */
const keyOfView = (viewId: string) => Buffer.from(`view ${viewId}`);

/** Remembers a modal that was submitted. False if a process has remembered it before (SL-14). */
export const rememberView = (db: Queryable, viewId: string): Promise<boolean> => remember(db, keyOfView(viewId), viewDays);

export async function forgetView(db: Queryable, viewId: string): Promise<void> {
  await db.query('delete from slack_signatures where signature = $1', [keyOfView(viewId)]);
}

/** An instant in the future keeps the key for that much longer. */
async function remember(db: Queryable, key: Uint8Array, days: number): Promise<boolean> {
  const rows = await db.query(
    `insert into slack_signatures (signature, seen_at) values ($1, clock_timestamp() + $2::int * interval '1 day')
     on conflict do nothing returning 1`,
    [key, days],
  );
  return rows.length > 0;
}

/**
 * A signature passes for 600 s (SL-11). It is kept a minute longer, because a call may wait between the check of its timestamp and its look here, and
 * the clocks of processes differ.
 */
const keptSecs = 660;

/** Deletes at most `limit` signatures that no longer pass. Returns how many. */
export async function deleteOldSignatures(db: Queryable, limit: number): Promise<number> {
  const rows = await db.query(
    `delete from slack_signatures where signature = any(array(
       select signature from slack_signatures where seen_at < statement_timestamp() - $2::int * interval '1 second'
       order by seen_at limit $1 for update skip locked
     )) returning 1`,
    [limit, keptSecs],
  );
  return rows.length;
}
