import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAgentConfig } from '../../../agent/config.js';
import { createDriver } from '../../../agent/drivers/create.js';
import type { Driver } from '../../../agent/drivers/driver.js';
import { Interrupted } from '../../../agent/drivers/faults.js';
import { NoDatabaseNamed } from '../../../agent/snapshot/no-snapshot.js';
import { defaultTimings } from '../../../agent/timings.js';
import type { SnapshotTable } from '../../../domain/snapshot.js';
import { findMysql, type MysqlDatabase, withMysql } from '../../support/mysql.js';
import { eventually } from '../../support/processes.js';

const server = await findMysql(import.meta.url);
const signal = new AbortController().signal;

const script = [
  `create table buyers (
    id bigint unsigned auto_increment primary key,
    email varchar(200) not null unique,
    \`Odd Name\` text default 'it''s',
    lower_email varchar(200) generated always as (lower(email)) virtual,
    kept int as (length(email)) stored,
    number int default 7,
    at timestamp not null default current_timestamp,
    code varchar(36) default (uuid()),
    word varchar(9) default 'NULL',
    none int default null,
    positive int check (positive > 0),
    constraint short check (length(email) < 100 and number > 0 and \`Odd Name\` <> '\`id\` it''s'),
    key mixed (\`Odd Name\`(10), number desc),
    fulltext key words (\`Odd Name\`))`,
  `create table orders (
    shop int, number int, buyer bigint unsigned, helper bigint unsigned, second bigint unsigned, third bigint unsigned,
    primary key (number, shop), unique key same_name (buyer), unique key shop (shop, number),
    constraint same_name foreign key (buyer) references buyers (id) on delete cascade,
    constraint f2 foreign key (helper) references buyers (id) on delete set null,
    constraint f3 foreign key (second) references buyers (id) on delete restrict,
    constraint f4 foreign key (third) references buyers (id) on delete no action)`,
  `create table order_lines (
    order_shop int, order_number int, place int not null, unique key place (place),
    constraint whole foreign key (order_number, order_shop) references orders (number, shop))`,
  'create table shapes (id int primary key, at point not null, spatial key around (at), key hashed (id) using hash)',
  'create table Twin (a int not null, unique key k (a))',
  'create table twin (b int not null, unique key k (b))',
  'create table parted (id int primary key) partition by hash (id) partitions 3',
  'create table kept_elsewhere (id int) engine = MyISAM',
  'create view seen as select id from buyers',
  "insert into buyers (email, positive) values ('a', 1), ('b', 2), ('c', 3)",
  'analyze table buyers',
];

