import type { PostgresSession } from './session.js';

interface OlderTable {
  table: string;
  /** Whether its owner may act as this role anyway, or owns the database. Another owner may attach code to it at any time. */
  trusted: boolean;
}

/**
 * Tables of that name elsewhere: earlier versions used the first schema of the role. A row counts only if it fits an attempt, so
 * the table's owner does not matter, as long as reading it runs nobody's code, as the planner does that of indexes, statistics and checks, and finds the columns.
 */
export async function findOlderTables(session: PostgresSession, name: string, table: string): Promise<OlderTable[]> {
  const rows = await session.query(
    `select pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname),
       (pg_catalog.pg_has_role(c.relowner, current_user, 'MEMBER')
         or c.relowner = (select d.datdba from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()))::text
     from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where c.relname = $1 and c.relkind = 'r' and c.relpersistence <> 't' and not c.relrowsecurity and not c.relhasrules
       and not exists (select from pg_catalog.pg_index i where i.indrelid = c.oid and (i.indexprs is not null or i.indpred is not null))
       and not exists (select from pg_catalog.pg_statistic_ext s where s.stxrelid = c.oid)
       and not exists (select from pg_catalog.pg_constraint k where k.conrelid = c.oid and k.contype = 'c')
       and c.oid is distinct from pg_catalog.to_regclass($2)::oid and pg_catalog.has_table_privilege(c.oid, 'SELECT')
       and pg_catalog.has_schema_privilege(n.oid, 'USAGE')
       and 9 = (select count(*) from pg_catalog.pg_attribute a where a.attrelid = c.oid and not a.attisdropped
         and (a.attname::text, a.atttypid::pg_catalog.regtype::text) in (('request_id', 'text'), ('fence', 'bigint'), ('step', 'text'), ('mode', 'text'),
           ('state', 'text'), ('execution_id', 'text'), ('approval_digest', 'text'), ('rows_affected', 'bigint'), ('created_at', 'timestamp with time zone')))
     order by pg_catalog.pg_get_userbyid(c.relowner) = current_user desc, 1`,
    [name, table],
  );
  return rows.map(([found, trusted]) => ({ table: found ?? '', trusted: trusted === 'true' }));
}
