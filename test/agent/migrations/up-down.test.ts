import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  bundleOf,
  dataOf,
  type MigrationBench,
  type MigrationFile,
  startMigrationBench,
  tableFiles,
} from '../../support/migration-bench.js';
import { eventually } from '../../support/processes.js';

let bench: MigrationBench;

beforeAll(async () => {
  bench = await startMigrationBench();
});
beforeEach(() => bench.clear());
afterAll(() => bench.close());

describe('migrate_up on PostgreSQL', () => {
  it('MI-32, MI-40, MI-I3: applies what is pending in order, and nothing when it is sent again', async () => {
    const first = await bench.up(tableFiles(3), 2);
    expect(first).toMatchObject({ success: true, outcome: 'committed', result_data: '{"applied":["v1","v2"]}' });
    expect(await bench.versions()).toEqual(['v1', 'v2']);
    expect(dataOf(await bench.up(tableFiles(3)))).toEqual({ applied: ['v3'] });
    expect(await bench.up(tableFiles(3))).toMatchObject({ success: true, result_data: '{"applied":[]}' });
    expect(await bench.tables()).toEqual(['schema_migrations', 't1', 't2', 't3']);
  });

  it('MI-37: a migration of several statements is all or nothing, with its version row and its marker row', async () => {
    const [one, two] = tableFiles(2) as [MigrationFile, MigrationFile];
    const broken = {
      ...two,
      up: 'create table t2 (id int); insert into t2 values (1); insert into missing values (1); select 1',
    };
    const job = bench.offer('migrate_up', bundleOf('up', [one, broken]));
    const error = 'version v2, statement 3 of 4: relation "missing" does not exist (SQLSTATE 42P01, position 13)';
    expect(await job.result).toMatchObject({ success: false, outcome: 'partial', cancelled: false, error_message: error });
    expect(dataOf(await job.result)).toEqual({ applied_before_failure: ['v1'], failed_version: 'v2', error });
    expect(await bench.tables()).toEqual(['schema_migrations', 't1']);
    expect(await bench.versions()).toEqual(['v1']);
    expect(await bench.markers(job.requestId)).toEqual(['v1 tx done 1']);
    expect(dataOf(await bench.up(tableFiles(2)))).toEqual({ applied: ['v2'] });
  });

  it('MI-40: a first migration that fails leaves nothing, not even the tracking table', async () => {
    const result = await bench.up([{ version: 'v1', up: 'create table t1 (id int); select 1/0' }]);
    expect(result).toMatchObject({ success: false, outcome: 'rolled_back', cancelled: false });
    expect(result.error_message).toBe('migration error: version v1, statement 2 of 2: division by zero (SQLSTATE 22012)');
    expect(result.result_data).toBeUndefined();
    expect(await bench.tables()).toEqual([]);
  });

  it('MI-37: a constraint that fails at COMMIT rolls the migration back', async () => {
    const up = `create table a (id int primary key); create table b (a int references a deferrable initially deferred); insert into b values (1)`;
    const result = await bench.up([{ version: 'v1', up }]);
    expect(result).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect(result.error_message).toContain('SQLSTATE 23503');
    expect(await bench.tables()).toEqual([]);
  });

  it('MI-32: applies a version below the latest one, and says so', async () => {
    const [one, two, three] = tableFiles(3) as [MigrationFile, MigrationFile, MigrationFile];
    await bench.up([two]);
    expect(dataOf(await bench.up([one, two, three]))).toEqual({ applied: ['v1', 'v3'], out_of_order: ['v1'] });
  });

  it('MI-20, MI-36: settings of one migration reach neither the next one nor the tracking table', async () => {
    const up = `create schema elsewhere; create table elsewhere.schema_migrations (version text primary key);
      set search_path to elsewhere; set session lock_timeout = '7s'; create temp table leftover (id int)`;
    const next = `create table t2 as select current_setting('lock_timeout') as lock, current_setting('search_path') as path, to_regclass('leftover')::text as temp`;
    try {
      expect(
        await bench.up([
          { version: 'v1', up },
          { version: 'v2', up: next },
        ]),
      ).toMatchObject({ success: true });
      expect((await bench.target.query('select * from t2')).rows).toEqual([{ lock: '0', path: '"$user", public', temp: null }]);
      expect(await bench.versions()).toEqual(['v1', 'v2']);
      expect((await bench.target.query('select * from elsewhere.schema_migrations')).rows).toEqual([]);
    } finally {
      await bench.target.query('drop schema elsewhere cascade');
    }
  });

  it('HD-30, MI-36: each migration of a run begins with the session as it was connected', async () => {
    const role = `set_${Date.now()}`;
    const name = new URL(bench.url).pathname.slice(1);
    await bench.target.query(`
      create role ${role} superuser login password 'x';
      create role ${role}_used superuser;
      alter role ${role} set role ${role}_used;
      alter database ${name} set session_replication_role = replica`);
    const url = Object.assign(new URL(bench.url), { username: role, password: 'x' }).href;
    const own = await startMigrationBench({ through: () => url });
    const look = (version: string, table: string) => ({
      version,
      up: `create table ${table} as select current_user::text as who, current_setting('session_replication_role') as acts_as`,
    });
    try {
      expect(await own.up([look('v1', 't1'), look('v2', 't2')])).toMatchObject({ success: true });
      for (const table of ['t1', 't2']) {
        const { rows } = await bench.target.query(`select * from ${table}`);
        expect(rows).toEqual([{ who: `${role}_used`, acts_as: 'origin' }]);
      }
    } finally {
      await own.close();
      await bench.target.query(`alter database ${name} reset session_replication_role`);
      await bench.target.query(`drop owned by ${role}, ${role}_used cascade; drop role ${role}, ${role}_used`);
    }
  });

  it('MI-20: uses a table that is there as it is, and writes no other column', async () => {
    await bench.target.query(
      `create table schema_migrations (version varchar(20) primary key, at timestamptz default 'epoch'); insert into schema_migrations values ('v1')`,
    );
    expect(dataOf(await bench.up(tableFiles(2)))).toEqual({ applied: ['v2'] });
    expect((await bench.target.query("select version from schema_migrations where at = 'epoch' order by 1")).rows).toHaveLength(
      2,
    );
  });

  it('MI-20: refuses a table of that name without a column version', async () => {
    await bench.target.query('create table schema_migrations (id int)');
    const result = await bench.up(tableFiles(1));
    expect(result).toMatchObject({ success: false, outcome: 'not_started' });
    expect(result.error_message).toBe('migration error: the table public.schema_migrations has no column version');
  });

  it.each([
    ['dirty', 'version bigint primary key, dirty boolean not null default false'],
    ['installed_by', 'version text primary key, note text, installed_by text not null'],
    ['kind', 'version text primary key, kind must_be'],
  ])('MI-20: refuses a table of another tool, by its column %s', async (column, columns) => {
    await bench.target.query(
      `drop domain if exists must_be; create domain must_be as text not null; create table schema_migrations (${columns})`,
    );
    const result = await bench.up(tableFiles(1));
    expect(result).toMatchObject({ success: false, outcome: 'not_started' });
    expect(result.error_message).toBe(
      `migration error: the table public.schema_migrations belongs to another tool: the agent has no value for its column ${column}`,
    );
    expect(await bench.tables()).toEqual(['schema_migrations']);
  });

  it('MI-20, MI-I3: a column of numbers that keeps 001 as 1 ends the run: the migration would run again', async () => {
    await bench.target.query('create table schema_migrations (version int primary key); create table t1 (id int)');
    const why = 'the tracking table keeps the version as something else; its column must be of text';
    const file = { version: '001', up: 'insert into t1 values (7)' };
    expect(await bench.up([file])).toMatchObject({
      outcome: 'rolled_back',
      error_message: `migration error: version 001: ${why}`,
    });
    expect((await bench.target.query('select * from t1')).rows).toEqual([]);
    const outside = await bench.up([{ ...file, transactional: false }]);
    expect(outside).toMatchObject({ success: false, outcome: 'partial' });
    expect(outside.error_message).toContain(`migration partially applied (version 001): ${why}`);
    const repair = await bench.run('migrate_repair', '{"action":"mark_applied","version":"001"}');
    expect(repair).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect((await bench.target.query('select * from schema_migrations')).rows).toEqual([]);
    expect(dataOf(await bench.up([{ ...file, version: '20310101' }]))).toEqual({ applied: ['20310101'] });
    expect(dataOf(await bench.up([{ ...file, version: '20310101' }]))).toEqual({ applied: [] });
  });

  it('MI-20: uses a table whose other columns get their values by themselves', async () => {
    await bench.target.query(`create domain has_one as text default 'x'; create table schema_migrations (version text primary key,
      id int generated always as identity, number serial, at timestamptz not null default now(), kind has_one not null,
      long int not null generated always as (length(version)) stored)`);
    expect(dataOf(await bench.up(tableFiles(1)))).toEqual({ applied: ['v1'] });
  });

  it('MI-36: a statement has the time that the claim says, each of them', async () => {
    const up = 'select pg_sleep(1.1); select pg_sleep(1.1)';
    expect(await bench.up([{ version: 'v1', up }], null, { statementTimeoutSecs: 2 })).toMatchObject({ success: true });
    const late = await bench.up([{ version: 'v2', up: 'create table t2 (id int); select pg_sleep(30)' }], null, {
      statementTimeoutSecs: 1,
    });
    expect(late).toMatchObject({ success: false, outcome: 'rolled_back', cancelled: false });
    expect(late.error_message).toMatch(/^migration error: migration timed out \(version v2\): /);
    expect(await bench.tables()).toEqual(['schema_migrations']);
  });

  it('AP-23: a migration can lower its timeout but not raise it', async () => {
    const raised = await bench.up([{ version: 'v1', up: 'set local statement_timeout = 0; select pg_sleep(30)' }], null, {
      statementTimeoutSecs: 1,
    });
    expect(raised).toMatchObject({ success: false, outcome: 'rolled_back', cancelled: false });
    expect(raised.error_message).toContain('migration timed out (version v1)');
  });

  it('MI-43: the schema is synced after a success and after a part of one, and not after a failure that changed nothing', async () => {
    // An agent of its own, since what the test before has changed may still be on its way. It syncs when it starts.
    const own = await startMigrationBench();
    const synced = () => own.gateway.schemaSyncs.length;
    await eventually(() => synced() === 1);
    await own.up(tableFiles(1));
    await eventually(() => synced() === 2);
    await own.up([...tableFiles(2), { version: 'v3', up: 'select 1/0' }]);
    await eventually(() => synced() === 3);
    await own.up([{ version: 'v9', up: 'select 1/0' }]);
    await own.run('migrate_status', '');
    expect(synced()).toBe(3);
    await own.close();
  });
});

