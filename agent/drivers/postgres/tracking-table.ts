import { KEPT_OTHERWISE, otherToolsTable, TableProblem, type TrackingTable } from '../../migrations/engine.js';
import type { Direction } from '../../migrations/task.js';
import { Unexpected } from '../faults.js';
import type { Step, StepResult } from './exchange.js';
import { countOf } from './rows.js';
import type { PostgresSession } from './session.js';

/** The tracking table that the role's search path finds, or where to create it (MI-20). */
export async function findTrackingTable(session: PostgresSession): Promise<TrackingTable> {
  const [found] = await session.query(`
    select pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname),
      exists (select from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attname = 'version' and a.attnum > 0 and not a.attisdropped),
      (select a.attname::text from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
        where a.attrelid = c.oid and a.attname <> 'version' and a.attnum > 0 and not a.attisdropped
          and (a.attname = 'dirty' or ((a.attnotnull or t.typnotnull) and not a.atthasdef and a.attidentity = '' and t.typdefault is null))
        order by a.attnum limit 1)
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid = pg_catalog.to_regclass('schema_migrations')::oid`);
  if (found) {
    if (found[1] !== 't') throw new TableProblem(`the table ${found[0]} has no column version`);
    if (found[2] != null) throw otherToolsTable(found[0] ?? '', found[2]);
    return { name: found[0] ?? '', there: true };
  }
  const [schema] = await session.query('select pg_catalog.quote_ident(pg_catalog.current_schema()::text)');
  if (schema?.[0] == null) throw new TableProblem('there is no schema in the search path');
  return { name: `${schema[0]}.schema_migrations`, there: false };
}

export function makeTrackingTable({ name }: TrackingTable): Step {
  return { kind: 'run', text: `create table if not exists ${name} (version text primary key)` };
}

/** The versions in the table; other tools may have left rows without a version. */
export async function readVersions(session: PostgresSession, { name }: TrackingTable): Promise<string[]> {
  const rows = await session.query(`select version::text from ${name} where version is not null`);
  return rows.map(([version]) => version ?? '');
}

/** Returns a row when the version is in the table. */
export function lookForVersion({ name }: TrackingTable, version: string): Step {
  return { kind: 'run', text: `select 1 from ${name} where version::text = $1`, values: [version] };
}

/** Writes or deletes the version row, writes no other column (MI-20), and looks for it. Read both results with `expectChanged`. */
export function changeVersion(table: TrackingTable, version: string, direction: Direction): [Step, Step] {
  const { name } = table;
  const text = direction === 'up' ? `insert into ${name} (version) values ($1)` : `delete from ${name} where version::text = $1`;
  return [{ kind: 'run', text, values: [version] }, lookForVersion(table, version)];
}

/** Throws unless exactly that row changed. A column of numbers keeps 001 as 1, so that the migration would run again. */
export function expectChanged([changed, found]: readonly StepResult[], direction: Direction): void {
  const rows = countOf(changed?.tag ?? '');
  if (rows !== 1) throw new Unexpected(`${rows} version rows were changed instead of one`);
  if (direction === 'up' && found?.rows.length !== 1) throw new Unexpected(KEPT_OTHERWISE);
}
