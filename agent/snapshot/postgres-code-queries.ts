import { USER_TABLES } from './postgres-queries.js';
import { MAX_ROWS } from './rows.js';

/** A table with its partitions and children: a write to it reaches all of them. */
const family = `
  t as (${USER_TABLES}),
  family as (select t.oid as root, t.oid as member from t
    union select f.root, i.inhrelid from family f join pg_catalog.pg_inherits i on i.inhparent = f.member)`;

/** Code that a schema's owner can create; C and internal functions need a superuser, and extensions' functions are excluded. */
const isUserMade = (p: string) => `
  case ${p}.prokind when 'a' then exists (
      select 1 from pg_catalog.pg_aggregate g join pg_catalog.pg_proc part on part.oid in (g.aggtransfn, g.aggfinalfn)
        join pg_catalog.pg_language pl on pl.oid = part.prolang where g.aggfnoid = ${p}.oid and pl.lanname not in ('c', 'internal'))
    else (select l.lanname not in ('c', 'internal') from pg_catalog.pg_language l where l.oid = ${p}.prolang) end`;

/** Table, trigger or rule that fires under `session_replication_role = origin`. */
export const TRIGGERS = `
  with recursive ${family}
  select f.root, g.tgname from family f join pg_catalog.pg_trigger g on g.tgrelid = f.member
  where not g.tgisinternal and g.tgenabled in ('O', 'A')
  union select f.root, r.rulename from family f join pg_catalog.pg_rewrite r on r.ev_class = f.member
  where r.ev_type <> '1' and r.ev_enabled in ('O', 'A')
  order by 1, 2 limit ${MAX_ROWS}`;

/**
 * Types that a write to the table's columns checks, including those of elements, attributes and below domains. Built-in types
 * call nothing.
 */
const types = `
  types as (select f.root, a.atttypid as type from family f join pg_catalog.pg_attribute a on a.attrelid = f.member
      where a.attnum > 0 and not a.attisdropped and a.atttypid >= '16384'
    union select y.root, below.type from types y join pg_catalog.pg_type o on o.oid = y.type
      cross join lateral (select o.typelem as type union all select o.typbasetype
        union all select a.atttypid from pg_catalog.pg_attribute a where a.attrelid = o.typrelid and a.attnum > 0 and not a.attisdropped
        union all select r.rngsubtype from pg_catalog.pg_range r where r.rngtypid = o.oid) below where below.type >= '16384')`;

/** What a write evaluates: defaults, generated columns, checks, domains, indexes, partition keys and policies. */
const evaluated = `
  evaluated as (
    select f.root, 'pg_catalog.pg_attrdef'::pg_catalog.regclass as kind, d.oid, pg_catalog.pg_get_expr(d.adbin, d.adrelid) as text
      from family f join pg_catalog.pg_attrdef d on d.adrelid = f.member
    union all select f.root, 'pg_catalog.pg_constraint', c.oid, case c.contype when 'c' then pg_catalog.pg_get_constraintdef(c.oid) end
      from family f join pg_catalog.pg_constraint c on c.conrelid = f.member where c.contype in ('c', 'x')
    union all select y.root, 'pg_catalog.pg_constraint', c.oid, pg_catalog.pg_get_constraintdef(c.oid)
      from types y join pg_catalog.pg_constraint c on c.contypid = y.type
    union all select y.root, 'pg_catalog.pg_type', o.oid, o.typdefault from types y join pg_catalog.pg_type o on o.oid = y.type and o.typtype = 'd'
    union all select f.root, 'pg_catalog.pg_class', i.indexrelid,
        pg_catalog.concat_ws(' ', pg_catalog.pg_get_expr(i.indexprs, i.indrelid), pg_catalog.pg_get_expr(i.indpred, i.indrelid))
      from family f join pg_catalog.pg_index i on i.indrelid = f.member
    union all select f.root, 'pg_catalog.pg_class', f.member, null from family f
    union all select f.root, 'pg_catalog.pg_policy', p.oid,
        pg_catalog.concat_ws(' ', pg_catalog.pg_get_expr(p.polqual, p.polrelid), pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid))
      from family f join pg_catalog.pg_policy p on p.polrelid = f.member)`;

