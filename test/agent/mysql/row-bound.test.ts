import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findMysql } from '../../support/mysql.js';
import { type MysqlBench, startMysqlBench } from '../../support/mysql-agent.js';

const numbers = (upTo: number) =>
  `with recursive up (i) as (select 1 union all select i + 1 from up where i < ${upTo}) select i from up`;
const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('a write on MySQL that passed by risk changes no more rows than it may (HD-25)', () => {
  let bench: MysqlBench;
  beforeAll(async () => {
    bench = await startMysqlBench(server!);
  });
  beforeEach(async () => {
    await bench.root.query(`
      drop table if exists pieces, parts, plain;
      create table parts (id int primary key, qty int) engine = InnoDB;
      insert into parts select i, 1 from (${numbers(500)}) n;
    `);
  });
  afterAll(() => bench?.close());

  const run = async (detail: string, maxAffectedRows: number | null = 100) => {
    const {
      success,
      outcome,
      error_message: error,
      rows_affected: rows,
    } = await bench.run('execute_dml', detail, { maxAffectedRows });
    return { success, outcome, error: error ?? null, rows: rows ?? null };
  };
  const tooMany = (rows: number) => ({
    success: false,
    outcome: 'rolled_back',
    rows: null,
    error: `would have changed ${rows} rows, 100 may pass without approval`,
  });
  const done = (rows: number) => ({ success: true, outcome: 'committed', error: null, rows });
  const changed = () => bench.value('select count(*) from parts where qty <> 1');

  it('counts the rows that it finds, over all statements', async () => {
    expect(await run('update parts set qty = 0 where id > 0')).toEqual(tooMany(500));
    expect(await run('update parts set qty = 0 where id <= 60; update parts set qty = 2 where id <= 41')).toEqual(tooMany(101));
    expect(await run('insert into parts select id + 1000, 0 from parts where id <= 101')).toEqual(tooMany(101));
    expect(await run('delete from parts where id <= 101')).toEqual(tooMany(101));
    expect(await run('replace into parts select id, 0 from parts where id <= 51')).toEqual(tooMany(102));
    expect(await run('insert into parts select id, 9 from parts where id <= 51 on duplicate key update qty = 9')).toEqual(
      tooMany(102),
    );
    expect([await changed(), await bench.value('select count(*) from parts')]).toEqual([0, 500]);
    expect(await run('update parts set qty = 0 where id <= 100')).toEqual(done(100));
    // Found, though not changed.
    expect(await run('update parts set qty = 0 where id <= 101')).toEqual(tooMany(101));
    expect(await run('update parts set qty = 0 where id > 0', null)).toEqual(done(500));
  });

  it('counts what cascades and triggers change beside them, and without the right to it nothing stays', async () => {
    await bench.root.query(`
      create table pieces (part int, foreign key (part) references parts (id) on delete cascade) engine = InnoDB;
      insert into pieces select 7 from (${numbers(150)}) n;
    `);
    const uncounted = {
      success: false,
      outcome: 'rolled_back',
      rows: null,
      error: 'rows that triggers and foreign keys change cannot be counted: the role of the agent lacks the right PROCESS',
    };
    expect(await run('delete from parts where id = 7')).toEqual(uncounted);
    expect(await run('delete from pieces where part = 8')).toEqual(done(0));
    const user = new URL(bench.database.url).username;
    await bench.root.query(`grant process on *.* to '${user}'@'%'`);
    // A connection keeps the rights that it began with.
    const [open] = await bench.root.query('select id from information_schema.processlist where user = ?', [user]);
    for (const [id] of open as unknown as number[][]) await bench.root.query(`kill ${id}`).catch(() => {});
    expect(await run('delete from parts where id = 7')).toEqual(tooMany(151));
    expect(await run('delete from parts where id = 8')).toEqual(done(1));
    await bench.root.query(
      `create trigger more after update on parts for each row insert into pieces select 7 from (${numbers(120)}) n`,
    );
    expect(await run('update parts set qty = 2 where id = 9')).toEqual(tooMany(121));
    expect([await changed(), await bench.value('select count(*) from pieces')]).toEqual([0, 150]);
    await bench.root.query(`revoke process on *.* from '${user}'@'%'`);
  });

  it('does not begin what commits by itself: DDL, and rows where a table takes nothing back', async () => {
    const refused = {
      success: false,
      outcome: 'not_started',
      rows: null,
      error: 'refused: what cannot run in a transaction does not pass without approval',
    };
    expect(await run('create table further (id int)')).toEqual(refused);
    await bench.root.query('create table plain (id int) engine = MyISAM');
    expect(await run('update parts set qty = 0 where id = 1')).toEqual(refused);
    expect(await changed()).toBe(0);
  });

  it('tells in its snapshot which tables take nothing back', async () => {
    await bench.root.query('create table plain (id int) engine = MyISAM');
    await bench.run('execute_dml', 'alter table parts comment = "x"');
    await expect
      .poll(
        () => {
          const { snapshot } = bench.gateway.schemaSyncs.at(-1) as {
            snapshot: { tables: { name: string; transactional?: boolean }[] };
          };
          return snapshot.tables.filter(({ transactional }) => transactional === false).map(({ name }) => name);
        },
        { timeout: 10_000 },
      )
      .toEqual(['plain']);
  });
});
