import type { StatementFacts } from '../../../domain/statement.js';
import type { PostgresSession } from './session.js';

/** An object in the target's catalogue that a statement could reach. */
export interface FoundName {
  /**
   * `policy`: a function or operator of row security; `foreign`: a foreign table; `missing`: a function absent from this server's
   * `pg_catalog`.
   */
  kind: 'function' | 'operator' | 'type' | 'policy' | 'foreign' | 'missing';
  schema: string;
  name: string;
  /** The function behind an operator, cast or type outside `pg_catalog`, as `schema.name`. */
  by: string | null;
}

/** Looks up in one query what a statement's names could mean on this target, under its search path. */
export async function findNames(session: PostgresSession, facts: StatementFacts): Promise<FoundName[]> {
  const { functions, operators, types, fields, columns } = facts.uses;
  const pairs = (names: readonly { schema: string | null; name: string }[]) => names.map(({ schema, name }) => [schema, name]);
  const asked = JSON.stringify({
    functions: pairs(functions),
    operators: pairs(operators),
    types: pairs(types),
    tables: pairs(facts.named),
    fields,
    columns,
  });
  const rows = await session.query(query, [asked]);
  return rows.map(([kind, schema, name, by]) => ({
    kind: kind as FoundName['kind'],
    schema: schema!,
    name: name!,
    by: by ?? null,
  }));
}

/** Every name of a requested list with the schemas that may hold it. */
const places = (
  list: 'functions' | 'operators' | 'types',
) => `${list} as (select a.one->>1 as name, n.oid as place, n.nspname as schema, a.one->>0 is null as free
    from asked, jsonb_array_elements(asked.it->'${list}'::text) as a(one)
    join pg_catalog.pg_namespace n on case when a.one->>0 is null then n.nspname = any(pg_catalog.current_schemas(true)) else n.nspname = a.one->>0 end)`;

/** Objects that a stored expression or query refers to by number. */
const numbers = (pattern: string) =>
  `select tree.is_policy, m[1]::oid as oid from tree, pg_catalog.regexp_matches(tree.it, ':(?:${pattern}) (\\d+)', 'g') as m`;

/**
 * Whether a candidate outside pg_catalog is impossible: it needs a type that the statement does not reach, and pg_catalog has the
 * name too (also for text, where a constant could be taken for a type of the string category).
 */
const unreachable = (
  types: string,
  builtIn: (more: string) => string,
  takesText: string,
) => `exists (select from unnest(${types}) as wanted(oid)
    join pg_catalog.pg_type t on t.oid = wanted.oid
    where t.typnamespace <> 'pg_catalog'::regnamespace::oid and t.oid not in (select oid from reached)
      and exists (${builtIn(`and (t.typcategory <> 'S' or ${takesText})`)}))`;
const builtInFunction = (more: string) =>
  `select from pg_catalog.pg_proc b where b.proname = p.proname and b.pronamespace = 'pg_catalog'::regnamespace::oid ${more}`;
const builtInOperator = (more: string) =>
  `select from pg_catalog.pg_operator b where b.oprname = p.oprname and b.oprnamespace = 'pg_catalog'::regnamespace::oid ${more}`;

/**
 * Relations reached through views and partitions, what their stored expressions call, the types of the columns used, and the
 * candidates of each name. A function, operator or cast outside pg_catalog counts when types of pg_catalog or of the statement
 * can reach it.
 */
