import type { Queryable } from './client.js';

/** Whether a worker of the task queue was seen in the last 30 s (OP-10). */
export async function isWorkerSeen(db: Queryable, taskQueue: string): Promise<boolean> {
  const [row] = await db.query<{ seen: boolean }>(
    `select exists (select from workers where task_queue = $1 and seen_at > clock_timestamp() - interval '30 seconds') as seen`,
    [taskQueue],
  );
  return row?.seen ?? false;
}

/** Records that this worker lives and serves the task queue (OP-10). Deletes workers that stopped long ago. */
export async function beat(db: Queryable, identity: string, taskQueue: string): Promise<void> {
  await db.query(
    `with gone as (delete from workers where seen_at < clock_timestamp() - interval '1 day')
     insert into workers (identity, task_queue, seen_at) values ($1, $2, clock_timestamp())
     on conflict (identity) do update set task_queue = excluded.task_queue, seen_at = excluded.seen_at`,
    [identity, taskQueue],
  );
}

/** Call when the worker stops on purpose. */
export async function endBeat(db: Queryable, identity: string): Promise<void> {
  await db.query('delete from workers where identity = $1', [identity]);
}
