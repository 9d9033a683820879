import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';
import { databaseToml, dbaTeamToml, needsDbaToml } from '../support/toml.js';

const toml = [
  databaseToml('shop', ['staging']),
  dbaTeamToml,
  needsDbaToml('staging', 'auto_approve = { mode = "risk_based", risk = "low" }'),
].join('');

const schema = `
  create table customers (id bigint generated always as identity primary key, name text not null, city text, email text unique);
  create table orders (id bigint primary key, customer_id bigint not null constraint orders_customer_fk references customers (id), note text);
  create table big (id bigint primary key, part int, city text);
  insert into customers (name, email) select 'n' || n, 'e' || n from generate_series(1, 500) n;
  insert into orders select n, n, 'note' from generate_series(1, 400) n;
  insert into big select n, n from generate_series(1, 50080) n;
  create table watched (id int primary key);
  insert into watched values (1);
  create function fires() returns trigger language plpgsql as $$ begin delete from orders; return null; end $$;
  create trigger g after update on watched for each row execute function fires();
  create view names as select id, name from customers;
  create function emptied() returns int language plpgsql as $$ begin delete from orders; return 1; end $$;
  create view emptying as select id, emptied() as gone from customers;
  analyze;
`;

let api: TestApi;
let database: TestDatabase;
let target: pg.Client;
let agent: TestAgent;
let dana: string;
beforeAll(async () => {
  [api, { database, client: target }] = await Promise.all([startTestApi({ toml }), connectEmptyDatabase()]);
  await target.query(schema);
  dana = await api.createUser('dana', { roles: ['dba'] });
  agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: database.url });
  const known = () => api.services.database.query(`select 1 from schema_snapshots where last_status = 'ready'`);
  await eventually(async () => (await known()).length === 1);
});
afterAll(async () => {
  agent?.stop();
  expect(await agent.exit).toBe(0);
  await api.close();
  await target.end();
  await database.drop();
});

const create = (detail: string) =>
  api.call('POST', '/api/requests', { token: dana, body: { database: 'shop', environment: 'staging', detail } });
const risk = async (sql: string): Promise<{ level: string; factors: { name: string }[] }> => {
  const body = { database: 'shop', environment: 'staging', sql, include_explain: false };
  return (await api.call('POST', '/api/preflight', { token: dana, body })).body.risk_assessment;
};

/** Whether the text passes by itself; a refusal says why. */
async function asked(sql: string): Promise<string> {
  const { status, body } = await create(sql);
  return status === 201 ? body.status : body.error;
}

describe('what waits for approval on a policy that lets low risk pass', () => {
  it.each([
    'alter table orders drop constraint orders_customer_fk cascade',
    'alter table orders rename to sales',
    'alter table orders rename column note to remark',
    'alter table orders set schema pg_catalog',
    `comment on table orders is 'x'`,
    'alter table orders alter column note set default 1',
    'create table copied as select * from customers',
    'create or replace view seen as select 1 as one',
    'reindex table orders',
  ])('%s (HD-20)', async (sql) => {
    expect(await asked(sql)).toBe('pending');
    expect(await risk(sql)).toMatchObject({ level: 'medium', factors: [{ name: 'ddl' }] });
  });
});

describe('what runs more than it says waits for approval', () => {
  it.each([
    ['update customers set city = emptied()::text where id = 1', 'unknown', 'unlisted_function'],
    ['insert into customers (name, city) values (1, public.emptied())', 'unknown', 'unlisted_function'],
    ['alter table customers add column n int default emptied()', 'unknown', 'unlisted_function'],
    ['update watched set id = 2 where id = 1', 'medium', 'triggers'],
    ['update names set name = 1 where id = 1', 'unknown', 'table_unresolved'],
    ['select * from emptying where id = 1 for update', 'unknown', 'table_unresolved'],
    ['explain analyze select * from emptying where id = 1 for share', 'unknown', 'table_unresolved'],
    [`update big set city = 'x' where part = 5`, 'medium', 'large_table'],
  ])('%s (HD-21, HD-96)', async (sql, level, name) => {
    expect(await asked(sql)).toBe('pending');
    expect(await risk(sql)).toMatchObject({ level, factors: [{ name }] });
    expect((await target.query('select count(*) from orders where id <= 400')).rows).toEqual([{ count: '400' }]);
  });
});

describe('what the review stops', () => {
  it.each([
    'update big set city = 1 where true',
    'update big set city = 1 where id = 5 or id is not null or true',
    'update big set city = 1 where id in (select id from big)',
    'merge into big using customers c on true when matched then update set city = 1',
    'merge into big using customers c on c.id = 5 when matched then delete',
  ])('%s (HD-22)', async (sql) => {
    expect(await asked(sql)).toContain('without a WHERE that selects');
    expect((await target.query('select count(*) from big where city is null')).rows).toEqual([{ count: '50080' }]);
  });
});

describe('what passes by itself all the same', () => {
  it.each([
    `update customers set city = 'Bruges' where id = 12`,
    `insert into orders (id, customer_id) values (401, 1)`,
    'delete from orders where id = 401',
    'update big set city = null where id = 5',
    `update customers set city = d.city from unnest(array[3], array['Ghent']) as d (id, city) where customers.id = d.id`,
    `update customers set name = upper(name) || '!' where email = 'e5'`,
    'select * from customers where id = 5 for update',
    'create table fresh (id int)',
    'alter table orders add column remark text',
  ])('%s', async (sql) => {
    expect(await asked(sql)).toBe('dispatched');
  });
});
