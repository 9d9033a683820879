import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExchangeFaults, isMysqlStatement, startExchangeFaults } from '../../support/exchange-faults.js';
import { type FakeGateway, startFakeGateway } from '../../support/fake-gateway.js';
import { bundleOf, dataOf, type MigrationFile } from '../../support/migration-bench.js';
import { findMysql } from '../../support/mysql.js';
import { type MysqlMigrationBench, startMysqlMigrationBench } from '../../support/mysql-migrations.js';
import { share } from '../../support/share.js';

/** `all` kills at every step of a run; else at some. */
const isAll = process.env.SVC_TEST_KILLS === 'all';
const server = await findMysql(import.meta.url);
const launcher = new URL('../../../bin/svc-agent', import.meta.url).pathname;
const directory = mkdtempSync(join(tmpdir(), 'svc-agent-kill-'));

describe.skipIf(server === null)('an agent that is killed while it migrates MySQL', () => {
  let bench: MysqlMigrationBench;
  let faults: ExchangeFaults;
  let victims: FakeGateway;
  beforeAll(async () => {
    bench = await startMysqlMigrationBench(server!);
    faults = await startExchangeFaults(bench.database.url, isMysqlStatement);
    victims = await startFakeGateway();
    const target = `[databases.shop.staging]\nurl = "${faults.url}"\n`;
    const rest = '[probes]\ndir = "."\n[schema_sync]\nenabled = false\n';
    writeFileSync(
      join(directory, 'agent.toml'),
      `poll_interval_ms = 20\n[server]\nurl = "${victims.url}"\nagent_token = "svc_test"\n${rest}${target}`,
    );
  });
  afterAll(async () => {
    await victims?.close();
    await bench?.close();
    await faults?.proxy.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Starts an agent and kills it at the nth statement of its run; `reached` is false when the run was over by then. */
  async function killAt(nth: number, detail: string): Promise<{ requestId: string; reached: boolean }> {
    const agent = spawn(process.execPath, [launcher, '--config', join(directory, 'agent.toml')], { stdio: 'ignore' });
    const exited = once(agent, 'exit');
    await victims.nextPoll(({ limit }) => Number(limit) > 0);
    const lost = victims.offer({ operation: 'migrate_up', detail });
    await lost.claimed;
    faults.arm(nth, nth % 2 === 0 ? 'after' : 'before', () => agent.kill('SIGKILL'));
    await Promise.race([exited, lost.result]);
    return { requestId: lost.requestId, reached: await endOf(agent, exited) };
  }

  /** The steps at which to kill, until `round` says that a run was over before. */
  async function everyStep(some: readonly number[], round: (nth: number) => Promise<boolean>): Promise<void> {
    for (let at = 0; isAll || at < some.length; at++) if (!(await round(isAll ? at + 1 : some[at]!))) return;
  }

  const timeoutMs = isAll ? 900_000 : 180_000;

  it(
    'MI-39, MI-I6: rows and version rows always agree, and the next attempt goes on after what is proven done',
    async () => {
      const files = ['1', '2'].map((n) => ({
        version: `v${n}`,
        up: `insert into parts (id) values (${n}); update parts set n = n + 1 where id = ${n}`,
      }));
      const detail = bundleOf('up', files);
      const state = async () => [await bench.column("select concat('v', id, n) from parts order by id"), await bench.versions()];
      await everyStep(share([16, 26, 34], [16, 20, 26, 29, 34, 40]), async (nth) => {
        await bench.clear();
        await bench.root.query('create table parts (id int primary key, n int default 0)');
        const { requestId, reached } = await killAt(nth, detail);
        const result = await bench.run('migrate_up', detail, { requestId, fence: 2, unresolvedFences: [1] });
        expect(dataOf(result)).toEqual({ applied: ['v1', 'v2'] });
        expect(await state()).toEqual([
          ['v11', 'v21'],
          ['v1', 'v2'],
        ]);
        return reached;
      });
    },
    timeoutMs,
  );

  it(
    'MI-35: around statements that commit by themselves nothing runs twice: what may be half applied is told, looked at, repaired and run again',
    async () => {
      const files: MigrationFile[] = [
        { version: 'v1', up: 'create table a1 (id int); insert into a1 values (1); create table a2 (id int)' },
        { version: 'v2', up: 'create table b1 (id int)' },
      ];
      const detail = bundleOf('up', files);
      const outcomes = new Set<string>();
      await everyStep(share([17, 22, 30], [12, 17, 20, 22, 25, 30, 38]), async (nth) => {
        await bench.clear();
        const { requestId, reached } = await killAt(nth, detail);
        const result = await bench.run('migrate_up', detail, { requestId, fence: 2, unresolvedFences: [1] });
        outcomes.add(result.outcome as string);
        if (!result.success) await finishByHand(String(result.error_message), detail, requestId);
        expect([await bench.tables(), await bench.versions()]).toEqual([
          ['a1', 'a2', 'b1'],
          ['v1', 'v2'],
        ]);
        expect(await bench.column('select id from a1')).toEqual(['1']);
        return reached;
      });
      expect(outcomes).toContain('unknown');
    },
    timeoutMs,
  );

  /** What a person does: looks what is there, does the rest by hand, repairs, and resumes. */
  async function finishByHand(message: string, detail: string, requestId: string): Promise<void> {
    const version = /^migration (v[12]) may be half applied; check the database, then use migrate repair$/.exec(message)?.[1];
    expect(version).toBeDefined();
    await bench.root.query('create table if not exists a1 (id int)');
    if (Number(await bench.value('select count(*) from a1')) === 0) await bench.root.query('insert into a1 values (1)');
    await bench.root.query('create table if not exists a2 (id int)');
    if (version === 'v2') await bench.root.query('create table if not exists b1 (id int)');
    expect(await bench.repair('mark_applied', version!)).toMatchObject({ success: true });
    const resumed = await bench.run('migrate_up', detail, { requestId, fence: 3, unresolvedFences: [1, 2] });
    expect(dataOf(resumed)).toEqual({ applied: ['v1', 'v2'] });
  }
});

/** Whether the agent was killed. */
async function endOf(agent: ChildProcess, exited: Promise<unknown[]>): Promise<boolean> {
  if (agent.exitCode === null && agent.signalCode === null) agent.kill('SIGTERM');
  await exited;
  return agent.signalCode === 'SIGKILL';
}
