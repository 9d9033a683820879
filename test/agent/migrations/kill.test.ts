import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExchangeFaults, startExchangeFaults } from '../../support/exchange-faults.js';
import { type FakeGateway, startFakeGateway } from '../../support/fake-gateway.js';
import {
  bundleOf,
  dataOf,
  type MigrationBench,
  type Result,
  startMigrationBench,
  tableFiles,
} from '../../support/migration-bench.js';
import { eventually } from '../../support/processes.js';
import { share } from '../../support/share.js';

/** `all` kills at every step of a run; else at some. */
const every = process.env.SVC_TEST_KILLS === 'all' ? 1 : share(14, 7);
const launcher = new URL('../../../bin/svc-agent', import.meta.url).pathname;
const directory = mkdtempSync(join(tmpdir(), 'svc-agent-kill-'));
let bench: MigrationBench;
let faults: ExchangeFaults;
let victims: FakeGateway;

beforeAll(async () => {
  bench = await startMigrationBench({ fenceWaitSecs: 20 });
  faults = await startExchangeFaults(bench.url);
  victims = await startFakeGateway();
  writeFileSync(
    join(directory, 'agent.toml'),
    `poll_interval_ms = 20\n[server]\nurl = "${victims.url}"\nagent_token = "svc_test"\n[probes]\ndir = "."\n[schema_sync]\nenabled = false\n[databases.shop.staging]\nurl = "${faults.url}?application_name=victim"\n`,
  );
});
afterAll(async () => {
  await victims.close();
  await bench.close();
  await faults.proxy.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Version rows and visible changes agree, and no change is there twice. */
async function expectWhole(): Promise<string[]> {
  const versions = await bench.versions();
  const tables = (await bench.tables()).filter((name) => name !== 'schema_migrations');
  expect(tables.map((name) => name.replace('t', 'v'))).toEqual(versions);
  return versions;
}

interface Round {
  requestId: string;
  reached: boolean;
}

/** Starts an agent on an empty database and kills it at the nth exchange of its run; `reached` is false when the run was over by then. */
async function killAt(nth: number, when: 'before' | 'after', detail: string): Promise<Round> {
  await bench.clear();
  const agent = spawn(process.execPath, [launcher, '--config', join(directory, 'agent.toml')], { stdio: 'ignore' });
  const exited = once(agent, 'exit');
  await victims.nextPoll(({ limit }) => Number(limit) > 0);
  const lost = victims.offer({ operation: 'migrate_up', detail });
  await lost.claimed;
  faults.arm(nth, when, () => agent.kill('SIGKILL'));
  await Promise.race([exited, lost.result]);
  const reached = await endOf(agent, exited);
  await untilForgotten();
  return { requestId: lost.requestId, reached };
}

/** The server may still carry out what it was sent last. */
function untilForgotten(): Promise<unknown> {
  const left = `select 1 from pg_stat_activity where datname = current_database() and application_name = 'victim'`;
  return eventually(async () => (await bench.target.query(left)).rows.length === 0);
}

/** Whether the agent was killed. */
async function endOf(agent: ChildProcess, exited: Promise<unknown[]>): Promise<boolean> {
  if (agent.exitCode === null && agent.signalCode === null) agent.kill('SIGTERM');
  await exited;
  return agent.signalCode === 'SIGKILL';
}

describe('an agent that is killed while it migrates', () => {
  const timeoutMs = every === 1 ? 900_000 : 180_000;

  it.each(['before', 'after'] as const)(
    'MI-I1, MI-I6: killed %s a step: version rows and schema agree, and the next attempt goes on after what is proven done',
    async (when) => {
      const detail = bundleOf('up', tableFiles(3), 2);
      for (let nth = when === 'before' ? 1 : 4; ; nth += every) {
        const { requestId, reached } = await killAt(nth, when, detail);
        const before = await expectWhole();
        const result = await bench.run('migrate_up', detail, { requestId, fence: 2, unresolvedFences: [1] });
        expect(result).toMatchObject({ success: true, outcome: before.length === 2 ? 'already_applied' : 'committed' });
        expect(dataOf(result)).toEqual({ applied: ['v1', 'v2'] });
        expect(await expectWhole()).toEqual(['v1', 'v2']);
        if (!reached) break;
      }
    },
    timeoutMs,
  );

  it(
    'MI-35: killed at a step around a statement without a transaction: the next attempt runs it once, or says that it may be half applied',
    async () => {
      const files = tableFiles(2).map((file, index) => ({ ...file, transactional: index !== 0 }));
      const detail = bundleOf('up', files);
      const seen = new Set<string>();
      for (let nth = every === 1 ? 1 : 7; ; nth += every === 1 ? 1 : 2) {
        const { requestId, reached } = await killAt(nth, nth % 4 === 3 ? 'after' : 'before', detail);
        const result = await bench.run('migrate_up', detail, { requestId, fence: 2, unresolvedFences: [1] });
        seen.add(result.outcome);
        if (result.success) expect(dataOf(result)).toEqual({ applied: ['v1', 'v2'] });
        else await repairAndGoOn(result, requestId, detail);
        expect(await expectWhole()).toEqual(['v1', 'v2']);
        if (!reached || (every > 1 && nth > 12)) break;
      }
      expect(seen).toContain('unknown');
    },
    timeoutMs,
  );
});

/** What a person does: look, repair, and go on; a statement that did not run takes a new request. */
async function repairAndGoOn(result: Result, requestId: string, detail: string): Promise<void> {
  expect(result.error_message).toBe('migration v1 may be half applied; check the database, then use migrate repair');
  const there = (await bench.tables()).includes('t1');
  const action = there ? 'mark_applied' : 'remove';
  const repaired = await bench.run('migrate_repair', JSON.stringify({ action, version: 'v1' }));
  expect(repaired).toMatchObject({ success: true });
  const input = there ? { requestId, fence: 3, unresolvedFences: [1, 2] } : {};
  expect(dataOf(await bench.run('migrate_up', detail, input))).toEqual({ applied: ['v1', 'v2'] });
}