/** Table, user-made function that a write to it calls. Dependencies on built-ins are not recorded, so few rows are visited. */
export const CODE = `
  with recursive ${family}, ${types}, ${evaluated}
  select distinct e.root, n.nspname::text || '.' || p.proname::text from evaluated e
    join pg_catalog.pg_depend d on d.classid = e.kind::oid and d.objid = e.oid
    left join pg_catalog.pg_operator o on d.refclassid = 'pg_catalog.pg_operator'::pg_catalog.regclass::oid and o.oid = d.refobjid
    join pg_catalog.pg_proc p on p.oid = case when d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass::oid then d.refobjid else o.oprcode end
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where ${isUserMade('p')} order by 1, 2 limit ${MAX_ROWS}`;

/** Table, text of an expression that contains a call. */
export const EXPRESSIONS = `
  with recursive ${family}, ${types}, ${evaluated}
  select distinct e.root, e.text from evaluated e where e.text like '%(%' limit ${MAX_ROWS}`;

/**
 * Kind, name: user functions and operators that may replace a built-in of the same name, functions that a field may call
 * (`(row).f`), and casts.
 */
export const USER_CODE = `
  with made as (
    select p.oid, p.proname, p.pronargs, p.pronargdefaults from pg_catalog.pg_proc p
      join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where n.nspname <> 'information_schema' and n.nspname::text !~ '^pg_(catalog$|toast)' and ${isUserMade('p')})
  select 'function', m.proname from made m
    where exists (select 1 from pg_catalog.pg_proc b where b.pronamespace = 'pg_catalog'::pg_catalog.regnamespace::oid and b.proname = m.proname)
  union select 'field', m.proname from made m where m.pronargs >= 1 and m.pronargs - m.pronargdefaults <= 1
  union select 'operator', o.oprname from pg_catalog.pg_operator o join made m on m.oid = o.oprcode
  union select 'cast', pg_catalog.format_type(c.castsource, null) || ' as ' || pg_catalog.format_type(c.casttarget, null)
    from pg_catalog.pg_cast c join made m on m.oid = c.castfunc
  order by 1, 2 limit ${MAX_ROWS}`;

/**
 * Table, unique key: the columns of a primary key or unique constraint that is not deferrable. A table with children has none,
 * because each child has rows of its own.
 */
export const KEYS = `
  with t as (${USER_TABLES})
  select c.conrelid, (select pg_catalog.json_agg(a.attname order by key.place) from pg_catalog.unnest(c.conkey) with ordinality key(attnum, place)
      join pg_catalog.pg_attribute a on a.attrelid = c.conrelid and a.attnum = key.attnum)
  from t join pg_catalog.pg_constraint c on c.conrelid = t.oid join pg_catalog.pg_index i on i.indexrelid = c.conindid
  where c.contype in ('p', 'u') and not c.condeferrable and i.indisvalid and not i.indisexclusion
    and (t.relkind = 'p' or not exists (select 1 from pg_catalog.pg_inherits h where h.inhparent = t.oid))
  order by 1, c.conname collate "C" limit ${MAX_ROWS}`;

/** Tables whose bare name may mean a view, foreign table or partition of another schema; snapshots hold none of these. */
export const NAMESAKES = `
  with t as (${USER_TABLES})
  select t.oid from t where exists (
    select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relname = t.relname and n.nspname <> t.nspname and (c.relkind in ('v', 'm', 'f') or c.relispartition)
      and n.nspname <> 'information_schema' and n.nspname::text !~ '^pg_(catalog$|toast|temp)')
  limit ${MAX_ROWS}`;

/**
 * Tables from which a write leads on to where the snapshot does not reach, so that what runs there is not told: by a foreign key of a table in a schema
 * that the role may not use, or into a partition or child that lies on another server.
 */
export const HALF_SEEN = `
  with recursive ${family}
  select t.oid from t join pg_catalog.pg_constraint c
    on c.contype = 'f' and t.oid = coalesce(pg_catalog.pg_partition_root(c.confrelid)::oid, c.confrelid)
  where (c.confdeltype in ('c', 'n', 'd') or c.confupdtype in ('c', 'n', 'd'))
    and not exists (select 1 from t own where own.oid = coalesce(pg_catalog.pg_partition_root(c.conrelid)::oid, c.conrelid))
  union select f.root from family f join pg_catalog.pg_class m on m.oid = f.member where m.relkind = 'f'
  limit ${MAX_ROWS}`;