const query = `with recursive asked(it) as (select $1::text::jsonb),
  ${places('functions')}, ${places('operators')}, ${places('types')},
  named(oid) as (select distinct pg_catalog.to_regclass(
      case when t.one->>0 is null then '' else pg_catalog.quote_ident(t.one->>0) || '.' end || pg_catalog.quote_ident(t.one->>1))::oid
    from asked, jsonb_array_elements(asked.it->'tables'::text) as t(one)),
  relation(oid) as (select oid from named where oid is not null
    union select other.oid from relation cross join lateral (
      select inhrelid from pg_catalog.pg_inherits where inhparent = relation.oid
      union all select m[1]::oid from pg_catalog.pg_rewrite w, pg_catalog.regexp_matches(w.ev_action::text, ':relid (\\d+)', 'g') as m
        where w.ev_class = relation.oid
      union all select m[1]::oid from pg_catalog.pg_policy p, pg_catalog.regexp_matches(p.polqual::text, ':relid (\\d+)', 'g') as m
        where p.polrelid = relation.oid) as other(oid)),
  tree(it, is_policy) as (
    select w.ev_action::text || ' ' || w.ev_qual::text, false from relation r join pg_catalog.pg_rewrite w on w.ev_class = r.oid
    union all select coalesce(p.polqual::text, '') || ' ' || coalesce(p.polwithcheck::text, ''), true
      from relation r join pg_catalog.pg_policy p on p.polrelid = r.oid
      where r.oid not in (select oid from named where oid is not null) or pg_catalog.row_security_active(r.oid)
    union all select d.adbin::text, false from relation r join pg_catalog.pg_attribute a on a.attrelid = r.oid and a.attgenerated = 'v'
      join pg_catalog.pg_attrdef d on d.adrelid = r.oid and d.adnum = a.attnum),
  called as (${numbers('funcid|aggfnoid|winfnoid|tsmhandler')}),
  operated as (${numbers('opno|eqop|sortop')}
    union all select tree.is_policy, pg_catalog.unnest(pg_catalog.string_to_array(m[1], ' '))::oid
      from tree, pg_catalog.regexp_matches(tree.it, ':opnos \\(o ([0-9 ]+)\\)', 'g') as m),
  used_type(oid) as (
    select case when y.name like '%[]' then t.typarray else t.oid end from types y
      join pg_catalog.pg_type t on t.typname = pg_catalog.regexp_replace(y.name, '\\[\\]$', '') and t.typnamespace = y.place
    union select t.oid from functions f join pg_catalog.pg_type t on t.typname = f.name and t.typnamespace = f.place
      where t.typnamespace <> 'pg_catalog'::regnamespace::oid
    union select a.atttypid from asked, named join pg_catalog.pg_attribute a on a.attrelid = named.oid and a.attnum > 0 and not a.attisdropped
      where asked.it->'columns'::text = 'null' or asked.it->'columns'::text ? a.attname::text
    union select cast_to.oid from (${numbers('resulttype|typid')}) as cast_to
    union select 'xml'::regtype from tree where tree.it ~ '\\{(XMLEXPR|TABLEFUNC)'
    union select case when t.typtype = 'd' then t.typbasetype else t.typelem end from used_type u join pg_catalog.pg_type t on t.oid = u.oid
      where t.typtype = 'd' or t.typcategory = 'A'),
  reached(oid) as (select oid from used_type
    union select t.typarray from used_type u join pg_catalog.pg_type t on t.oid = u.oid where t.typarray <> 0
    union select c.reltype from relation r join pg_catalog.pg_class c on c.oid = r.oid
    union select c.casttarget from pg_catalog.pg_cast c
    join pg_catalog.pg_type s on s.oid = c.castsource join pg_catalog.pg_type t on t.oid = c.casttarget
    where c.castcontext = 'i' and s.typnamespace = 'pg_catalog'::regnamespace::oid and t.typnamespace <> 'pg_catalog'::regnamespace::oid),
  made_cast as materialized (select c.castsource, c.casttarget, n.nspname as schema, p.proname as name,
      s.typnamespace = 'pg_catalog'::regnamespace::oid as source_built_in, t.typnamespace = 'pg_catalog'::regnamespace::oid as target_built_in
    from (select * from pg_catalog.pg_cast offset 0) c
    join pg_catalog.pg_proc p on p.oid = c.castfunc and p.pronamespace <> 'pg_catalog'::regnamespace::oid
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    join pg_catalog.pg_type s on s.oid = c.castsource join pg_catalog.pg_type t on t.oid = c.casttarget),
  found(kind, schema, name, by) as (
    select 'foreign', c.relnamespace::regnamespace::text, c.relname, null from relation r join pg_catalog.pg_class c on c.oid = r.oid where c.relkind = 'f'
    union select 'type', n.nspname, t.typname, t.typinput::regproc::text from used_type u join pg_catalog.pg_type t on t.oid = u.oid
      join pg_catalog.pg_namespace n on n.oid = t.typnamespace left join pg_catalog.pg_type e on e.oid = t.typelem
      where t.typtype not in ('e', 'd') and (n.nspname = 'pg_catalog' or t.typcategory <> 'A' or e.typtype = 'd')
    union select case when c.is_policy then 'policy' else 'function' end, n.nspname, p.proname, null from called c
      join pg_catalog.pg_proc p on p.oid = c.oid join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    union select case when d.is_policy then 'policy' else 'operator' end, n.nspname, o.oprname, o.oprcode::regproc::text from operated d
      join pg_catalog.pg_operator o on o.oid = d.oid join pg_catalog.pg_namespace n on n.oid = o.oprnamespace
    union select 'function', f.schema, f.name, null from functions f join pg_catalog.pg_proc p on p.proname = f.name and p.pronamespace = f.place
      where f.schema <> 'pg_catalog' and (not f.free or not (
        ${unreachable('p.proargtypes[0:p.pronargs - p.pronargdefaults - 1]', builtInFunction, "'text'::regtype::oid = any(b.proargtypes)")}))
    union select 'function', n.nspname, p.proname, null from asked, jsonb_array_elements_text(asked.it->'fields'::text) as f(name)
      join pg_catalog.pg_proc p on p.proname = f.name join pg_catalog.pg_namespace n on n.oid = p.pronamespace
      join pg_catalog.pg_type t on t.oid = p.proargtypes[0]
      where n.nspname <> 'pg_catalog' and n.nspname = any(pg_catalog.current_schemas(true)) and p.pronargs - p.pronargdefaults <= 1 and t.typtype in ('c', 'p', 'd')
    union select 'missing', '', f.name, null from functions f where f.free and not exists (
      select from pg_catalog.pg_proc p where p.proname = f.name and p.pronamespace = 'pg_catalog'::regnamespace::oid)
    union select 'operator', o.schema, o.name, p.oprcode::regproc::text from operators o
      join pg_catalog.pg_operator p on p.oprname = o.name and p.oprnamespace = o.place
      where o.schema <> 'pg_catalog' and (not o.free or not (
        ${unreachable('array[p.oprleft, p.oprright]', builtInOperator, "'text'::regtype::oid in (b.oprleft, b.oprright)")}))
    union select 'function', c.schema, c.name, null from made_cast c
      where (c.source_built_in or c.castsource in (select oid from reached)) and (c.target_built_in or c.casttarget in (select oid from reached)))
  select kind, schema, name, by from found order by kind, schema, name limit 1000`;
