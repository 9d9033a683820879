import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../../support/api.js';
import { findMysql, type MysqlDatabase, withMysql } from '../../support/mysql.js';
import { seePlans, untilKnown } from '../../support/planned.js';
import { startTestAgent, type TestAgent } from '../../support/test-agent.js';
import { databaseToml, dbaTeamToml, needsDbaToml } from '../../support/toml.js';

const server = await findMysql(import.meta.url);
const toml = [databaseToml('shop', ['staging'], 'mysql'), dbaTeamToml, needsDbaToml()].join('');
const secret = /carol|9417|example\.com/;

describe.skipIf(server === null)('before approval nothing that reads is evaluated for a plan (HD-1, HD-2)', () => {
  let api: TestApi;
  let database: MysqlDatabase;
  let agent: TestAgent;
  let dana: string;
  beforeAll(async () => {
    [api, database] = await Promise.all([startTestApi({ toml }), server!.createDatabase()]);
    await withMysql(database.adminUrl, async (connection) => {
      for (const statement of [
        'create table products (id int primary key, name varchar(20), price int, key (price)) engine = InnoDB',
        'insert into products select seq, seq, seq from seq_1_to_5000',
        'create table customers (id int primary key, email varchar(100), balance bigint unsigned) engine = InnoDB',
        "insert into customers values (1, 'carol-9417@example.com', 3), (2, 'dora@example.com', 4)",
        'create table alone (email varchar(100)) engine = Aria',
        "insert into alone values ('carol-9417@example.com')",
        'create view seen as select id, email from customers',
        'create sequence numbers',
        'create function leak() returns int deterministic reads sql data return (select ascii(email) from customers where id = 1)',
        'create function known() returns int deterministic return 5',
        'analyze table products, customers, alone',
      ])
        await connection.query(statement);
    });
    dana = await api.createUser('dana', { roles: ['requester'] });
    agent = startTestAgent({
      gateway: api,
      token: api.tokens.agent,
      url: database.url,
      tables: `explain_functions = ["${database.name}.known", "extractvalue"]`,
    });
    await untilKnown(api);
  });
  afterAll(async () => {
    agent?.stop();
    expect(await agent?.exit).toBe(0);
    await api?.close();
    await database?.drop();
  });

  const email = 'select email from customers where id = 1';
  it.each([
    [
      'an error text that holds data',
      `select 1 from products where id = extractvalue(1, concat(0x7e, (${email})))`,
      'extractvalue()',
    ],
    [
      'the same of a row that is read at once',
      "select extractvalue(1, concat(0x7e, email)) from customers where id = 1 and extractvalue(1, concat(0x7e, email)) > ''",
      'extractvalue()',
    ],
    [
      'the other XML function',
      `update products set name = updatexml(1, concat(0x7e, (${email})), 1) where id = 1`,
      'updatexml()',
    ],
    ['a GTID', `select binlog_gtid_pos((${email}), 4)`, 'binlog_gtid_pos()'],
    ['a subquery in a condition', `select 1 from products where id <= 10 * ascii((${email}))`, 'a subquery outside FROM'],
    ['a subquery in a list', 'select id from products where price in (select balance from customers)', 'a subquery outside FROM'],
    ['EXISTS', `select 1 from products where exists (${email} and email like 'c%')`, 'a subquery outside FROM'],
    ['a subquery in ON', `select 1 from products p join products q on p.id = (${email})`, 'a subquery outside FROM'],
    ['a subquery in what is selected', `select (${email}) from products`, 'a subquery outside FROM'],
    ['a subquery in a value', `insert into products values ((${email}), 'a', 1)`, 'a subquery outside FROM'],
    [
      'a row that is read at once, by the number of rows',
      'select 1 from customers c join products p on p.price <= 10 * ascii(substr(c.email, 1, 1)) where c.id = 1',
      'reads rows',
    ],
    [
      'the same in FROM',
      'select 1 from (select email from customers where id = 1) c join products p on p.price <= ascii(c.email)',
      'reads rows',
    ],
    ['the same of a sum', 'select 1 from (select max(id) m from customers) c join products p on p.price <= c.m', 'reads rows'],
    [
      'a row that is read at once, by whether it fits',
      "select * from customers where id = 1 and substr(email, 1, 1) = 'c'",
      'reads rows',
    ],
    ['the same when it does not', "select * from customers where id = 1 and substr(email, 1, 1) = 'd'", 'reads rows'],
    ['a row that is read at once, by an error', 'select * from customers where id = 1 and balance - 4 > 0', 'reads rows'],
    ['the same without the error', 'select * from customers where id = 2 and balance - 4 >= 0', 'reads rows'],
    ['the only row of a table', 'select 1 from alone a join products p on p.price <= ascii(a.email)', 'reads rows'],
    ['an answer from an index', 'select max(price), min(price) from products', 'reads rows'],
    ['a view', "select * from seen where email like 'c%'", 'is no table'],
    ["a user's function", 'select 1 from products where id = leak()', 'leak()'],
    ["a user's function by its database", 'select 1 from products where id = `leak`()', 'leak()'],
    ['a variable', 'select 1 from products where id = @@port', '@'],
    ["the server's tables", 'select * from information_schema.columns where column_name = 1', 'is no table'],
    ['a sequence', 'select * from numbers', 'is no table'],
    ['the account', 'select 1 from products where name = current_user()', 'current_user()'],
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
    ["select id, name from products where price > 100 and name like '1%' order by id limit 5"],
    ["select count(*), lower(name), date_format(now(), '%Y') from products group by 2 having sum(price) > 1"],
    ["select p.id from products p join customers c on c.id = p.price where p.name <> concat(c.email, 'x')"],
    ['select * from (select id from products where price < 10 union all select id from customers) as d where id > 5'],
    ['with cheap as (select id from products where price < 10) select * from cheap'],
    ["insert into products (id, name) values (10001, 'x')"],
    ['insert into products (id, price) select id + 20000, balance from customers'],
    ['update products set name = upper(name), price = price + 1 where id = 5'],
    ['delete from products where price between 5 and 6'],
    ['select 1 from products where price > known()'],
    ["select 1, upper('x')"],
  ])('what computes, and what the configuration names, is planned: %s', async (sql) => {
    const { entry, impact } = await seePlans(api, dana, sql);
    expect(entry.error).toBeUndefined();
    expect(entry.plan).toMatchObject({ query_block: {} });
    expect(impact.status).toBe('completed');
    expect(JSON.stringify(entry.plan)).not.toMatch(/condition|message|sort_key/);
    const rows = await withMysql(
      database.adminUrl,
      async (connection) => (await connection.query('select sum(id + price) as n, count(*) as c from products'))[0],
    );
    expect(JSON.stringify(rows)).toBe('[{"n":"25005000","c":5000}]');
  });

  it('the plan of a search for one row is the same whether it is there or not', async () => {
    const plans = await Promise.all([1, 2, 99].map((id) => seePlans(api, dana, `select * from customers where id = ${id}`)));
    const [first, ...others] = plans.map(({ entry, impact }) => JSON.stringify([entry.plan, impact]));
    expect(first).toContain('"access_type":"const"');
    expect(new Set(others)).toEqual(new Set([first]));
    const byEmail = ['carol-9417@example.com', 'nobody@example.com'].map((one) =>
      seePlans(api, dana, `select id from customers where id = 1 and email = '${one}'`),
    );
    const [fits, not] = (await Promise.all(byEmail)).map(({ entry, impact }) => JSON.stringify([entry.plan, impact]));
    expect(fits).toBe(not);
  });
});
