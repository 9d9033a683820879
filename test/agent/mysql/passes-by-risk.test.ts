import mysql, { type Connection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../../support/api.js';
import { findMysql, type MysqlDatabase } from '../../support/mysql.js';
import { eventually } from '../../support/processes.js';
import { startTestAgent, type TestAgent } from '../../support/test-agent.js';
import { databaseToml, dbaTeamToml, needsDbaToml } from '../../support/toml.js';

const toml = [
  databaseToml('shop', ['staging', 'untold'], 'mysql'),
  dbaTeamToml,
  needsDbaToml('staging', 'auto_approve = { mode = "risk_based", risk = "low" }'),
  needsDbaToml('untold', 'auto_approve = { mode = "risk_based", risk = "low" }'),
].join('');

const schema = `
  create table customers (id bigint primary key auto_increment, name text not null, city text, email varchar(99) unique) engine = InnoDB;
  create table orders (id bigint primary key, customer_id bigint not null, note text,
    constraint orders_customer_fk foreign key (customer_id) references customers (id) on delete cascade) engine = InnoDB;
  create table big (id bigint primary key, part int, city text) engine = InnoDB;
  insert into customers (name, email) select concat('n', seq), concat('e', seq) from seq_1_to_500;
  insert into orders select seq, seq, 'note' from seq_1_to_400;
  insert into orders values (402, 1, 'note');
  insert into big select seq, seq, null from seq_1_to_50080;
  create table watched (id int primary key) engine = InnoDB;
  insert into watched values (1);
  create trigger fires after update on watched for each row delete from orders;
  create view names as select id, name from customers;
  create function emptied() returns int modifies sql data begin delete from orders; return 1; end;
  create function \`lower\`(a text) returns int modifies sql data begin delete from orders; return 1; end;
  create view emptying as select emptied() as n;
  create sequence numbers;
  analyze table customers, orders, big, watched;
`;

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('what passes by risk on MariaDB, behind a running gateway', () => {
  let api: TestApi;
  let target: MysqlDatabase;
  let root: Connection;
  let agent: TestAgent | undefined;
  let restart: () => Promise<void>;
  let dana: string;
  beforeAll(async () => {
    [api, target] = await Promise.all([startTestApi({ toml }), server!.createDatabase()]);
    root = await mysql.createConnection({ uri: target.adminUrl, multipleStatements: true });
    await root.query(schema);
    // Without it no row that the cascades of customers change could be counted.
    await root.query(`grant process on *.* to '${new URL(target.url).username}'@'%'`);
    const narrow = new URL(target.url);
    narrow.username += 'n';
    await root.query(`create user '${narrow.username}'@'%' identified by 'test'`);
    await root.query(`grant select, insert, update, delete, create, references on ${target.name}.* to '${narrow.username}'@'%'`);
    dana = await api.createUser('dana', { roles: ['dba'] });
    const tables = `[databases.shop.untold]\nurl = "${narrow.href}"`;
    restart = async () => {
      agent?.stop();
      await agent?.exit;
      agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: target.url, tables });
      const known = () => api.services.database.query(`select 1 from schema_snapshots where last_status = 'ready'`);
      await eventually(async () => (await known()).length === 2);
    };
    await restart();
  }, 60_000);
  afterAll(async () => {
    agent?.stop();
    await agent?.exit;
    await api?.close();
    await root?.query(`drop user '${new URL(target.url).username}n'@'%'`);
    await root?.end();
    await target?.drop();
  });

  const create = (detail: string, environment: string) =>
    api.call('POST', '/api/requests', { token: dana, body: { database: 'shop', environment, detail } });
  const risk = async (sql: string, environment = 'staging') => {
    const body = { database: 'shop', environment, sql, include_explain: false };
    return (await api.call('POST', '/api/preflight', { token: dana, body })).body.risk_assessment;
  };
  /** Whether the text passes by itself; a refusal says why. */
  const asked = async (sql: string, environment = 'staging'): Promise<string> => {
    const { status, body } = await create(sql, environment);
    return status === 201 ? body.status : body.error;
  };
  const count = async (what: string) =>
    Number(((await root.query(`select count(*) as n from ${what}`))[0] as { n: number }[])[0]?.n);
  /** Orders that no text may change; those that pass by themselves have rows of their own. */
  const untouched = () => count('orders where id <= 400');

  it.each([
    'alter table orders drop foreign key orders_customer_fk',
    'alter table orders rename to sales',
    'rename table orders to sales',
    'alter table orders rename column note to remark',
    'alter table orders add column n int default 1',
    'create table copied as select * from customers',
    'create or replace view seen as select 1 as one',
    `create view schema_migrations as select 'v1' as version`,
    'create table if not exists schema_migrations (version varchar(99) primary key)',
    'create index by_city on orders (note(9))',
  ])('%s waits: it is DDL that is not safe (HD-20)', async (sql) => {
    expect(await asked(sql)).toBe('pending');
    expect(await risk(sql)).toMatchObject({ level: 'medium', factors: [{ name: 'ddl' }] });
  });

  it.each([
    ['update customers set city = emptied() where id = 1', ['emptied()']],
    ['insert into customers (name, city) values (1, DATABASE.emptied())', ['DATABASE.emptied()']],
    ['delete from customers where id = DATABASE.lower(1)', ['DATABASE.lower()']],
    ['update customers set city = `lower`(name) where id = 1', ['lower()']],
    ['replace into customers (id, name) values (1, if(emptied(), 1, 2))', ['emptied()']],
    ['update customers set city = nextval(numbers) where id = 1', ['nextval()']],
    ['update customers set city = next value for numbers where id = 1', ['nextval()']],
    ['update customers set city = (@a := 1) where id = 1', [':=']],
    ['delete from customers where id = 1 and sleep(0.1) = 0', ['sleep()']],
  ])('%s waits: it calls what is no built-in without side effects (HD-21)', async (text, names) => {
    const named = (sql: string) => sql.replaceAll('DATABASE', target.name);
    expect(await asked(named(text))).toBe('pending');
    expect(await risk(named(text))).toMatchObject({
      level: 'unknown',
      factors: [{ name: 'unlisted_function', names: names.map(named) }],
    });
    expect(await untouched()).toBe(400);
  });

  it.each([
    ['update watched set id = 2 where id = 1', 'medium', 'triggers'],
    ['update .watched set id = 2 where id = 1', 'medium', 'triggers'],
    ['update customers use index for order by (primary), watched w set w.id = 2 where w.id = 1', 'medium', 'triggers'],
    ['delete from orders using (customers as orders) where orders.id = 7', 'medium', 'cascade_delete'],
    ['update names set name = 1 where id = 1', 'unknown', 'table_unresolved'],
    ['select * from emptying for update', 'unknown', 'table_unresolved'],
    ['select c.id from customers c join emptying where c.id = 1 lock in share mode', 'unknown', 'table_unresolved'],
    [`update big set city = 'x' where part = 5`, 'medium', 'large_table'],
    ['delete from customers where id = 7', 'medium', 'cascade_delete'],
  ])('%s waits: it writes more than it says (HD-21, HD-24, HD-96)', async (sql, level, name) => {
    expect(await asked(sql)).toBe('pending');
    expect(await risk(sql)).toMatchObject({ level, factors: [{ name }] });
    expect(await untouched()).toBe(400);
  });

  it('waits where the account is not told of triggers (HD-21)', async () => {
    const sql = `update customers set city = 'x' where id = 1`;
    expect(await risk(sql, 'untold')).toMatchObject({ level: 'unknown', factors: [{ name: 'schema_incomplete' }] });
    expect(await asked(sql, 'untold')).toBe('pending');
  });

  it.each([
    'update big set city = 1 where true',
    'update big set city = 1 where id = 5 or id is not null or 1',
    'update big set city = 1 where id in (select id from big)',
    'update big set city = 1 where 1 order by id limit 5',
    'update big join customers c set big.city = 1 where c.id = 5',
    `delete from big where 'a' = 'a'`,
    'delete from big where not false limit 9',
    'delete big from big join customers c where c.id = 5',
    'delete from big using big, customers c where c.id = 5',
  ])('%s is stopped by the review: it holds for every row (HD-22)', async (sql) => {
    expect(await asked(sql)).toContain('without a WHERE that selects');
    expect([await count('big'), await count('big where city is null')]).toEqual([50_080, 50_080]);
  });

  it.each([
    `update customers set city = 'Bruges' where id = 12`,
    `insert into orders (id, customer_id) values (401, 1)`,
    'delete from orders where id = 402',
    `update big set city = null where id = 5`,
    'with c as (select * from customers) select * from c where id = 5 for update',
    `update customers set name = concat(upper(name), '!') where email = 'e5'`,
  ])('%s passes by itself, and runs', async (sql) => {
    const { body } = await create(sql, 'staging');
    expect(body.status).toBe('dispatched');
    const read = async () => (await api.call('GET', `/api/requests/${body.id}`, { token: dana })).body.status;
    await expect.poll(read).toMatch(/executed|failed|execution_lost/);
    expect(await read()).toBe('executed');
  });

  it('nothing that could not be rolled back passes: DDL, and writes beside a table without transactions (HD-25)', async () => {
    expect(await risk('create table fresh (id int)')).toMatchObject({ level: 'low' });
    expect(await asked('create table fresh (id int)')).toBe('pending');
    await root.query(`create table plain (id int primary key) engine = MyISAM`);
    const readAgain = async () => {
      await api.services.database.query('delete from schema_snapshots');
      await restart();
    };
    try {
      await readAgain();
      const sql = `update customers set city = 'x' where id = 12`;
      expect(await risk(sql)).toMatchObject({ level: 'low', factors: [] });
      expect(await asked(sql)).toBe('pending');
    } finally {
      await root.query('drop table plain');
      await readAgain();
    }
  });
});