describe('migrate_down on PostgreSQL', () => {
  it('MI-33, MI-I2, MI-I4: reverts the highest applied ones, and up brings them back', async () => {
    await bench.up(tableFiles(4));
    expect(dataOf(await bench.down(tableFiles(4), 2))).toEqual({ reverted: ['v4', 'v3'] });
    expect(await bench.tables()).toEqual(['schema_migrations', 't1', 't2']);
    expect(await bench.versions()).toEqual(['v1', 'v2']);
    expect(dataOf(await bench.up(tableFiles(4)))).toEqual({ applied: ['v3', 'v4'] });
    expect(dataOf(await bench.down(tableFiles(4), 9))).toEqual({ reverted: ['v4', 'v3', 'v2', 'v1'] });
    expect(dataOf(await bench.down(tableFiles(4), 1))).toEqual({ reverted: [] });
  });

  it('MI-33: reverts nothing when one of them has no down part', async () => {
    const files = tableFiles(3);
    await bench.up(files);
    const result = await bench.down([files[0]!, { version: 'v2', up: files[1]!.up }, files[2]!], 2);
    expect(result).toMatchObject({ success: false, outcome: 'not_started', cancelled: false });
    expect(result.error_message).toBe('migration error: cannot revert v2: no down part in the request');
    expect(await bench.versions()).toEqual(['v1', 'v2', 'v3']);
  });

  it('MI-40: a down that fails half-way lists what it reverted', async () => {
    const files = tableFiles(3);
    await bench.up(files);
    const result = await bench.down([files[0]!, { ...files[1]!, down: 'drop table missing' }, files[2]!], 3);
    expect(result).toMatchObject({ success: false, outcome: 'partial' });
    expect(dataOf(result)).toMatchObject({ reverted_before_failure: ['v3'], failed_version: 'v2' });
    expect(await bench.versions()).toEqual(['v1', 'v2']);
  });
});

