import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isListedCall } from '../../sql/listed-calls.js';
import { builtInOfPostgres } from '../../sql/postgres/built-ins.js';
import { noUses, usesBeyondComputing, usesWithEffects } from '../../sql/uses.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  ({ database, client } = await connectEmptyDatabase());
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});
const ask = async <T>(text: string): Promise<T[]> => (await client.query(text)).rows;

interface Implementation {
  name: string;
  types: string[];
  volatility: 'i' | 's' | 'v';
  implements: string;
  signature: string;
}

/** What only the server calls, or is reached by its operator, type, cast or aggregate, whose verdict counts. */
const support = `select oprcode::oid from pg_operator union all select oprrest from pg_operator union all select oprjoin from pg_operator
  union all select castfunc from pg_cast union all select amproc from pg_amproc
  union all select unnest(array[typinput, typoutput, typreceive, typsend, typmodin, typmodout, typanalyze, typsubscript]::oid[]) from pg_type
  union all select unnest(array[aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn, aggmtransfn, aggminvtransfn, aggmfinalfn]::oid[]) from pg_aggregate
  union all select conproc from pg_conversion union all select unnest(array[rngcanonical, rngsubdiff]::oid[]) from pg_range
  union all select unnest(array[prsstart, prstoken, prsend, prsheadline, prslextype]::oid[]) from pg_ts_parser
  union all select unnest(array[tmplinit, tmpllexize]::oid[]) from pg_ts_template`;

const functions = `select p.proname as name, p.provolatile as volatility, p.oid::regprocedure::text as signature,
    array(select t.typname from unnest(p.proargtypes) with ordinality as a(oid, place) join pg_type t on t.oid = a.oid order by place)::text[] as types,
    case when 'internal'::regtype = any(p.proargtypes) or p.prorettype::regtype::text ~ '^(internal|trigger|event_trigger|.*_handler)$' then 'server'
      when p.oid in (${support}) then 'support' else '' end as implements
  from pg_proc p where p.pronamespace = 'pg_catalog'::regnamespace`;

const computes = (kind: 'functions' | 'operators' | 'types', name: string) => builtInOfPostgres(kind, name) === 'computes';

describe('HD-1: every built-in of the real server has a verdict', () => {
  it('each function', async () => {
    const all = await ask<Implementation>(functions);
    const without = all.filter(
      ({ name, implements: kind }) =>
        builtInOfPostgres('functions', name) === null && kind === '' && !isListedCall(name) && !neverNeeded.test(name),
    );
    expect(without.map(({ signature }) => signature)).toEqual([]);
    expect(all.length).toBeGreaterThan(3000);
  });

  it('no listed call is called harmless', async () => {
    const all = await ask<Implementation>(functions);
    expect(all.filter(({ name }) => isListedCall(name) && builtInOfPostgres('functions', name) !== null)).toEqual([]);
  });

  it('what computes takes only types that do, and is immutable unless it was looked at', async () => {
    const all = (await ask<Implementation>(functions)).filter(({ name }) => computes('functions', name));
    const strange = all.filter(
      ({ types, volatility, name, implements: kind }) =>
        kind !== 'server' && (types.some((type) => !computes('types', type)) || (volatility !== 'i' && !lookedAt.has(name))),
    );
    expect(strange.map(({ signature }) => signature).sort()).toEqual(exceptions.map(([signature]) => signature).sort());
  });

  it('each operator; one that computes has an implementation that does, for types that do', async () => {
    const rows = await ask<Implementation>(`select o.oprname as name, p.proname as implements, p.provolatile as volatility,
      o.oid::regoperator::text as signature, array(select typname from pg_type where oid in (oprleft, oprright))::text[] as types
      from pg_operator o join pg_proc p on p.oid = o.oprcode where oprnamespace = 'pg_catalog'::regnamespace`);
    expect(rows.filter(({ name }) => builtInOfPostgres('operators', name) === null)).toEqual([]);
    const reachable = rows.filter(
      ({ name, types }) => computes('operators', name) && types.every((type) => computes('types', type)),
    );
    const stable = reachable.filter(({ volatility }) => volatility !== 'i').map((row) => row.implements);
    expect(stable.filter((name) => !timeZones.test(name))).toEqual([]);
    expect(reachable.length).toBeGreaterThan(700);
  });

  it('each type; the functions that read and write one that computes only do that', async () => {
    const rows = await ask<{
      name: string;
      input: string;
      output: string;
    }>(`select typname as name, typinput::text as input, typoutput::text as output
      from pg_type where typnamespace = 'pg_catalog'::regnamespace and typtype in ('b', 'r', 'm', 'p')`);
    expect(rows.filter(({ name }) => builtInOfPostgres('types', name) === null && !innerType.test(name))).toEqual([]);
    const inputs = rows.filter(({ name }) => computes('types', name)).map(({ input }) => input);
    expect(inputs.filter((input) => /^(reg|xml|acl|domain|shell|enum)/.test(input))).toEqual([]);
  });

  it('each cast between types that compute is made by a function that does', async () => {
    const rows =
      await ask<Implementation>(`select s.typname || ' to ' || t.typname as signature, array[s.typname, t.typname]::text[] as types,
      coalesce(p.provolatile, 'i') as volatility, coalesce(p.proname, '') as name, coalesce(l.lanname, 'internal') as implements
      from pg_cast c join pg_type s on s.oid = castsource join pg_type t on t.oid = casttarget
      left join pg_proc p on p.oid = castfunc left join pg_language l on l.oid = p.prolang`);
    const ours = rows.filter(({ types }) => types.every((type) => computes('types', type)));
    const others = rows.filter(({ types }) => types.some((type) => builtInOfPostgres('types', type) === null));
    expect(others.filter(({ types }) => !types.some((type) => innerType.test(type)))).toEqual([]);
    expect(
      ours.filter(({ volatility, name }) => volatility !== 'i' && !lookedAt.has(name)).map(({ signature }) => signature),
    ).toEqual([]);
    expect(ours.length).toBeGreaterThan(130);
  });
});

