import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAgentConfig } from '../../agent/config.js';
import { createDriver } from '../../agent/drivers/create.js';
import type { Driver } from '../../agent/drivers/driver.js';
import { Interrupted } from '../../agent/drivers/faults.js';
import { SnapshotTooLarge } from '../../agent/snapshot/no-snapshot.js';
import { defaultTimings } from '../../agent/timings.js';
import { indexCascades } from '../../domain/cascade.js';
import { assessRisk } from '../../domain/risk.js';
import type { SnapshotTable } from '../../domain/snapshot.js';
import { createSqlClassifier } from '../../sql/classify.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';

let database: TestDatabase;
let target: pg.Client;
let driver: Driver;
// Roles belong to the whole server that the test files share.
const reader = `reader_${process.pid}`;

const passing = {
  operation: 'execute_dml',
  findings: [],
  autoApprove: { allowReadOnly: true, allowSafeDdl: true, maxEstimatedRows: 1000, maxSnapshotAgeSecs: 86_400 },
  snapshotAgeMs: 0,
} as const;

beforeAll(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
  await target.query(`
    create schema audit;
    create schema secret;
    create table secret.hidden (id int);
    create table buyers (
      id bigserial primary key,
      email varchar(200) not null unique,
      "Odd Name" text default 'it''s',
      lower_email text generated always as (lower(email)) stored,
      number int generated always as identity,
      gone int,
      constraint short check (length(email) < 100 and number > 0)
    );
    alter table buyers drop column gone;
    create index buyers_lower on buyers (lower(email), number desc) include (id) where id > 5;
    create index buyers_odd on buyers using hash ("Odd Name");
    create table audit.log (at timestamptz not null default now(), buyer bigint, kind "char");
    create table orders (
      shop int, number int, buyer bigint references buyers on delete cascade, helper bigint, second bigint, third bigint, fourth bigint,
      unique (shop, number),
      constraint orders_pkey primary key (number, shop),
      constraint f2 foreign key (helper) references buyers (id) on delete set null,
      constraint f3 foreign key (second) references buyers (id) on delete restrict,
      constraint f4 foreign key (third) references buyers (id) on delete set default,
      constraint f5 foreign key (fourth) references buyers (id)
    );
    create table audit.lines (
      order_number int, order_shop int, unique (order_shop, order_number),
      constraint lines_order foreign key (order_shop, order_number) references orders (shop, number)
    );
  `);
  await target.query(`
    create table events (id int, day date not null, primary key (id, day)) partition by range (day);
    create table events_1 partition of events for values from ('2026-01-01') to ('2026-02-01');
    create table events_2 partition of events for values from ('2026-02-01') to ('2027-01-01') partition by range (id);
    create table events_2a partition of events_2 for values from (0) to (1000);
    insert into events select n, '2026-01-15' from generate_series(1, 30) n;
    insert into events select n, '2026-02-15' from generate_series(1, 12) n;
    analyze events_1; analyze events_2a;
    create table fresh (id int, day date) partition by range (day);
    create table uncounted (id int, day date) partition by range (day);
    create table uncounted_1 partition of uncounted default;
    create table notes (event int, day date, foreign key (event, day) references events on delete cascade);
    create view seen as select 1 as one;
    create temporary table temporary_one (id int);
    insert into buyers (email) select 'b' || n || '@example.org' from generate_series(1, 7) n;
    analyze buyers;
    create role ${reader} login password 'reader';
    grant usage on schema audit, public to ${reader};
  `);
  driver = newDriver(database.url);
});

afterAll(async () => {
  await driver?.close();
  await target.query(`drop owned by ${reader}; drop role ${reader}`).catch(() => {});
  await target.end();
  await database.drop();
});

function newDriver(url: string): Driver {
  const file = join(mkdtempSync(join(tmpdir(), 'svc-agent-')), 'agent.toml');
  writeFileSync(
    file,
    `[server]\nurl = "http://127.0.0.1:1"\nagent_token = "svc_test"\n[databases.shop.staging]\nurl = "${url}"\n`,
  );
  const config = loadAgentConfig(file, {});
  return createDriver(config.databases[0]!, config, defaultTimings);
}

