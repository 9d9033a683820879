import type { Queryable } from './client.js';

/** The literal-free texts of requests (AU-51), which their reader must be allowed to see. */
export async function findRedactedDetails(db: Queryable, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await db.query<{ id: string; text: string }>(
    'select id, redacted_detail as text from requests where id = any($1::uuid[])',
    [ids],
  );
  return new Map(rows.map(({ id, text }) => [id, text]));
}
