import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { migrationLockName } from '../../../agent/drivers/mysql/migrations.js';
import { dataOf, type MigrationFile, type Result, tableFiles } from '../../support/migration-bench.js';
import { findMysql } from '../../support/mysql.js';
import { type MysqlMigrationBench, startMysqlMigrationBench } from '../../support/mysql-migrations.js';
import { type OtherAgent, startOtherAgent } from '../../support/mysql-other-agent.js';

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('agents that migrate one MySQL', () => {
  let bench: MysqlMigrationBench;
  let gate: string;
  const others: OtherAgent[] = [];
  beforeAll(async () => {
    bench = await startMysqlMigrationBench(server!, 60);
    gate = `gate ${bench.database.name}`;
  });
  beforeEach(async () => {
    await bench.root.query('select release_all_locks()');
    await bench.clear();
  });
  afterEach(() => Promise.all(others.splice(0).map((other) => other.close())));
  afterAll(() => bench?.close());

  const startOther = async (head?: string) => {
    const other = await startOtherAgent(bench, head);
    others.push(other);
    return other;
  };
  const patient = 'migration_lock_wait_secs = 60\n';
  /** A statement that stands still until the test opens the gate. */
  const wait = () => `select get_lock('${gate}', 60)`;
  const shut = () => bench.root.query('select get_lock(?, 0)', [gate]);
  const appliedOf = (result: Result) => (dataOf(result) as { applied: string[] }).applied;

  it('MI-31, MI-I5: whose runs meet take the lock in turn: no statement of one stands between those of the other', async () => {
    const other = await startOther(patient);
    for (let round = 0; round < 2; round++) {
      await bench.clear();
      await bench.root.query('create table log (at int auto_increment primary key, who text)');
      // Half of each run is changes of rows, half commits by itself.
      const filesOf = (who: string): MigrationFile[] =>
        [1, 2, 3, 4].map((n) => ({
          version: `${who}${n}`,
          up: `insert into log (who) values ('${who}'); ${n % 2 === 0 ? `create table ${who}${n} (id int); ` : ''}insert into log (who) values ('${who}')`,
        }));
      const [one, two] = await Promise.all([bench.up(filesOf('a')), other.up(filesOf('b'))]);
      expect([appliedOf(one), appliedOf(two)]).toEqual([
        ['a1', 'a2', 'a3', 'a4'],
        ['b1', 'b2', 'b3', 'b4'],
      ]);
      const log = (await bench.column('select who from log order by at')).join('');
      expect(log).toMatch(/^(a{8}b{8}|b{8}a{8})$/);
    }
  }, 120_000);

  it('MI-31, MI-I3: with the same files apply each once: who comes second finds nothing left', async () => {
    const other = await startOther(patient);
    const results = await Promise.all([
      ...[bench.up(tableFiles(4)), other.up(tableFiles(4))],
      ...[bench.up(tableFiles(4)), other.up(tableFiles(4))],
    ]);
    expect(results.map(appliedOf).sort()).toEqual([[], [], [], ['v1', 'v2', 'v3', 'v4']]);
    expect(await bench.versions()).toEqual(['v1', 'v2', 'v3', 'v4']);
  }, 120_000);

  it('MI-31: end the run when a migration lets all locks go: another run may have had them', async () => {
    const files = [{ version: 'a1', up: 'do release_all_locks()' }, ...tableFiles(1)];
    const result = await bench.up(files);
    expect(result).toMatchObject({ success: false, outcome: 'partial' });
    expect(dataOf(result)).toMatchObject({ applied_before_failure: ['a1'], failed_version: 'v1' });
    expect(result.error_message).toContain("version v1: the agent's lock is gone");
    expect([await bench.tables(), await bench.versions()]).toEqual([[], ['a1']]);
  });

  it('MI-31: hold the lock until the run ends; the end of their session frees it', async () => {
    await shut();
    const other = await startOther();
    const dying = other.offer([
      { version: 'a1', up: 'do 1' },
      { version: 'a2', up: wait() },
    ]);
    await bench.untilActive(`get_lock('${gate}'`);
    const lock = migrationLockName(bench.database.name);
    const free = await Promise.all([lock, `svc:${dying.requestId}`].map((name) => bench.value('select is_free_lock(?)', [name])));
    expect(free).toEqual([0, 0]);
    const next = bench.up(tableFiles(1));
    const [session] = await bench.column('select is_used_lock(?)', [lock]);
    await bench.root.query(`kill ${session}`);
    expect(appliedOf(await next)).toEqual(['v1']);
    expect(await dying.result).toMatchObject({ success: false, outcome: 'partial' });
    expect(await bench.versions()).toEqual(['a1', 'v1']);
  }, 120_000);

  describe('told to end now', () => {
    const outside = (version: string, up: string): MigrationFile => ({ version, up, transactional: false });
    /** Runs the files and ends the agent while the marked statement runs. */
    const stopDuring = async (files: readonly MigrationFile[], marked: string) => {
      const other = await startOther();
      const job = other.offer(files);
      await bench.untilActive(marked);
      other.agent.stop();
      other.agent.stopNow();
      const result = (await job.result) as Result;
      expect(await other.agent.exit).toBe(1);
      return { result, requestId: job.requestId };
    };

    it('AP-18: roll back what changes rows only', async () => {
      await bench.root.query('create table parts (id int primary key)');
      await shut();
      const { result, requestId } = await stopDuring([outside('v1', `insert into parts values (1); ${wait()}`)], gate);
      expect(result).toMatchObject({
        success: false,
        outcome: 'rolled_back',
        cancelled: false,
        error_message: 'migration error: agent stopped',
      });
      expect([await bench.column('select id from parts'), await bench.versions(), await bench.markers(requestId)]).toEqual([
        [],
        [],
        [],
      ]);
    });

    it('AP-18: interrupt a statement that commits by itself, and leave nothing when it was the first', async () => {
      await bench.root.query('create table parts (id int); lock tables parts write');
      const { result, requestId } = await stopDuring([outside('v1', 'alter table parts add b int')], 'add b int');
      await bench.root.query('unlock tables');
      expect(result).toMatchObject({
        success: false,
        outcome: 'rolled_back',
        cancelled: false,
        error_message: 'migration error: agent stopped',
      });
      expect(await bench.column('show columns from parts')).toEqual(['id']);
      expect([await bench.versions(), await bench.markers(requestId)]).toEqual([[], []]);
    });

    it('AP-18, MI-39: tell what stays of a migration whose first statements are done, and start none after it', async () => {
      await shut();
      const files = [
        ...tableFiles(1),
        outside('v2', `create table a (id int); ${wait()}; create table b (id int)`),
        outside('v3', 'select 1'),
      ];
      const { result, requestId } = await stopDuring(files, gate);
      const error = 'agent stopped; statement 2 of 3 failed; the first 1 are applied and stay';
      expect(result).toMatchObject({ success: false, outcome: 'partial', cancelled: false, error_message: error });
      expect(dataOf(result)).toEqual({ applied_before_failure: ['v1'], failed_version: 'v2', error });
      expect([await bench.tables(), await bench.versions(), await bench.markers(requestId)]).toEqual([
        ['a', 't1'],
        ['v1'],
        ['v1 auto done 1', 'v2 auto open 1'],
      ]);
    });

    it('AP-18, MI-34: interrupt also what runs on to its end after a cancel', async () => {
      await shut();
      const other = await startOther();
      const job = other.offer([outside('v1', `create table a (id int); ${wait()}`)]);
      await bench.untilActive(gate);
      job.heartbeat.cancelled = true;
      const { heartbeats } = job;
      await expect.poll(() => job.heartbeats).toBeGreaterThan(heartbeats + 2);
      other.agent.stop();
      other.agent.stopNow();
      expect(await job.result).toMatchObject({
        success: false,
        outcome: 'partial',
        cancelled: false,
        error_message: 'agent stopped; statement 2 of 2 failed; the first 1 are applied and stay',
      });
      expect([await bench.tables(), await bench.versions()]).toEqual([['a'], []]);
    });
  });
});