const signal = new AbortController().signal;
const snapshot = () => driver.snapshot(30_000, signal);
const find = (tables: readonly SnapshotTable[], name: string) => tables.find((table) => table.name === name)!;

describe('the schema of a PostgreSQL target', () => {
  it('lists tables by schema and name, without partitions, views and temporary tables (AP-61, AP-63)', async () => {
    const { tables } = await snapshot();
    expect(tables.map((table) => `${table.schema_name}.${table.name}`)).toEqual([
      'audit.lines',
      'audit.log',
      'public.buyers',
      'public.events',
      'public.fresh',
      'public.notes',
      'public.orders',
      'public.uncounted',
      'secret.hidden',
    ]);
  });

  it('tells the applied versions of the tracking table that the path finds (MI-45)', async () => {
    const applied = async (one = driver) => (await one.snapshot(30_000, signal)).applied_versions;
    expect(await applied()).toEqual([]);
    await target.query(`create table schema_migrations (version text primary key);
      insert into schema_migrations values ('2'), ('1'), ('a secret; with blanks'), ('ä'), ('${'9'.repeat(256)}'), ('20260101-a.b')`);
    expect([...((await applied()) ?? [])].sort()).toEqual(['1', '2', '20260101-a.b']);
    const limited = newDriver(database.url.replace(/\/\/[^@]*@/, `//${reader}:reader@`));
    try {
      expect(await applied(limited)).toBeNull();
      await target.query(`grant select (version) on schema_migrations to ${reader}`);
      expect(await applied(limited)).toHaveLength(3);
      // What a view shows may be other data, and it may fail.
      await target.query(`alter table schema_migrations rename to kept;
        create view schema_migrations as select (1 / (length(email) - length(email)))::text as version from buyers;
        grant select on schema_migrations to ${reader}`);
      expect([await applied(), await applied(limited)]).toEqual([null, null]);
      await target.query('drop view schema_migrations; create table schema_migrations (number int)');
      expect(await applied()).toBeNull();
      await target.query('drop table schema_migrations; alter table kept rename to schema_migrations');
      await target.query('alter table schema_migrations alter version type varchar(300)');
      await target.query(`insert into schema_migrations select n::text from generate_series(1, 10001) n on conflict do nothing`);
      expect(await applied()).toBeNull();
    } finally {
      await limited.close();
      await target.query('drop table schema_migrations');
    }
  });

  it('estimates rows, of a partitioned table as the sum of its leaves; -1 is unknown (AP-62, AP-63)', async () => {
    const { tables } = await snapshot();
    const rows = Object.fromEntries(tables.map((table) => [table.name, table.estimated_rows]));
    expect(rows).toMatchObject({ buyers: 7, events: 42, fresh: 0, uncounted: -1, log: -1 });
  });

  it('tells columns in order with type, null, default and key; generated ones have no default (AP-63)', async () => {
    expect(find((await snapshot()).tables, 'buyers').columns).toEqual([
      column('id', 'bigint', { nullable: false, default_value: "nextval('buyers_id_seq'::regclass)", is_primary_key: true }),
      column('email', 'character varying(200)', { nullable: false }),
      column('Odd Name', 'text', { default_value: "'it''s'::text" }),
      column('lower_email', 'text'),
      column('number', 'integer', { nullable: false }),
    ]);
  });

  it('tells constraints with their columns in key order and what a foreign key does on delete (AP-62)', async () => {
    const { tables } = await snapshot();
    expect(find(tables, 'orders').constraints).toEqual([
      foreignKey('f2', 'helper', 'SET_NULL'),
      foreignKey('f3', 'second', 'RESTRICT'),
      foreignKey('f4', 'third', 'SET_DEFAULT'),
      foreignKey('f5', 'fourth', 'NO_ACTION'),
      foreignKey('orders_buyer_fkey', 'buyer', 'CASCADE'),
      constraint('orders_pkey', 'primary_key', ['number', 'shop']),
      constraint('orders_shop_number_key', 'unique', ['shop', 'number']),
    ]);
    expect(find(tables, 'lines').constraints[0]).toEqual({
      ...constraint('lines_order', 'foreign_key', ['order_shop', 'order_number']),
      referenced_table: 'orders',
      referenced_schema: 'public',
      referenced_columns: ['shop', 'number'],
      on_delete: 'NO_ACTION',
      on_update: 'NO_ACTION',
    });
    expect(find(tables, 'buyers').constraints.map(({ name, constraint_type: type }) => [name, type])).toEqual([
      ['buyers_email_key', 'unique'],
      ['buyers_pkey', 'primary_key'],
      ['short', 'check'],
    ]);
    expect(find(tables, 'buyers').constraints[2]!.columns.toSorted()).toEqual(['email', 'number']);
  });

  it('tells a foreign key to a partitioned table once', async () => {
    const { constraints } = find((await snapshot()).tables, 'notes');
    expect(constraints).toHaveLength(1);
    expect(constraints[0]).toMatchObject({ referenced_table: 'events', on_delete: 'CASCADE', columns: ['event', 'day'] });
  });

  it('tells a foreign key of partitions alone, or to a partition, of its table once: a delete goes through it (AP-63, SQ-94)', async () => {
    const other = await connectEmptyDatabase();
    await other.client.query(`
      create table customers (id int primary key);
      create table orders (id int, customer int, day date) partition by list (day);
      create table orders_1 partition of orders for values in ('2026-01-01');
      create table orders_2 partition of orders for values in ('2026-01-02') partition by list (customer);
      create table orders_2a partition of orders_2 for values in (1);
      alter table orders_1 add constraint a foreign key (customer) references customers on delete cascade;
      alter table orders_2a add constraint b foreign key (customer) references customers on delete cascade;
      alter table orders_1 add constraint one unique (id);
      create table notes (of_order int references orders_1 (id) on delete cascade);
    `);
    const own = newDriver(other.database.url);
    try {
      const { tables } = await own.snapshot(30_000, signal);
      const cascadeOf = indexCascades({ tables });
      const lost = (name: string) => cascadeOf(find(tables, name)).children.map(({ table }) => table.name);
      expect([lost('customers'), lost('orders')]).toEqual([['notes', 'orders'], ['notes']]);
      expect(find(tables, 'orders').constraints).toMatchObject([
        { name: 'a', columns: ['customer'], referenced_table: 'customers' },
      ]);
      await other.client.query(
        `insert into customers values (1); insert into orders values (1, 1, '2026-01-01'); insert into notes values (1)`,
      );
      await other.client.query('delete from customers where id = 1');
      expect((await other.client.query('select of_order from notes')).rows).toEqual([]);
    } finally {
      await own.close();
      await other.client.end();
      await other.database.drop();
    }
  });

  it('does not tell what runs with a write that a foreign key carries on into a schema that it may not use, or a partition to another server: unknown (HD-21, SQ-I7)', async () => {
    const other = await connectEmptyDatabase();
    const role = `writer_${process.pid}`;
    await other.client.query(`
      create role ${role} login password 'x';
      create schema billing;
      create table customers (id int primary key);
      create table plain (id int primary key);
      create table billing.invoices (customer int references customers on delete cascade, plain int references plain);
      create function billing.note() returns trigger language plpgsql as 'begin return old; end';
      create trigger notes before delete on billing.invoices for each row execute function billing.note();
      grant all on customers, plain to ${role};
      insert into customers values (1);
      insert into billing.invoices values (1);
      create table spread (id int, place int) partition by list (place);
      create table spread_here partition of spread for values in (1);
      create foreign data wrapper none;
      create server elsewhere foreign data wrapper none;
      create foreign table spread_there partition of spread for values in (2) server elsewhere;
      grant all on spread to ${role};
      analyze customers, plain, spread_here;
    `);
    const url = Object.assign(new URL(other.database.url), { username: role, password: 'x' }).href;
    const own = newDriver(url);
    const sql = await createSqlClassifier();
    try {
      const snapshot = await own.snapshot(30_000, signal);
      const riskOf = async (text: string) => {
        const verdict = await sql.classify(text, { dialect: 'postgresql', statementTimeoutSecs: 30 });
        if (verdict.verdict !== 'accepted') throw new Error(text);
        return assessRisk({ ...passing, facts: verdict.facts, snapshot }).factors;
      };
      expect(snapshot.tables.map(({ name }) => name)).toEqual(['customers', 'plain', 'spread']);
      expect(await riskOf('delete from customers where id = 1')).toEqual([{ name: 'schema_incomplete' }]);
      expect(await riskOf('insert into spread values (1, 2)')).toEqual([{ name: 'schema_incomplete' }]);
      expect(await riskOf('delete from plain where id = 1')).toEqual([]);
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query('delete from customers where id = 1');
      await client.end();
      expect((await other.client.query('select from billing.invoices')).rowCount).toBe(0);
    } finally {
      await sql.close();
      await own.close();
      await other.client.end();
      await other.database.drop();
      await target.query(`drop role ${role}`);
    }
  });

  it('tells indexes with key columns in order, expressions as their text, included columns left out (AP-63)', async () => {
    expect(find((await snapshot()).tables, 'buyers').indexes).toEqual([
      { name: 'buyers_email_key', columns: ['email'], is_unique: true, index_type: 'btree' },
      { name: 'buyers_lower', columns: ['lower(email::text)', 'number'], is_unique: false, index_type: 'btree' },
      { name: 'buyers_odd', columns: ['Odd Name'], is_unique: false, index_type: 'hash' },
      { name: 'buyers_pkey', columns: ['id'], is_unique: true, index_type: 'btree' },
    ]);
  });

  it('leaves out schemas that the role may not use (AP-63)', async () => {
    const narrow = newDriver(Object.assign(new URL(database.url), { username: reader, password: 'reader' }).href);
    try {
      const { tables } = await narrow.snapshot(30_000, signal);
      expect(new Set(tables.map((table) => table.schema_name))).toEqual(new Set(['audit', 'public']));
      expect(find(tables, 'buyers').columns).toHaveLength(5);
    } finally {
      await narrow.close();
    }
  });

  it('AP-65: gives up a schema of more text than the agent can hold, instead of ending with all of its jobs', async () => {
    // The server keeps such text compressed, in a hundredth of its size.
    const tables = ['one', 'two', 'three', 'four', 'five'].map((name) => `large_${name}`);
    await target.query(
      `do $$ begin ${tables.map((name) => `execute format('create table ${name} (a text default %L)', repeat('x', 15000000));`).join(' ')} end $$`,
    );
    try {
      await expect(snapshot()).rejects.toBeInstanceOf(SnapshotTooLarge);
    } finally {
      await target.query(`drop table ${tables.join(', ')}`);
    }
    expect((await snapshot()).tables).toHaveLength(9);
  });

  it('ends at its timeout and at a stop, and leaves no transaction behind (AP-61)', async () => {
    await target.query('begin; lock table pg_attrdef in access exclusive mode');
    await expect(driver.snapshot(50, signal)).rejects.toMatchObject({ code: '57014' });
    const stop = new AbortController();
    const running = driver.snapshot(30_000, stop.signal);
    setTimeout(() => stop.abort(), 50);
    await expect(running).rejects.toBeInstanceOf(Interrupted);
    await target.query('rollback');
    expect((await snapshot()).tables).toHaveLength(9);
    const busy = `select 1 from pg_stat_activity where datname = current_database() and application_name = 'svc-agent' and state <> 'idle'`;
    await eventually(async () => (await target.query(busy)).rows.length === 0);
  });
});

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

const foreignKey = (name: string, columnName: string, action: string) => ({
  ...constraint(name, 'foreign_key', [columnName]),
  referenced_table: 'buyers',
  referenced_columns: ['id'],
  on_delete: action,
  on_update: 'NO_ACTION',
  referenced_schema: 'public',
});
