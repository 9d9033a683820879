import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { migrationLockName } from '../../../agent/drivers/mysql/migrations.js';
import { bundleOf, dataOf, tableFiles } from '../../support/migration-bench.js';
import { findMysql, withMysql } from '../../support/mysql.js';
import { type MysqlMigrationBench, startMysqlMigrationBench } from '../../support/mysql-migrations.js';
import { eventually } from '../../support/processes.js';

const server = await findMysql(import.meta.url);

it('MI-31: the name of the lock that excludes other migrations', () => {
  expect(migrationLockName('shop')).toBe('svc-migr:dbb2a25ef76e9c6bc5805776316f60de');
});

describe.skipIf(server === null)('migrations on MySQL', () => {
  let bench: MysqlMigrationBench;
  beforeAll(async () => {
    bench = await startMysqlMigrationBench(server!, 2);
  });
  beforeEach(() => bench.clear());
  afterAll(() => bench?.close());

  const status = async () => dataOf(await bench.run('migrate_status', ''));

  it('MI-32, MI-I3: applies what is not applied, in its order; again it does nothing', async () => {
    expect(dataOf(await bench.up(tableFiles(2)))).toEqual({ applied: ['v1', 'v2'] });
    expect(await bench.tables()).toEqual(['t1', 't2']);
    const late = [{ version: 'v0', up: 'create table t0 (id int)' }, ...tableFiles(4)];
    expect(dataOf(await bench.up(late, 2))).toEqual({ applied: ['v0', 'v3'], out_of_order: ['v0'] });
    expect(dataOf(await bench.up(late))).toEqual({ applied: ['v4'] });
    expect(await bench.up(late)).toMatchObject({ success: true, outcome: 'committed', result_data: '{"applied":[]}' });
    expect(await status()).toEqual({ applied_versions: ['v0', 'v1', 'v2', 'v3', 'v4'] });
  });

  it('MI-33, MI-I2, MI-I4: reverts the highest, or nothing when one has no down part', async () => {
    await bench.up(tableFiles(4));
    expect(dataOf(await bench.down(tableFiles(4), 2))).toEqual({ reverted: ['v4', 'v3'] });
    expect(await bench.tables()).toEqual(['t1', 't2']);
    const refused = await bench.down(tableFiles(1), 1);
    expect(refused).toMatchObject({ outcome: 'not_started' });
    expect(refused.error_message).toContain('cannot revert v2: no down part in the request');
    expect(dataOf(await bench.down(tableFiles(4), 9))).toEqual({ reverted: ['v2', 'v1'] });
    expect(await bench.tables()).toEqual([]);
  });

  it('MI-20, MI-I3: a column of numbers that keeps 001 as 1 ends the run: the migration would run again', async () => {
    await bench.root.query('create table schema_migrations (version int primary key)');
    await bench.root.query('create table t1 (id int)');
    const rowsOnly = await bench.up([{ version: '001', up: 'insert into t1 values (7)' }]);
    expect(rowsOnly).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect(rowsOnly.error_message).toContain('the tracking table keeps the version as something else');
    const auto = await bench.up([{ version: '001', up: 'create table t2 (id int)' }]);
    expect(auto).toMatchObject({ success: false, outcome: 'partial' });
    expect(auto.error_message).toContain('migration partially applied (version 001): the tracking table keeps the version as');
    expect(await bench.repair('mark_applied', '001')).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect([await bench.column('select id from t1'), await bench.versions()]).toEqual([[], []]);
    expect(dataOf(await bench.up([{ version: '7', up: 'insert into t1 values (7)' }]))).toEqual({ applied: ['7'] });
  });

  it('MI-20, MI-21: the tracking table is InnoDB, and no status makes it', async () => {
    expect(await status()).toEqual({ applied_versions: [] });
    expect(
      await bench.value(
        `select count(*) from information_schema.tables where table_schema = database() and table_name = 'schema_migrations'`,
      ),
    ).toBe(0);
    await bench.up(tableFiles(1));
    const told = await bench.column(
      `select concat_ws(' ', engine, column_type, column_key) from information_schema.tables join information_schema.columns using (table_schema, table_name)
       where table_schema = database() and table_name = 'schema_migrations'`,
    );
    expect(told).toEqual(['InnoDB varchar(255) PRI']);
  });

  it('MI-20, MI-22: a table of another tool is used as it is, and versions are compared by bytes', async () => {
    await bench.root.query(
      `create table schema_migrations (version varchar(100) collate latin1_swedish_ci, at timestamp default current_timestamp, note text) character set latin1;
       insert into schema_migrations (version, note) values ('A1', 'kept'), (null, 'odd')`,
    );
    expect(await status()).toEqual({ applied_versions: ['A1'] });
    const files = ['A1', 'B', 'a1'].map((version, n) => ({
      version,
      up: `create table t${n} (id int)`,
      down: `drop table t${n}`,
    }));
    expect(dataOf(await bench.up(files))).toEqual({ applied: ['B', 'a1'] });
    expect(dataOf(await bench.down(files, 1))).toEqual({ reverted: ['a1'] });
    expect(
      await bench.column("select coalesce(concat(version, '/', coalesce(note, '-')), 'none') from schema_migrations order by 1"),
    ).toEqual([...['A1/kept', 'B/-', 'none']]);
    await bench.root.query('drop table schema_migrations; create table schema_migrations (id int)');
    const unusable = await bench.up(files);
    expect(unusable).toMatchObject({ success: false, outcome: 'not_started' });
    expect(unusable.error_message).toContain('schema_migrations has no column version');
  });

  it.each([
    ['dirty', 'version bigint primary key, dirty boolean not null default false'],
    ['installed_by', 'version varchar(50) primary key, note text, installed_by text not null'],
  ])('MI-20: refuses a table of another tool, by its column %s', async (column, columns) => {
    await bench.root.query(`create table schema_migrations (${columns})`);
    const result = await bench.up(tableFiles(1));
    expect(result).toMatchObject({ success: false, outcome: 'not_started' });
    expect(result.error_message).toBe(
      `migration error: the table \`${bench.database.name}\`.schema_migrations belongs to another tool: the agent has no value for its column ${column}`,
    );
    expect(await bench.tables()).toEqual([]);
  });

  it('MI-20: uses a table whose other columns get their values by themselves', async () => {
    await bench.root.query(`create table schema_migrations (Version varchar(50) primary key, id int not null auto_increment unique,
      at timestamp not null default current_timestamp, kind text not null default 'x',
      size int as (length(Version)) stored, since timestamp(6) generated always as row start,
      till timestamp(6) generated always as row end, period for system_time (since, till)) engine = InnoDB with system versioning`);
    expect(dataOf(await bench.up(tableFiles(1)))).toEqual({ applied: ['v1'] });
  });

  it('MI-39: changes of rows on InnoDB are all or nothing, whichever statement fails', async () => {
    await bench.root.query('create table parts (id int primary key)');
    const good = [
      'insert into parts values (1)',
      'update parts set id = id + 10',
      'replace into parts values (3)',
      'with all_parts as (select * from parts) (select * from all_parts)',
    ];
    for (let at = 0; at <= good.length; at++) {
      const up = good.toSpliced(at, 0, 'insert into parts values (7), (7)').join(';\n');
      const requestId = randomUUID();
      const failed = await bench.up([{ version: 'v1', up }], null, { requestId });
      expect(failed).toMatchObject({ success: false, outcome: 'rolled_back' });
      expect(failed.error_message).toMatch(new RegExp(`^migration error: version v1, statement ${at + 1} of 5: Duplicate entry`));
      expect([await bench.column('select id from parts'), await bench.versions()]).toEqual([[], []]);
      expect(await bench.markers(requestId)).toEqual([]);
    }
    const requestId = randomUUID();
    expect(await bench.up([{ version: 'v1', up: good.join(';') }], null, { requestId })).toMatchObject({ success: true });
    expect(await bench.column('select id from parts order by id')).toEqual(['3', '11']);
    expect(await bench.markers(requestId)).toEqual(['v1 tx done 1']);
  });

  it('MI-39: a failure tells which statements stay, whichever fails; done by hand and repaired, the next run goes on', async () => {
    const good = [
      'create table a1 (id int)',
      'insert into a1 values (1)',
      'alter table a1 add b int',
      'create table a2 (id int)',
    ];
    const files = (at: number) => [
      { version: 'v1', up: 'create table before_it (id int)' },
      { version: 'v2', up: good.toSpliced(at, 0, 'alter table nowhere add c int').join(';\n') },
      ...tableFiles(3).slice(2),
    ];
    for (let at = 0; at <= good.length; at++) {
      await bench.clear();
      const requestId = randomUUID();
      const failed = await bench.up(files(at), null, { requestId });
      expect(failed).toMatchObject({ success: false, outcome: 'partial', cancelled: false });
      const stays = `; statement ${at + 1} of 5 failed; the first ${at} are applied and stay`;
      expect(failed.error_message).toMatch(/^version v2: Table .*nowhere' doesn't exist \(error 1146, SQLSTATE 42S02\)/);
      expect(failed.error_message?.endsWith(stays)).toBe(at > 0);
      expect(dataOf(failed)).toEqual({ applied_before_failure: ['v1'], failed_version: 'v2', error: failed.error_message });
      expect(await bench.tables()).toEqual([...(at > 0 ? ['a1'] : []), ...(at > 3 ? ['a2'] : []), 'before_it']);
      expect(await bench.markers(requestId)).toEqual(['v1 auto done 1', ...(at > 0 ? ['v2 auto open 1'] : [])]);
      for (const statement of good.slice(at)) await bench.root.query(statement);
      expect(dataOf(await bench.repair('mark_applied', 'v2'))).toEqual({
        repaired: 'mark_applied',
        version: 'v2',
        changed: true,
      });
      expect(dataOf(await bench.up(files(at)))).toEqual({ applied: ['v3'] });
    }
  });

  it('MI-39: the first statement that fails alone leaves nothing, and the next run does it all', async () => {
    const requestId = randomUUID();
    const failed = await bench.up([{ version: 'v1', up: 'create table t1 (id int, id int); create table t2 (id int)' }], null, {
      requestId,
    });
    expect(failed).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect([await bench.tables(), await bench.versions(), await bench.markers(requestId)]).toEqual([[], [], []]);
    expect(await bench.up(tableFiles(2))).toMatchObject({ success: true });
  });

  it('MI-39: what a failed statement leaves in tables without transactions, of a list of drops or of a procedure is partial', async () => {
    await bench.root.query(`create table old (id int primary key) engine = MyISAM; create table gone (id int);
      create procedure half() begin insert into old values (50); signal sqlstate '45000' set message_text = 'stop'; end`);
    const half = await bench.up([{ version: 'v1', up: 'insert into old values (1), (2), (1)' }]);
    expect(half.outcome).toBe('partial');
    expect(half.error_message).toContain('changes in tables without transactions stay');
    const dropped = await bench.up([{ version: 'v2', up: 'drop table gone, nowhere' }]);
    expect([dropped.outcome, await bench.tables()]).toEqual(['partial', ['old']]);
    expect((await bench.up([{ version: 'v3', up: 'call half()' }])).outcome).toBe('partial');
    expect(await bench.column('select id from old order by id')).toEqual(['1', '2', '50']);
    expect(await bench.versions()).toEqual([]);
    await bench.root.query('drop procedure half');
  });

  it.each([
    ['table', 'create or replace table old (id int primary key) as select 1 as id union all select 1'],
    ['table under a setting', 'set statement max_statement_time = 0.1 for create or replace table old as select sleep(5) as id'],
    ['sequence', 'create or replace sequence old engine = csv'],
  ])('MI-39: a %s that OR REPLACE took away before it failed is partial', async (what, up) => {
    await bench.root.query(what === 'sequence' ? 'create sequence old' : 'create table old (id int primary key)');
    const failed = await bench.up([{ version: 'v1', up }]);
    expect([failed.outcome, await bench.tables()]).toEqual(['partial', []]);
    expect(failed.error_message).toContain('what the statement had done before that stays');
  });

  it.each([
    ['create user half1, half1', 'partial'],
    ['create role half1, half1', 'partial'],
    ["alter user half1 identified by 'a', half2 identified by 'b'", 'partial'],
    ['rename user half1 to half3, half2 to half4', 'partial'],
    ['grant half0 to half1, half2', 'partial'],
    ['grant select on *.* to half1, half2', 'partial'],
    ['grant select, insert on *.* to half2', 'rolled_back'],
    ['revoke select on *.* from half1, half2', 'partial'],
  ])('MI-39: a failed "%s" is %s, as MariaDB changes one account after the other', async (up, outcome) => {
    const { root } = bench;
    const writer = new URL(bench.database.url).username;
    try {
      await root.query(
        `grant all on *.* to '${writer}'@'%' with grant option; create role half0; grant half0 to '${writer}'@'%' with admin option`,
      );
      if (!up.startsWith('create')) await root.query('create user half1; grant select on *.* to half1');
      const failed = await bench.up([{ version: 'v1', up }]);
      expect(failed.outcome).toBe(outcome);
    } finally {
      await root.query(`revoke all privileges on *.* from '${writer}'@'%'; revoke grant option on *.* from '${writer}'@'%'`);
      await root.query('drop user if exists half1, half2, half3; drop role if exists half0, half1');
    }
  });

  it('C8: a statement that fails in a row of its answer, not by an error, is no success', async () => {
    for (const verb of ['analyze', 'optimize', 'check', 'repair']) {
      const failed = await bench.up([{ version: 'v1', up: `${verb} table nowhere` }]);
      expect(failed).toMatchObject({ success: false, outcome: 'rolled_back' });
      expect(failed.error_message).toContain("nowhere' doesn't exist");
      expect(await bench.versions()).toEqual([]);
    }
  });

  it.each(['analyze', 'optimize', 'check', 'repair'])('C8: the same for ALTER TABLE … %s PARTITION', async (verb) => {
    await bench.root.query('create table parted (id int primary key) engine = InnoDB partition by hash (id) partitions 2');
    const failed = await bench.up([{ version: 'v1', up: `alter table parted ${verb} partition p9` }]);
    expect(failed).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect(await bench.up([{ version: 'v1', up: `alter table parted ${verb} partition p0` }])).toMatchObject({ success: true });
  });

  it('C8: a DO that fails is no success, though the server says so', async () => {
    await bench.root.query(`create table parts (id int primary key) engine = InnoDB;
      create function fills() returns int begin insert into parts values (1), (2), (1); return 1; end`);
    for (const up of ['do fills()', 'set statement max_statement_time = 50 for do fills()', 'do (select 1 union select 2)']) {
      const failed = await bench.up([{ version: 'v1', up }]);
      expect(failed).toMatchObject({ success: false, outcome: 'rolled_back' });
      expect(failed.error_message).toMatch(/\(error (1062|1242)\)/);
    }
    expect([await bench.column('select id from parts'), await bench.versions()]).toEqual([[], []]);
    const quietly = await bench.up([{ version: 'v1', up: 'set max_error_count = 0; do fills()' }]);
    expect(quietly).toMatchObject({ outcome: 'partial', error_message: expect.stringContaining('(error 1062)') });
    expect(dataOf(await bench.up([{ version: 'v1', up: 'do 1 / 0, 1' }]))).toEqual({ applied: ['v1'] });
    await bench.root.query('drop function fills');
  });

  it('MI-39, AP-I5: what a function wrote for a table that then was not made is partial, as MariaDB commits it', async () => {
    await bench.root.query(`create table parts (id int primary key auto_increment) engine = InnoDB;
      create function adds() returns int begin insert into parts values (); return 7; end`);
    const twice = '(select 1 union all select 2) as two';
    const failed = await bench.up([
      { version: 'v1', up: `create table t1 (id int primary key) as select adds() as id from ${twice}` },
    ]);
    expect([failed.outcome, await bench.tables()]).toEqual(['partial', ['parts']]);
    const plain = `create table t1 (id int primary key) (select abs(7) as id from ${twice})`;
    expect((await bench.up([{ version: 'v2', up: plain }])).outcome).toBe('rolled_back');
    await bench.root.query('drop function adds');
  });

  it('MI-40: a version row that cannot be written is told, with the way to set it right', async () => {
    const files = [{ version: 'v1', up: "create table t1 (id int); insert into schema_migrations values ('v1')" }];
    const failed = await bench.up(files);
    expect(failed).toMatchObject({ success: false, outcome: 'partial' });
    expect(failed.error_message).toMatch(
      /^migration partially applied \(version v1\): .*Duplicate.*; to set it right: svc migrate repair --action mark-applied --version v1 --emergency --reason WHY$/,
    );
    const alone = await bench.up([{ version: 'v2', up: "insert into schema_migrations values ('v2')" }]);
    expect(alone).toMatchObject({ outcome: 'rolled_back' });
    expect(await bench.versions()).toEqual(['v1']);
    await bench.up([{ version: 'v3', up: 'create table t3 (id int)' }]);
    const lost = await bench.down(
      [{ version: 'v3', up: '', down: "drop table t3; delete from schema_migrations where version = 'v3'" }],
      1,
    );
    expect(lost.error_message).toMatch(
      /0 version rows were changed instead of one; .*--action remove --version v3 --emergency --reason WHY$/,
    );
  });

  it('MI-39: what a migration sets does not keep its version row from being written', async () => {
    const files = [{ version: 'v1', up: 'set session sql_select_limit = 0; create table t1 (id int)' }];
    expect(dataOf(await bench.up(files))).toEqual({ applied: ['v1'] });
    expect(await bench.versions()).toEqual(['v1']);
  });

  it('MI-36: settings, variables, temporary tables and USE of one migration do not reach the next', async () => {
    const leave = `set foreign_key_checks = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO', @left = 1, time_zone = '+05:00', max_statement_time = 7; set timestamp = 5;
      create temporary table scratch (id int); create procedure sets() begin set session unique_checks = 0; set @deep = 2; end; call sets(); use information_schema`;
    const read = `create table seen as select @@foreign_key_checks fk, @@unique_checks uk, @@time_zone tz, @left l, year(now()) > 2000 y, database() d, @@sql_mode like '%NO_AUTO_VALUE%' a`;
    const other = { version: 'v3', up: 'insert into scratch values (1)' };
    const files = [{ version: 'v1', up: leave }, { version: 'v2', up: read }, other];
    const result = await bench.up(files, null, { statementTimeoutSecs: 50 });
    expect(dataOf(result)).toMatchObject({ applied_before_failure: ['v1', 'v2'], failed_version: 'v3' });
    expect(result.error_message).toContain("scratch' doesn't exist");
    expect((await bench.root.query('select * from seen'))[0]).toEqual([[1, 1, '+00:00', null, 1, bench.database.name, 0]]);
    await bench.root.query('drop procedure sets');
    expect(dataOf(await bench.up([...files.slice(0, 2), { version: 'v4', up: 'use information_schema' }]))).toEqual({
      applied: ['v4'],
    });
    expect(await status()).toEqual({ applied_versions: ['v1', 'v2', 'v4'] });
    expect(dataOf(await bench.up([{ version: 'v5', up: 'create table t5 (id int)' }]))).toMatchObject({ applied: ['v5'] });
  });

  it('MI-31, MI-I5: takes its turn behind whoever holds the lock, or gives up having done nothing', async () => {
    const lock = migrationLockName(bench.database.name);
    await withMysql(bench.database.adminUrl, async (holder) => {
      await holder.query('select get_lock(?, 0)', [lock]);
      expect(await bench.up(tableFiles(1))).toMatchObject({
        success: false,
        outcome: 'not_started',
        error_message: 'migration error: another migration holds the lock',
      });
      expect(await bench.tables()).toEqual([]);
      expect(await status()).toEqual({ applied_versions: [] });
      const waiting = bench.up(tableFiles(1));
      await holder.query('select sleep(0.3)');
      await holder.query('select release_lock(?)', [lock]);
      expect(await waiting).toMatchObject({ success: true });
    });
    await eventually(async () => (await bench.value('select is_free_lock(?)', [lock])) === 1);
  });

  it('MI-42: repair changes only the version row, and says whether it did', async () => {
    expect(dataOf(await bench.repair('remove', 'v1'))).toEqual({ repaired: 'remove', version: 'v1', changed: false });
    expect(dataOf(await bench.repair('mark_applied', 'v1'))).toEqual({ repaired: 'mark_applied', version: 'v1', changed: true });
    expect(dataOf(await bench.repair('mark_applied', 'v1'))).toEqual({ repaired: 'mark_applied', version: 'v1', changed: false });
    expect(dataOf(await bench.up(tableFiles(2)))).toEqual({ applied: ['v2'] });
    expect(dataOf(await bench.repair('remove', 'v2'))).toEqual({ repaired: 'remove', version: 'v2', changed: true });
    expect([await bench.versions(), await bench.tables()]).toEqual([['v1'], ['t2']]);
  });

  it('AP-65, MI-43: the schema is synced after a run and after a partial one', async () => {
    const seen = (table: string) =>
      eventually(() => JSON.stringify(bench.gateway.schemaSyncs.at(-1)?.snapshot ?? '').includes(`"name":"${table}"`));
    await bench.up(tableFiles(1));
    await seen('t1');
    await bench.up([{ version: 'w', up: 'create table half_way (id int); alter table nowhere add b int' }]);
    await seen('half_way');
  });

  it('AP-22: what may not stand in a migration is refused before anything is done', async () => {
    for (const up of [
      'create table t1 (id int); commit',
      'lock tables t1 write',
      'create table t1 (id int) /*! engine = Aria */',
    ]) {
      const refused = await bench.run('migrate_up', bundleOf('up', [{ version: 'v1', up }]));
      expect(refused).toMatchObject({ success: false, outcome: 'not_started' });
      expect(refused.error_message).toMatch(/^refused: /);
    }
    expect(await bench.tables()).toEqual([]);
  });
});
