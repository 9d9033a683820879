import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { seePlans, untilKnown } from '../support/planned.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';
import { databaseToml, dbaTeamToml, needsDbaToml } from '../support/toml.js';

const toml = [databaseToml('shop', ['staging']), dbaTeamToml, needsDbaToml(), '[preflight]\nmax_concurrent_per_user = 20\n'].join(
  '',
);

let api: TestApi;
let database: TestDatabase;
let target: pg.Client;
let agent: TestAgent;
let dana: string;
beforeAll(async () => {
  [api, { database, client: target }] = await Promise.all([startTestApi({ toml }), connectEmptyDatabase()]);
  await target.query(`
    create table products (id int primary key, name text, price numeric, tags text[], details jsonb, sold timestamptz);
    insert into products select n, 'p' || n, n, array['a'], '{"a": 1}', now() from generate_series(1, 20000) n;
    create table customers (id int primary key, email text);
    insert into customers values (1, 'carol-9417@example.com');
    create type mood as enum ('calm', 'angry');
    create domain score as int check (value >= 0);
    create table feelings (id int primary key, mood mood, score score, moods mood[]);
    create function leak() returns int language plpgsql immutable as $$ begin return (select email::int from customers); end $$;
    create function leak(int) returns int language plpgsql immutable as $$ begin return (select ascii(substr(email, $1, 1)) from customers); end $$;
    create function abs(text) returns int language plpgsql immutable as $$ begin return (select email::int from customers); end $$;
    create function total(products) returns int language plpgsql immutable as $$ begin return 1; end $$;
    create function meets(int, int) returns bool language plpgsql immutable as $$ begin return leak() = 1; end $$;
    create operator === (leftarg = int, rightarg = int, function = meets);
    create function sum_text(int, text) returns int language plpgsql immutable as $$ begin return leak(); end $$;
    create operator + (leftarg = int, rightarg = text, function = sum_text);
    create function checks(text) returns bool language plpgsql immutable as $$ begin return leak() = 1; end $$;
    create domain checked as text check (checks(value));
    create type pair_of_checked as (a checked);
    create function mood_of(int) returns mood language sql immutable as $$ select 'calm'::mood $$;
    create cast (int as mood) with function mood_of(int);
    create type temper as enum ('hot');
    create function temper_of(int) returns temper language plpgsql immutable as $$ begin return leak()::text; end $$;
    create cast (int as temper) with function temper_of(int);
    create view documents as select table_to_xml('customers', true, false, '')::text as document, name from products;
    create view cheap as select id, name, mood from products natural join feelings where price < 10;
    create table guarded (id int primary key, owner text);
    alter table guarded enable row level security;
    alter table guarded force row level security;
    create policy own on guarded using (id = leak());
    create view guarded_seen as select * from guarded;
    create table parted (id int, name text) partition by range (id);
    create table parted_1 partition of parted for values from (0) to (10);
    create extension file_fdw;
    create server files foreign data wrapper file_fdw;
    create foreign table parted_2 partition of parted for values from (10) to (20) server files options (filename '/etc/passwd');
    analyze products, customers`);
  dana = await api.createUser('dana', { roles: ['requester'] });
  agent = startTestAgent({
    gateway: api,
    token: api.tokens.agent,
    url: database.url,
    tables: 'explain_functions = ["public.mood_of", "meets"]',
  });
  await untilKnown(api);
});
afterAll(async () => {
  agent?.stop();
  expect(await agent?.exit).toBe(0);
  await api?.close();
  await target?.end();
  await database?.drop();
});

const secret = /carol|9417|example\.com/;