describe('transaction:false on PostgreSQL', () => {
  const indexed = (up: string, down = 'drop index concurrently t1_id'): MigrationFile[] => [
    ...tableFiles(1),
    { version: 'v2', up, down, transactional: false },
  ];

  it('MI-38: runs outside a transaction, up and down', async () => {
    const files = indexed('create index concurrently t1_id on t1 (id)');
    const job = bench.offer('migrate_up', bundleOf('up', files));
    expect(dataOf(await job.result)).toEqual({ applied: ['v1', 'v2'] });
    expect(await bench.markers(job.requestId)).toEqual(['v1 tx done 1', 'v2 auto done 1']);
    expect(dataOf(await bench.down(files, 1))).toEqual({ reverted: ['v2'] });
    expect(await bench.versions()).toEqual(['v1']);
  });

  it('MI-38: as the first of all it makes the tracking table', async () => {
    expect(await bench.up([{ version: 'v1', up: 'vacuum', transactional: false }])).toMatchObject({ success: true });
    expect(await bench.versions()).toEqual(['v1']);
  });

  it('MI-38: names an invalid index that a failed statement left behind, and leaves no marker', async () => {
    const files = indexed('create unique index concurrently t1_id on t1 (id)');
    await bench.up(files.slice(0, 1));
    await bench.target.query('insert into t1 values (1), (1)');
    const job = bench.offer('migrate_up', bundleOf('up', files));
    const result = await job.result;
    expect(result).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect(result.error_message).toContain('an invalid index was left behind: t1_id');
    expect(await bench.markers(job.requestId)).toEqual([]);
    expect(await bench.versions()).toEqual(['v1']);
  });

  it('MI-38: a DETACH PARTITION CONCURRENTLY that is interrupted half-way is partial, with what ends it', async () => {
    await bench.target.query(`
      create table measures (id int) partition by list (id);
      create table measures_1 partition of measures for values in (1)`);
    await bench.target.query('begin; select * from measures');
    const up = 'alter table measures detach partition measures_1 concurrently';
    const result = await bench.up([{ version: 'v1', up, transactional: false }], null, { statementTimeoutSecs: 1 });
    await bench.target.query('commit');
    expect(result).toMatchObject({ success: false, outcome: 'partial', cancelled: false });
    expect(result.error_message).toMatch(
      /^migration timed out \(version v1\): .*; a partition is half detached: to end that, ALTER TABLE measures DETACH PARTITION measures_1 FINALIZE$/,
    );
    expect(await bench.versions()).toEqual([]);
    await bench.target.query('drop table measures cascade');
  });

  it('MI-38: a DROP INDEX CONCURRENTLY that is interrupted half-way is partial, with what ends it', async () => {
    await bench.target.query('create table t1 (id int); create unique index t1_id on t1 (id)');
    await bench.target.query('begin; select * from t1');
    const files = [{ version: 'v1', up: 'drop index concurrently t1_id', transactional: false }];
    const result = await bench.up(files, null, { statementTimeoutSecs: 1 });
    await bench.target.query('commit');
    expect(result).toMatchObject({ success: false, outcome: 'partial', cancelled: false });
    expect(result.error_message).toMatch(
      /^migration timed out \(version v1\): .*; what was dropped can no longer be used: to end that, DROP INDEX t1_id$/,
    );
    expect(await bench.versions()).toEqual([]);
  });

  it('AP-I5: code that commits and then fails is partial, for a part of it may stay', async () => {
    const up = "do $$ begin create table t1 (id int); commit; raise exception 'half way'; end $$";
    const result = await bench.up([{ version: 'v1', up, transactional: false }]);
    expect(result).toMatchObject({ success: false, outcome: 'partial', cancelled: false });
    expect(result.error_message).toContain('half way (SQLSTATE P0001); what it had committed before that stays');
    expect(dataOf(result)).toMatchObject({ applied_before_failure: [], failed_version: 'v1' });
    expect(await bench.tables()).toEqual(['schema_migrations', 't1']);
    expect(await bench.versions()).toEqual([]);
  });

  it('MI-38: a change whose version row cannot be written is told, with the repair that sets it right', async () => {
    const files = indexed('create index concurrently t1_id on t1 (id)');
    await bench.up(files.slice(0, 1));
    await bench.target.query(`alter table schema_migrations add constraint no_v2 check (version <> 'v2')`);
    const result = await bench.up(files);
    expect(result).toMatchObject({ success: false, outcome: 'partial', cancelled: false });
    expect(result.error_message).toMatch(
      /^migration partially applied \(version v2\): .*SQLSTATE 23514.*svc migrate repair --action mark-applied --version v2 --emergency --reason WHY$/,
    );
    expect(dataOf(result)).toMatchObject({ applied_before_failure: [], failed_version: 'v2' });
    await bench.target.query('alter table schema_migrations drop constraint no_v2');
    const repair = JSON.stringify({ action: 'mark_applied', version: 'v2' });
    expect(dataOf(await bench.run('migrate_repair', repair))).toEqual({ repaired: 'mark_applied', version: 'v2', changed: true });
    expect(dataOf(await bench.up(files))).toEqual({ applied: [] });
  });

  it('MI-37: a statement that cannot run in a transaction says what it needs', async () => {
    const result = await bench.up([{ version: 'v1', up: 'vacuum' }]);
    expect(result).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect(result.error_message).toContain('it has to be the one statement of a migration with transaction:false');
  });
});