describe.skipIf(server === null)('the schema of a MySQL target', () => {
  let database: MysqlDatabase;
  let other: MysqlDatabase;
  let driver: Driver;
  let tables: readonly SnapshotTable[];
  let isMariadb: boolean;
  beforeAll(async () => {
    [database, other] = await Promise.all([server!.createDatabase(), server!.createDatabase()]);
    await withMysql(database.adminUrl, async (root) => {
      for (const statement of script) await root.query(statement);
      isMariadb = JSON.stringify(await root.query('select version()')).includes('MariaDB');
      await root.query(`create table ${other.name}.hidden (id int primary key)`);
    });
    driver = newDriver(database.url, database.readUrl);
    tables = (await driver.snapshot(30_000, signal)).tables;
  });
  afterAll(async () => {
    await driver?.close();
    await Promise.all([database?.drop(), other?.drop()]);
  });

  const find = (name: string) => tables.find((table) => table.name === name)!;

  it('tells the applied versions of the tracking table (MI-45)', async () => {
    const applied = async () => (await driver.snapshot(30_000, signal)).applied_versions;
    const as = (text: string) => withMysql(database.adminUrl, async (root) => void (await root.query(text)));
    expect(await applied()).toEqual([]);
    await as('create table schema_migrations (version varchar(255) primary key)');
    await as("insert into schema_migrations values ('2'), ('1'), ('a secret'), ('20260101-a.b')");
    expect([...((await applied()) ?? [])].sort()).toEqual(['1', '2', '20260101-a.b']);
    await as('drop table schema_migrations');
    await as('create view schema_migrations as select email as version from buyers');
    expect(await applied()).toEqual([]);
    await as('drop view schema_migrations');
    await as('create table schema_migrations (number int)');
    expect(await applied()).toBeNull();
    await as('drop table schema_migrations');
  });

  it('tells triggers where the account is told of them, and keys (HD-21, HD-96)', async () => {
    await withMysql(database.adminUrl, async (root) => {
      await root.query('create trigger fires after update on buyers for each row delete from orders');
    });
    const writer = newDriver(database.url);
    const reader = newDriver(database.readUrl);
    try {
      const seen = (await writer.snapshot(30_000, signal)).tables;
      const told = seen.map(({ name, triggers }) => [name, triggers]);
      expect(Object.fromEntries(told)).toMatchObject({ buyers: ['fires'], orders: [] });
      expect((await reader.snapshot(30_000, signal)).tables.map(({ triggers }) => triggers)).toEqual(seen.map(() => null));
    } finally {
      await Promise.all([writer.close(), reader.close()]);
      await withMysql(database.adminUrl, async (root) => {
        await root.query('drop trigger fires');
      });
    }
    expect(find('buyers').keys).toEqual([['id'], ['email']]);
    expect(find('orders').keys).toEqual(expect.arrayContaining([['number', 'shop'], ['buyer'], ['shop', 'number']]));
    expect(find('shapes').keys).toEqual([['id']]);
  });

  it('AP-61, AP-64: lists the tables of the database by name, without views and other databases', () => {
    expect(tables.map(({ name }) => name)).toEqual([
      ...['Twin', 'buyers', 'kept_elsewhere', 'order_lines', 'orders', 'parted', 'shapes', 'twin'],
    ]);
    expect(new Set(tables.map((table) => table.schema_name))).toEqual(new Set([database.name]));
    expect(find('buyers').estimated_rows).toBe(3);
  });

  it('AP-64: tells columns in order with type, null, default and key; generated ones have no default', async () => {
    const quoted = (text: string) => (isMariadb ? `'${text.replaceAll("'", "\\'")}'` : text);
    const type = (mariadb: string, mysql: string) => (isMariadb ? mariadb : mysql);
    expect(find('buyers').columns).toEqual([
      column('id', type('bigint(20) unsigned', 'bigint unsigned'), { nullable: false, is_primary_key: true }),
      column('email', 'varchar(200)', { nullable: false }),
      column('Odd Name', 'text', { default_value: quoted("it's") }),
      column('lower_email', 'varchar(200)'),
      column('kept', type('int(11)', 'int')),
      column('number', type('int(11)', 'int'), { default_value: '7' }),
      column('at', 'timestamp', { nullable: false, default_value: type('current_timestamp()', 'CURRENT_TIMESTAMP') }),
      column('code', 'varchar(36)', { default_value: 'uuid()' }),
      column('word', 'varchar(9)', { default_value: quoted('NULL') }),
      column('none', type('int(11)', 'int')),
      column('positive', type('int(11)', 'int')),
    ]);
  });

  it('tells no unique column for the primary key of a table without one', () => {
    expect(find('order_lines').columns.map((one) => one.is_primary_key)).toEqual([false, false, false]);
    expect(find('orders').columns.map((one) => one.is_primary_key)).toEqual([true, true, false, false, false, false]);
  });

  it('AP-62: tells constraints with columns in key order and what a foreign key does on delete', () => {
    expect(find('orders').constraints).toEqual([
      constraint('PRIMARY', 'primary_key', ['number', 'shop']),
      toBuyers('f2', 'helper', 'SET_NULL'),
      toBuyers('f3', 'second', 'RESTRICT'),
      toBuyers('f4', 'third', 'NO_ACTION'),
      toBuyers('same_name', 'buyer', 'CASCADE'),
      constraint('same_name', 'unique', ['buyer']),
      constraint('shop', 'unique', ['shop', 'number']),
    ]);
    expect(find('order_lines').constraints[1]).toEqual({
      ...constraint('whole', 'foreign_key', ['order_number', 'order_shop']),
      referenced_table: 'orders',
      referenced_schema: database.name,
      referenced_columns: ['number', 'shop'],
      on_delete: expect.stringMatching(/^(RESTRICT|NO_ACTION)$/),
      on_update: expect.stringMatching(/^(RESTRICT|NO_ACTION)$/),
    });
    const checks = find('buyers').constraints.filter((one) => one.constraint_type === 'check');
    expect(checks.map(({ columns }) => columns)).toEqual([['positive'], ['email', 'number', 'Odd Name']]);
  });

  it('AP-64: tells indexes with key columns in order and their type in small letters', () => {
    expect(find('buyers').indexes).toEqual([
      { name: 'PRIMARY', columns: ['id'], is_unique: true, index_type: 'btree' },
      { name: 'email', columns: ['email'], is_unique: true, index_type: 'btree' },
      { name: 'mixed', columns: ['Odd Name', 'number'], is_unique: false, index_type: 'btree' },
      { name: 'words', columns: ['Odd Name'], is_unique: false, index_type: 'fulltext' },
    ]);
    expect(find('shapes').indexes.map((one) => one.index_type)).toEqual(['btree', 'spatial', 'btree']);
  });

  it('keeps tables apart whose names differ in case only', () => {
    for (const [name, key] of Object.entries({ Twin: 'a', twin: 'b' })) {
      expect(find(name).columns.map((one) => one.name)).toEqual([key]);
      expect(find(name).constraints).toEqual([constraint('k', 'unique', [key])]);
      expect(find(name).indexes.map(({ columns }) => columns)).toEqual([[key]]);
    }
  });

  it('has constraints also where the account of reads, which can only SELECT, is not told of them', async () => {
    const narrow = newDriver(database.readUrl, database.readUrl);
    try {
      const seen = (await narrow.snapshot(30_000, signal)).tables;
      expect(seen.map(({ name }) => name)).toEqual(tables.map(({ name }) => name));
    } finally {
      await narrow.close();
    }
    expect(find('orders').constraints.map((one) => one.on_delete)).toContain('CASCADE');
  });

  it('AP-64: an address without a database has no schema', async () => {
    const nowhere = newDriver(Object.assign(new URL(database.url), { pathname: '/' }).href);
    try {
      await expect(nowhere.snapshot(30_000, signal)).rejects.toBeInstanceOf(NoDatabaseNamed);
    } finally {
      await nowhere.close();
    }
  });

  it('AP-61: ends at its timeout and at a stop, and leaves no transaction behind', async () => {
    await withMysql(database.adminUrl, async (root) => {
      await root.query('create table slow (a int)');
      await root.query('insert into slow values (1), (2), (3)');
      for (let doubled = 0; doubled < 9; doubled++) await root.query('insert into slow select a from slow');
      // While rows are computed into the copy, nobody may read the table, not even its definition.
      const computed = 'int as (length(sha2(repeat(a, 4000000), 512))) stored';
      const altering = root.query(`alter table slow add b ${computed}, algorithm = copy, lock = exclusive`).catch(() => {});
      await eventually(async () => (await states()).includes('copy to tmp table'));
      await expect(driver.snapshot(200, signal)).rejects.toMatchObject({ errno: isMariadb ? 1969 : 3024 });
      const stop = new AbortController();
      const running = driver.snapshot(30_000, stop.signal);
      setTimeout(() => stop.abort(), 50);
      await expect(running).rejects.toBeInstanceOf(Interrupted);
      await withMysql(database.adminUrl, (one) => one.query(`kill query ${root.threadId}`));
      await altering;
    });
    expect((await driver.snapshot(30_000, signal)).tables).toHaveLength(tables.length + 1);
    await withMysql(database.adminUrl, (root) => root.query('drop table slow'));
    await eventually(
      async () =>
        (await states('innodb_trx t join information_schema.processlist p on p.id = t.trx_mysql_thread_id')).length === 0,
    );
  });

  /** What the connections to the database do. */
  async function states(from = 'processlist p'): Promise<string[]> {
    const sql = `select lower(p.state) state from information_schema.${from} where p.db = ? and p.id <> connection_id()`;
    const [rows] = await withMysql(database.adminUrl, (root) => root.query(sql, [database.name]));
    return (rows as { state: string }[]).map(({ state }) => state);
  }

  const toBuyers = (name: string, columnName: string, action: string) => ({
    ...constraint(name, 'foreign_key', [columnName]),
    referenced_table: 'buyers',
    referenced_columns: ['id'],
    on_delete: action,
    referenced_schema: database.name,
    on_update: expect.stringMatching(/^(RESTRICT|NO_ACTION)$/),
  });
});

function newDriver(url: string, readUrl = url): Driver {
  const file = join(mkdtempSync(join(tmpdir(), 'svc-agent-')), 'agent.toml');
  const target = `[databases.shop.staging]\nurl = "${url}"\nread_url = "${readUrl}"\n`;
  writeFileSync(file, `[server]\nurl = "http://127.0.0.1:1"\nagent_token = "svc_test"\n${target}`);
  const config = loadAgentConfig(file, {});
  return createDriver(config.databases[0]!, config, defaultTimings);
}

const column = (name: string, type: string, over: object = {}) => ({
  name,
  data_type: type,
  nullable: true,
  default_value: null,
  is_primary_key: false,
  ...over,
});

const constraint = (name: string, type: string, columns: string[]) => ({
  name,
  constraint_type: type,
  columns,
  referenced_table: null,
  referenced_columns: null,
  on_delete: null,
  on_update: null,
  referenced_schema: null,
});