describe('HD-1: before approval nothing that reads is evaluated for a plan', () => {
  const xml = "table_to_xml('customers', true, false, '')::text";
  it.each([
    ['an error text that holds a table', `select 1 from products where id = ${xml}::int`, 'table_to_xml()'],
    [
      'a number of rows that spells data',
      `select 1 from products where id <= 10 * ascii(substr(${xml}, 60, 1))`,
      'table_to_xml()',
    ],
    [
      'the same in quotes',
      `select 1 from products where id = pg_catalog."table_to_xml"('customers', true, false, '')::text::int`,
      'table_to_xml()',
    ],
    ['the same in an update', `update products set name = 'x' where id <= ascii(${xml})`, 'table_to_xml()'],
    [
      'a query as text',
      `select 1 from products where name = query_to_xml('select * from customers', true, false, '')::text`,
      'query_to_xml()',
    ],
    [
      'a search as text',
      `select 1 from products where name = ts_rewrite('a'::tsquery, 'select email::tsquery, email::tsquery from customers')::text`,
      'ts_rewrite()',
    ],
    ["a user's function", 'select 1 from products where id = leak()', 'leak()'],
    ["a user's function by its schema", 'select 1 from products where id <= 10 * public.leak(5)', 'public.leak()'],
    ["a user's function as a field of a value", 'select d.leak from int4(5) d, products p where p.id <= d.leak', 'leak()'],
    ["a user's function as a field of parentheses", 'select 1 from products where id <= (5).leak', 'leak()'],
    ["a user's function as a field of a row", 'select p.total from products p', 'public.total()'],
    ["a user's overload of a built-in", "select 1 from products where id = abs('5'::text)", 'public.abs()'],
    ["a user's overload of an operator", "select 1 from products where id = 1 + '5'::text", 'the operator public.+'],
    [
      "a domain's check behind an array",
      "select 1 from products where tags = '{a}'::checked[]::text[]",
      'the type public._checked',
    ],
    [
      "a domain's check behind a row",
      "select 1 from products where name = ('(a)'::pair_of_checked)::text",
      'the type public.pair_of_checked',
    ],
    ["a user's cast", 'select 1 from products where name = (5::temper)::text', 'public.temper_of()'],
    [
      'a view that calls',
      'select 1 from products p, documents d where p.id <= ascii(substr(d.document, 60, 1))',
      'table_to_xml()',
    ],
    ['a policy that calls', 'select * from guarded_seen', 'public.leak()'],
    ['a setting', "select 1 from products where id = current_setting('data_directory')::int", 'current_setting()'],
    ['a name by its number', "select 1 from products where name = 'customers'::regclass::text", 'the type regclass'],
    ["a view's text", "select 1 from products where id = pg_get_viewdef('cheap'::regclass)::int", 'pg_get_viewdef()'],
    ["the role's name", 'select 1 from products where id = current_user::int', 'current_user()'],
    ['another server or file', 'select * from parted where id > 5', 'public.parted_2 is a foreign table'],
    ['a sequence', "select 1 from products where id = currval('s')", 'currval()'],
    ['a size', "select 1 from products where id <= pg_relation_size('customers')", 'pg_relation_size()'],
    ['a limit', 'select 1 from products limit leak(5)', 'leak()'],
  ])('%s', async (_what, sql, names) => {
    const { entry, impact } = await seePlans(api, dana, sql);
    expect(Object.keys(entry).sort()).toEqual(['error', 'hint', 'sql']);
    expect(entry).toMatchObject({ sql, hint: null });
    expect(entry.error).toMatch(/^not planned before approval: /);
    expect(entry.error).toContain(names);
    expect(impact).toEqual({ status: 'error', error: entry.error, unknown_name: false });
    expect(JSON.stringify([entry, impact])).not.toMatch(secret);
  });

  it.each([
    "select *, lower(name), price::int from products where name like 'p1%' and price between 1 and 2 and id = any('{1,2}') order by name limit 5",
    "select count(*), date_trunc('day', sold) from products where sold > now() - interval '1 day' group by 2 having sum(price) > 1",
    "select details->>'a' from products p where details @> '{\"a\": 1}' and p.id in (select id from customers where email ilike '%x')",
    "select * from feelings where mood = 'calm' and score > 5 and 'angry' = any(moods)",
    "select c.name, c.mood from cheap c where c.mood <> 'calm'",
    "insert into feelings values (1, 'calm', 7, '{calm,angry}')",
    'update products set name = upper(name), price = round(price * 1.1, 2) where id = 5 and extract(year from sold) = 2020',
    'with big as (select id, name from products where price > 100) delete from products p using big where big.id = p.id',
    'merge into products p using customers c on p.id = c.id when matched then update set name = c.email',
    "select id from products where case when id > 5 then coalesce(name, '') else 'x' end = trim(both ' ' from name)",
    'select name, row_number() over (partition by tags order by price desc) from products',
    'select 1 from products where name = (5::mood)::text',
    'select 1 from products where id === 1',
  ])('what computes, and what the configuration names, is planned: %s', async (sql) => {
    const { entry, impact } = await seePlans(api, dana, sql);
    expect(entry.error).toBeUndefined();
    expect(entry.plan).toMatchObject([{ Plan: {} }]);
    expect(impact.status).toBe('completed');
  });
});
