import type { Queryable } from './client.js';

/** Whether a worker of the task queue was seen in the last 30 s (OP-10). */
export async function isWorkerSeen(db: Queryable, taskQueue: string): Promise<boolean> {
  const [row] = await db.query<{ seen: boolean }>(
    `select exists (select from workers where task_queue = $1 and seen_at > clock_timestamp() - interval '30 seconds') as seen`,
    [taskQueue],
  );
  return row?.seen ?? false;
}

export async function appliedSchemaVersion(db: Queryable): Promise<string | undefined> {
  const [row] = await db.query<{ name: string }>('select name from schema_migrations order by id desc limit 1');
  return row?.name;
}
