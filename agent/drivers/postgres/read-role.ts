import type { PostgresSession } from './session.js';

/** What the role of this session may change, in words, or null. Reads are kept from writing by their transactions all the same (AP-27). */
export async function writableByRole(session: PostgresSession): Promise<string | null> {
  const [superuser] = await session.query(SUPERUSER);
  if (superuser?.[0] === 't') return 'the role of reads is a superuser';
  const tables = (await session.query(WRITABLE)).map(([table]) => table ?? '');
  if (tables.length === 0) return null;
  return `the role of reads may write (${tables.slice(0, 3).join(', ')}${tables.length > 3 ? ', ...' : ''})`;
}

const SUPERUSER = 'select r.rolsuper from pg_catalog.pg_roles r where r.rolname = current_user';

const WRITABLE = `select pg_catalog.format('%I.%I', n.nspname, c.relname)
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname::text !~ '^pg_(toast|temp)'
    and pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
  order by 1 limit 4`;