/** Stable or volatile, yet they depend only on arguments, the clock, chance, the time zone, a format, or output functions of types with a verdict. */
const lookedAt = new Set(
  `age array_sample array_shuffle array_to_json array_to_string clock_timestamp concat concat_ws date date_add date_part date_subtract date_trunc
  extract format gen_random_uuid generate_series json_agg json_agg_strict json_build_array json_build_object json_object_agg
  json_object_agg_strict json_object_agg_unique json_object_agg_unique_strict jsonb_agg jsonb_agg_strict jsonb_build_array jsonb_build_object
  jsonb_path_exists_tz jsonb_path_match_tz jsonb_path_query_array_tz jsonb_path_query_first_tz jsonb_path_query_tz length make_timestamptz money
  now numeric overlaps quote_literal quote_nullable random random_normal row_to_json statement_timestamp time timeofday timestamp timestamptz
  timetz timezone to_char to_date to_json to_jsonb to_number to_timestamp transaction_timestamp uuidv4 uuidv7`.split(/\s+/),
);
const timeZones =
  /^(date|timestamp|timestamptz)_(eq|ne|lt|le|gt|ge)_(date|timestamp|timestamptz)$|^(interval_pl_timestamptz|timestamptz_(pl|mi)_interval)$|^(textanycat|anytextcat)$/;

/** Overloads of a computing name that take another type, and why the name stays. */
const exceptions = [['text(xml)', 'a statement that has an xml has a type that looks']] as const;

/** Nobody needs them in a statement that is to be planned or to pass unapproved: administration, statistics, the catalogue's own, other names of others. */
const neverNeeded =
  /^(pg_|acl|makeacl|.*_to_xmlschema$|.*_validator$|(amvalidate|currtid2|satisfies_hash_partition|setseed|xmlvalidate|nameconcatoid|oidvectortypes|textlen|dround|dtrunc|dexp|dlog1|dlog10|int4inc|numeric_inc|numeric_div_trunc|int8_sum)$|(shell|enum)_(in|out|send)$)/;

/** Types of the catalogue's own, of functions that only the server calls, and of nothing. */
const innerType =
  /^_?(pg_(brin_\w+|dependencies|mcv_list|ndistinct|node_tree|ddl_command)|gtsvector|cstring|internal|trigger|event_trigger|\w+_handler|pg_\w+)$/;

describe('names', () => {
  const used = (schema: string | null, ...names: string[]) => ({
    ...noUses(),
    functions: names.map((name) => ({ schema, name })),
  });
  it.each([
    ['postgresql', null, ['lower', 'now'], [], []],
    ['postgresql', 'pg_catalog', ['lower', 'table_to_xml'], ['table_to_xml()'], ['table_to_xml()']],
    ['postgresql', null, ['current_setting', 'to_tsvector'], ['current_setting()', 'to_tsvector()'], []],
    ['postgresql', null, ['do_something', 'nextval'], ['do_something()', 'nextval()'], ['do_something()', 'nextval()']],
    ['postgresql', 'public', ['lower'], ['public.lower()'], ['public.lower()']],
    ['mysql', null, ['lower', 'extractvalue'], ['extractvalue()'], []],
    ['mysql', 'shop', ['lower'], ['shop.lower()'], ['shop.lower()']],
    ['mysql', '', ['count'], ['count()'], ['count()']],
    ['mysql', null, ['f', 'sleep'], ['f()', 'sleep()'], ['f()', 'sleep()']],
  ] as const)('%s %s %j', (dialect, schema, names, beyond, effects) => {
    expect(usesBeyondComputing(dialect, used(schema, ...names))).toEqual(beyond);
    expect(usesWithEffects(dialect, used(schema, ...names))).toEqual(effects);
  });
});
