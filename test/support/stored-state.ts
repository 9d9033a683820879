import type { Queryable } from '../../db/client.js';

/** A hash of all that the gateway's database holds, `except` these tables. The same hash means that nothing has changed. */
export async function storedState(db: Queryable, except: readonly string[] = []): Promise<string> {
  const tables = await db.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> all($1::text[]) order by 1`,
    [except],
  );
  const parts = tables.map(({ name }) => `(select coalesce(sum(hashtextextended(t::text, 0)), 0) from ${name} t)::text`);
  const [row] = await db.query<{ all: string }>(`select concat_ws(' ', ${parts.join(', ')}) as all`);
  return row!.all;
}
