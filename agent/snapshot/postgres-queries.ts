import { MAX_ROWS } from './rows.js';

// Functions carry their schema, and both sides of an operator have the type that `pg_catalog` has it for, so that nothing in the
// role's search path replaces them: to an untyped constant the server gives the other side's type.
export const USER_TABLES = `
  select c.oid, c.relname, c.relkind, c.reltuples, n.nspname
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and not c.relispartition
    and n.nspname <> 'information_schema' and n.nspname::text !~ '^pg_(catalog$|toast|temp)'
    and pg_catalog.has_schema_privilege(n.oid, 'USAGE')`;

/** The column names of an array of column numbers, in its order, as JSON. */
const columnNames = (relation: string, numbers: string) => `
  (select coalesce(pg_catalog.json_agg(k.attname order by key.place), '[]') from pg_catalog.unnest(${numbers}) with ordinality key(attnum, place)
     join pg_catalog.pg_attribute k on k.attrelid = ${relation} and k.attnum = key.attnum)`;

/** Oid, schema, name, rows: a partitioned table has the sum of its leaves that were ever counted (AP-63). */
export const TABLES = `
  with t as (${USER_TABLES})
  select t.oid, t.nspname, t.relname,
    case t.relkind when 'r' then t.reltuples::float8::int8 else coalesce(
      (select case when pg_catalog.bool_and(leaf.reltuples < '0') then -1 else pg_catalog.sum(greatest(leaf.reltuples, 0)::float8)::int8 end
       from pg_catalog.pg_partition_tree(t.oid) part join pg_catalog.pg_class leaf on leaf.oid = part.relid::oid
       where part.isleaf and leaf.relkind <> 'p'), 0) end
  from t order by t.nspname collate "C", t.relname collate "C" limit ${MAX_ROWS}`;

/** Table, name, type, nullable, default, primary key; in table order. */
export const COLUMNS = `
  with t as (${USER_TABLES})
  select a.attrelid, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), not a.attnotnull,
    case a.attgenerated when '' then pg_catalog.pg_get_expr(d.adbin, d.adrelid) end, coalesce(a.attnum = any (pk.conkey), false)
  from t join pg_catalog.pg_attribute a on a.attrelid = t.oid
    left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    left join pg_catalog.pg_constraint pk on pk.conrelid = t.oid and pk.contype = 'p'
  where a.attnum > 0 and not a.attisdropped order by a.attrelid, a.attnum limit ${MAX_ROWS}`;

/**
 * Table, name, kind, columns; for a foreign key also the referenced schema, table, columns and actions. PostgreSQL copies a
 * foreign key for each partition of the referenced table; these copies have a parent and are left out. A foreign key of a
 * partition alone, or to one, is told of its table once: a delete goes through it all the same.
 */
export const CONSTRAINTS = `
  with recursive t as (${USER_TABLES}),
  part as (select t.oid as root, i.inhrelid as member from t join pg_catalog.pg_inherits i on i.inhparent = t.oid where t.relkind = 'p'
    union all select p.root, i.inhrelid from part p join pg_catalog.pg_inherits i on i.inhparent = p.member),
  con as (select t.oid as root, c.* from t join pg_catalog.pg_constraint c on c.conrelid = t.oid where c.contype in ('p', 'f', 'u', 'c')
    union all select p.root, c.* from part p join pg_catalog.pg_constraint c on c.conrelid = p.member where c.contype = 'f'),
  told as (select con.root, con.conname::text collate "C" as name, con.contype, ${columnNames('con.conrelid', 'con.conkey')}::text as columns,
      fn.nspname, f.relname, case con.contype when 'f' then ${columnNames('con.confrelid', 'con.confkey')}::text end as referenced,
      con.confdeltype, con.confupdtype, con.root <> con.conrelid as of_part
    from con left join pg_catalog.pg_class f on con.contype = 'f' and f.oid = coalesce(pg_catalog.pg_partition_root(con.confrelid)::oid, con.confrelid)
      left join pg_catalog.pg_namespace fn on fn.oid = f.relnamespace
    where con.conparentid = '0')
  select root, name, contype, columns, nspname, relname, referenced, confdeltype, confupdtype from told where not of_part
  union all select root, min(name), contype, columns, nspname, relname, referenced, confdeltype, confupdtype from told where of_part
    group by root, contype, columns, nspname, relname, referenced, confdeltype, confupdtype
  order by 1, 2 limit ${MAX_ROWS}`;

/** Table, name, unique, access method, key columns: a plain column by its name, an expression as its text. */
export const INDEXES = `
  with t as (${USER_TABLES})
  select i.indrelid, c.relname, i.indisunique, am.amname,
    (select coalesce(pg_catalog.json_agg(coalesce(k.attname, pg_catalog.pg_get_indexdef(i.indexrelid, key.place::int4, true)) order by key.place), '[]')
     from pg_catalog.unnest(i.indkey::int2[]) with ordinality key(attnum, place)
       left join pg_catalog.pg_attribute k on k.attrelid = i.indrelid and k.attnum = key.attnum and key.attnum <> 0
     where key.place <= i.indnkeyatts)
  from t join pg_catalog.pg_index i on i.indrelid = t.oid join pg_catalog.pg_class c on c.oid = i.indexrelid
    join pg_catalog.pg_am am on am.oid = c.relam
  order by i.indrelid, c.relname collate "C" limit ${MAX_ROWS}`;
