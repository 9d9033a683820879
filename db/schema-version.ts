import type { Queryable } from './client.js';

export async function appliedSchemaVersion(db: Queryable): Promise<string | undefined> {
  const [row] = await db.query<{ name: string }>('select name from schema_migrations order by id desc limit 1');
  return row?.name;
}
