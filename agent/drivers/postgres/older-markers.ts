import { MARKER_SCHEMA } from '../../../sql/reserved-table.js';
import type { PostgresSession } from './session.js';

interface OlderTable {
  table: string;
  /** Whether it can be read, and doing so runs nobody's code. */
  readable: boolean;
  /** Whether an agent of this pair may have chosen its schema, whatever its rights and its configuration are. */
  likely: boolean;
  /** Whether its owner may act as this role anyway, or owns the database. Another owner may attach code to it at any time. */
  trusted: boolean;
}

/** The marker table in use, as configured and as named in texts. */
export interface MarkerNow {
  schema: string | null;
  name: string;
  table: string;
}

/** Those that can be read. */
export const findOlderTables = async (session: PostgresSession, now: MarkerNow): Promise<OlderTable[]> =>
  (await findOthers(session, now)).filter(({ readable }) => readable);

/** One that cannot be read, and may hold the marker of an agent with other rights; null if there is none. */
export const findHiddenTable = async (session: PostgresSession, now: MarkerNow): Promise<string | null> =>
  (await findOthers(session, now)).find(({ readable, likely }) => likely && !readable)?.table ?? null;

/**
 * Tables of that name elsewhere: earlier versions used the first schema of the role. A row counts only if it fits an attempt, so
 * the table's owner does not matter, as long as reading it runs nobody's code, as the planner does that of indexes, statistics and checks, and finds the columns.
 */
async function findOthers(session: PostgresSession, { table, name, schema }: MarkerNow): Promise<OlderTable[]> {
  const chosen = [MARKER_SCHEMA, 'public', ...(schema === null ? [] : [schema])];
  const rows = await session.query(
    `select pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname),
       (pg_catalog.pg_has_role(c.relowner, current_user, 'MEMBER')
         or c.relowner = (select d.datdba from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()))::text,
       (c.relkind = 'r' and not c.relrowsecurity and not c.relhasrules
         and not exists (select from pg_catalog.pg_index i where i.indrelid = c.oid and (i.indexprs is not null or i.indpred is not null))
         and not exists (select from pg_catalog.pg_statistic_ext s where s.stxrelid = c.oid)
         and not exists (select from pg_catalog.pg_constraint k where k.conrelid = c.oid and k.contype = 'c')
         and pg_catalog.has_table_privilege(c.oid, 'SELECT') and pg_catalog.has_schema_privilege(n.oid, 'USAGE'))::text,
       (n.nspname = any($3::name[]) or n.nspname = any(pg_catalog.current_schemas(false)))::text
     from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where c.relname = $1 and c.relkind in ('r', 'p') and c.relpersistence <> 't'
       and c.oid is distinct from pg_catalog.to_regclass($2)::oid
       and 9 = (select count(*) from pg_catalog.pg_attribute a where a.attrelid = c.oid and not a.attisdropped
         and (a.attname::text, a.atttypid::pg_catalog.regtype::text) in (('request_id', 'text'), ('fence', 'bigint'), ('step', 'text'), ('mode', 'text'),
           ('state', 'text'), ('execution_id', 'text'), ('approval_digest', 'text'), ('rows_affected', 'bigint'), ('created_at', 'timestamp with time zone')))
     order by pg_catalog.pg_get_userbyid(c.relowner) = current_user desc, 1`,
    [name, table, `{${chosen.map((one) => `"${one.replace(/["\\]/g, '\\$&')}"`).join(',')}}`],
  );
  return rows.map(([found, trusted, readable, likely]) => {
    return { table: found ?? '', trusted: trusted === 'true', readable: readable === 'true', likely: likely === 'true' };
  });
}
