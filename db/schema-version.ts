import type { Queryable } from './client.js';

export async function appliedSchemaVersion(db: Queryable): Promise<string | undefined> {
  const [row] = await db.query<{ name: string }>('select name from schema_migrations order by id desc limit 1');
  return row?.name;
}

/** The newest applied migration that calls itself `<number>_breaking_…` and is newer than `version`, so that code of that version cannot use the tables. */
export async function breakingSince(db: Queryable, version: string): Promise<string | undefined> {
  const [row] = await db.query<{ name: string }>(
    `select name from schema_migrations where name ~ '^[0-9]+_breaking_' and substring(name from '^[0-9]+')::numeric > $1::numeric order by id desc limit 1`,
    [Number.parseInt(version, 10)],
  );
  return row?.name;
}

/** Whether code of that version can use the tables: its own migrations are applied, and of newer ones none breaks it. */
export async function schemaFits(db: Queryable, version: string): Promise<boolean> {
  const [own] = await db.query('select 1 from schema_migrations where name = $1', [version]);
  return own !== undefined && (await breakingSince(db, version)) === undefined;
}
