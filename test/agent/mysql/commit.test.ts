import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CancelControl } from '../../../agent/cancel-control.js';
import { createDriver } from '../../../agent/drivers/create.js';
import type { Driver, Run } from '../../../agent/drivers/driver.js';
import { defaultTimings } from '../../../agent/timings.js';
import { createSqlClassifier, type SqlClassifier } from '../../../sql/classify.js';
import { bundleOf } from '../../support/migration-bench.js';
import { findMysql } from '../../support/mysql.js';
import { type MysqlBench, startMysqlBench } from '../../support/mysql-agent.js';
import { type SwallowingProxy, startSwallowingProxy } from '../../support/swallowing-proxy.js';
import { startTcpProxy } from '../../support/tcp-proxy.js';

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('a COMMIT on MySQL', () => {
  let bench: MysqlBench;
  let proxy: SwallowingProxy;
  beforeAll(async () => {
    proxy = await startSwallowingProxy(Number(new URL(server!.url).port));
    const through = (url: string) => Object.assign(new URL(url), { port: String(proxy.port) }).href;
    bench = await startMysqlBench(server!, { through });
  });
  beforeEach(async () => {
    proxy.onClientData = null;
    commits = 0;
    await bench.root.query('create or replace table counters (id int primary key, n int); insert into counters values (1, 0)');
  });
  afterAll(async () => {
    await bench?.close();
    await proxy?.close();
  });

  const add = 'update counters set n = n + 1 where id = 1';
  const count = () => bench.value('select n from counters');
  let commits = 0;
  /** Once, when the client sends COMMIT. */
  const atCommit = (act: () => 'pass' | 'drop') => {
    proxy.onClientData = (data) => {
      if (!data.toString('latin1').endsWith('\x03commit')) return 'pass';
      commits++;
      proxy.onClientData = null;
      return act();
    };
  };

  it('AP-37: whose answer is lost is proven by its marker', async () => {
    atCommit(() => 'drop');
    expect(await bench.run('execute_dml', add)).toMatchObject({ success: true, outcome: 'committed', rows_affected: 1 });
    expect([commits, await count()]).toEqual([1, 1]);
  });

  it('AP-37: that never arrived is proven rolled back', async () => {
    atCommit(() => {
      proxy.cut();
      return 'pass';
    });
    expect(await bench.run('execute_dml', add)).toMatchObject({ success: false, outcome: 'rolled_back', cancelled: false });
    expect([commits, await count()]).toEqual([1, 0]);
  });

  it('AP-37, AP-I5: is unknown without a marker', async () => {
    atCommit(() => 'drop');
    const result = await bench.run('execute_dml', add, { marker: 'none' });
    expect(result).toMatchObject({
      success: false,
      outcome: 'unknown',
      error_message: expect.stringMatching(/^commit outcome unknown: driver error: connection failed: /),
    });
  });

  describe('that cannot be looked up for long', () => {
    let hasty: MysqlBench;
    beforeAll(async () => {
      const through = (url: string) => Object.assign(new URL(url), { port: String(proxy.port) }).href;
      hasty = await startMysqlBench(server!, { through, timings: { commitProbeMs: 1500, commitProbeEveryMs: 50 } });
      await hasty.root.query(
        'create table counters (id int primary key, n int) engine=InnoDB; insert into counters values (1, 0)',
      );
    });
    afterAll(() => hasty?.close());

    /** Once, when the client sends the COMMIT behind its version row. */
    const atVersionCommit = (act: () => 'pass' | 'drop') => {
      proxy.onClientData = (data) => {
        if (data.includes('insert into') && data.includes('schema_migrations')) atCommit(act);
        return 'pass';
      };
    };
    const migration = (version: string, id: number) => {
      const up = `insert into counters values (${id}, 0)`;
      return hasty.run('migrate_up', bundleOf('up', [{ version, up }]), { marker: 'none' });
    };
    const ids = async () => (await hasty.root.query('select id from counters order by id'))[0];

    it('AP-37, MI-39: without a marker, the version row that is there proves a migration whose answer is lost', async () => {
      atVersionCommit(() => 'drop');
      expect(await migration('v1', 2)).toMatchObject({ success: true, outcome: 'committed' });
      expect(await ids()).toContainEqual([2]);
    });

    it('AP-37, MI-39: without a marker, a version row that is not there proves nothing: it is unknown when the time is over', async () => {
      atVersionCommit(() => {
        proxy.cut();
        return 'pass';
      });
      const result = await migration('v2', 3);
      expect(result).toMatchObject({ success: false, outcome: 'unknown' });
      expect(result.error_message).toMatch(/commit outcome unknown: version v2/);
      expect(await ids()).not.toContainEqual([3]);
    });

    it('AP-37: is unknown when the time is over, also when a server takes connections and then says nothing', async () => {
      let asked = 0;
      atCommit(() => {
        proxy.onClientData = (data) => {
          if (!data.includes('svc_execution_marker')) return 'pass';
          asked++;
          return 'hold';
        };
        return 'drop';
      });
      expect(await hasty.run('execute_dml', add)).toMatchObject({ success: false, outcome: 'unknown' });
      expect(asked).toBeGreaterThan(0);
      proxy.onClientData = null;
    });
  });

  it('AP-I5: of statements that commit one by one, a lost connection leaves the outcome unknown', async () => {
    proxy.onClientData = (data) => {
      if (!data.includes('add column')) return 'pass';
      proxy.onClientData = null;
      return 'drop';
    };
    expect(await bench.run('execute_dml', 'alter table counters add column x int')).toMatchObject({
      success: false,
      outcome: 'unknown',
    });
  });

  it('AP-34, AP-I5: a write to a table without transactions of another database is unknown when its connection breaks, and not run again', async () => {
    const elsewhere = `${bench.database.name}_x`;
    const logged = () => bench.value(`select count(*) from ${elsewhere}.logs`);
    await bench.root.query(`create or replace database ${elsewhere}; create table ${elsewhere}.logs (id int) engine=MyISAM`);
    await bench.root.query(`grant all on ${elsewhere}.* to '${new URL(bench.database.url).username}'@'%'`);
    try {
      proxy.onClientData = (data) => {
        if (!data.includes('from counters')) return 'pass';
        proxy.onClientData = null;
        return 'drop';
      };
      const text = `insert into \`${elsewhere}\`.logs values (1); select n from counters`;
      const job = bench.offer('execute_dml', text);
      expect(await job.result).toMatchObject({ success: false, outcome: 'unknown' });
      expect(await logged()).toBe(1);
      let fence = 1;
      const again = () => bench.run('execute_dml', text, { requestId: job.requestId, fence: ++fence, unresolvedFences: [1] });
      // The agent may have to connect again first.
      await expect
        .poll(again, { timeout: 10_000 })
        .toMatchObject({ outcome: 'unknown', error_message: 'attempt 1 may have been applied; check the database' });
      expect(await logged()).toBe(1);
    } finally {
      await bench.root.query(`drop database ${elsewhere}`);
    }
  });

  it('AP-45: a cancel that nobody can confirm is unknown, and its own deadline ends it', async () => {
    const frozen = await startTcpProxy(server!.url);
    const through = (url: string) => Object.assign(new URL(url), { port: new URL(frozen.url).port }).href;
    const timings = { cancelGiveUpMs: 300, httpConnectMs: 3000 };
    const other = await startMysqlBench(server!, { through, timings });
    try {
      await other.root.query('create table counters (id int primary key, n int); insert into counters values (1, 0)');
      const job = other.offer('execute_dml', `${add}; select sleep(2)`);
      await other.untilActive('sleep(2)');
      frozen.freeze();
      job.heartbeat.cancelled = true;
      expect(await job.result).toMatchObject({ success: false, outcome: 'unknown', cancelled: false });
    } finally {
      frozen.heal();
      await other.close();
      await frozen.close();
    }
  });

  it('AP-I5, C5: a cancel that races it 100 times is never told for a committed change, nor a success for one rolled back', async () => {
    const classifier = await createSqlClassifier();
    const { url } = bench.database;
    const one = {
      database: 'shop',
      environment: 'staging',
      url,
      readUrl: url,
      searchPath: null,
      poolMax: 4,
      explainFunctions: [],
    };
    const driver = createDriver(one, bench.agent.config, { ...defaultTimings, cancelRepeatMs: 20 });
    const seen = new Set<string>();
    try {
      await driver.connect({ onlyLook: false });
      let before = 0;
      for (let round = 0; round < 100; round++) {
        const ended = await raced(driver, classifier, round === 0 ? 0 : round === 99 ? 10_000 : Math.random() * 25);
        const now = Number(await count());
        seen.add(ended);
        expect([ended, now - before]).toEqual([ended, ended === 'committed' ? 1 : 0]);
        before = now;
      }
    } finally {
      await driver.close();
      await classifier.close();
    }
    expect([...seen].every((how) => ['committed', 'rolled_back cancelled', 'not_started cancelled'].includes(how))).toBe(true);
    expect(seen).toContain('committed');
  });

  /** Runs an increment that is cancelled after some milliseconds; tells how it ended. */
  async function raced(driver: Driver, classifier: SqlClassifier, delayMs: number): Promise<string> {
    const verdict = await classifier.classify(`${add}; select sleep(0.005)`, { dialect: 'mysql', statementTimeoutSecs: 0 });
    if (verdict.verdict !== 'accepted') throw new Error('not accepted');
    const control = new CancelControl();
    const run: Run = {
      requestId: randomUUID(),
      executionId: randomUUID(),
      agentId: 'a',
      fence: 1,
      unresolvedFences: [],
      approvalDigest: 'd',
      unresolvedExecutions: [],
      strangers: [],
      isNewest: async () => true,
      firstLostAt: null,
      lostByOthers: false,
      marker: true,
      step: '',
      statements: verdict.statements,
      changed: [],
      maxAffectedRows: null,
      searchPath: null,
      timeoutSecs: 30,
      fenceWaitMs: 1000,
      control,
      mayStart: () => true,
      limits: { maxRows: 10, maxResultBytes: 10_000, maxRowBytes: 10_000 },
    };
    const timer = setTimeout(() => control.request('asked'), delayMs);
    const { outcome, released } = await driver.dml(run);
    clearTimeout(timer);
    await released;
    return outcome.success
      ? outcome.outcome
      : `${outcome.outcome}${outcome.cancelled ? ' cancelled' : ` ${outcome.errorMessage}`}`;
  }
});
