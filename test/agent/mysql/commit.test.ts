import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CancelControl } from '../../../agent/cancel-control.js';
import { createDriver } from '../../../agent/drivers/create.js';
import type { Driver, Run } from '../../../agent/drivers/driver.js';
import { defaultTimings } from '../../../agent/timings.js';
import { createSqlJudge, type SqlJudge } from '../../../sql/judge.js';
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

  it('AP-45: a cancel that nobody can confirm is unknown, and its own deadline ends it', async () => {
    const frozen = await startTcpProxy(server!.url);
    const through = (url: string) => Object.assign(new URL(url), { port: new URL(frozen.url).port }).href;
    const timings = { cancelGiveUpMs: 300, httpConnectMs: 300 };
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
    const judge = await createSqlJudge();
    const { url } = bench.database;
    const one = { database: 'shop', environment: 'staging', url, readUrl: url, poolMax: 4 };
    const driver = createDriver(one, bench.agent.config, { ...defaultTimings, cancelRepeatMs: 20 });
    const seen = new Set<string>();
    try {
      await driver.connect({ onlyLook: false });
      let before = 0;
      for (let round = 0; round < 100; round++) {
        const ended = await raced(driver, judge, round === 0 ? 0 : round === 99 ? 10_000 : Math.random() * 25);
        const now = Number(await count());
        seen.add(ended);
        expect([ended, now - before]).toEqual([ended, ended === 'committed' ? 1 : 0]);
        before = now;
      }
    } finally {
      await driver.close();
      await judge.close();
    }
    expect([...seen].every((how) => ['committed', 'rolled_back cancelled', 'not_started cancelled'].includes(how))).toBe(true);
    expect(seen).toContain('committed');
  });

  /** Runs an increment that is cancelled after some milliseconds; tells how it ended. */
  async function raced(driver: Driver, judge: SqlJudge, delayMs: number): Promise<string> {
    const verdict = await judge.judge(`${add}; select sleep(0.005)`, { dialect: 'mysql', statementTimeoutSecs: 0 });
    if (verdict.verdict !== 'accepted') throw new Error('not accepted');
    const control = new CancelControl();
    const run: Run = {
      ...{
        requestId: randomUUID(),
        executionId: randomUUID(),
        agentId: 'a',
        fence: 1,
        unresolvedFences: [],
        approvalDigest: 'd',
      },
      ...{
        marker: true,
        step: '',
        statements: verdict.statements,
        timeoutSecs: 30,
        fenceWaitMs: 1000,
        control,
        mayStart: () => true,
      },
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
