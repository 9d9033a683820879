import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExchangeFaults, startExchangeFaults } from '../../support/exchange-faults.js';
import {
  bundleOf,
  dataOf,
  type MigrationBench,
  type MigrationFile,
  type Result,
  startMigrationBench,
  tableFiles,
} from '../../support/migration-bench.js';
import { createEmptyDatabase, type TestDatabase } from '../../support/postgres.js';

let database: TestDatabase;
let faults: ExchangeFaults;
let bench: MigrationBench;

beforeAll(async () => {
  database = await createEmptyDatabase();
  faults = await startExchangeFaults(database.url);
  bench = await startMigrationBench({ database, through: () => faults.url, tables: '[schema_sync]\nenabled = false' });
});
afterAll(async () => {
  await bench.close();
  await faults.proxy.close();
});

const files: MigrationFile[] = [
  ...tableFiles(2),
  { version: 'v3', up: 'create table t3 (id int); insert into t3 values (1)', down: 'drop table t3' },
];

/** Versions whose table is there. */
async function visible(): Promise<string[]> {
  return (await bench.tables()).filter((name) => name !== 'schema_migrations').map((name) => name.replace('t', 'v'));
}

async function expectTruth(result: Result, direction: 'up' | 'down', before: readonly string[]): Promise<void> {
  const now = await bench.versions();
  expect(await visible()).toEqual(now);
  const changed =
    direction === 'up' ? now.filter((one) => !before.includes(one)) : before.filter((one) => !now.includes(one)).reverse();
  const told = dataOf(result) as Record<string, string[]> | null;
  const named =
    told?.[result.success ? 'applied' : 'applied_before_failure'] ??
    told?.[result.success ? 'reverted' : 'reverted_before_failure'] ??
    [];
  expect(named).toEqual(changed);
  if (result.outcome === 'rolled_back' || result.outcome === 'not_started') expect(changed).toEqual([]);
  expect(['committed', 'rolled_back', 'not_started', 'partial']).toContain(result.outcome);
}

/** Breaks the connection at the nth exchange of a run; false when the run was over by then. */
async function brokenAt(nth: number, when: 'before' | 'after', direction: 'up' | 'down'): Promise<boolean> {
  await bench.clear();
  if (direction === 'down') await bench.up(files);
  const before = await bench.versions();
  const detail = bundleOf(direction, files, 2);
  faults.arm(nth, when);
  const result = await bench.run(`migrate_${direction}`, detail);
  const reached = faults.count >= nth;
  faults.arm(0, when);
  await expectTruth(result, direction, before);
  // The next request goes on from there.
  const rest = await (direction === 'up' ? bench.up(files) : bench.down(files, 9));
  expect(rest).toMatchObject({ success: true });
  expect(await bench.versions()).toEqual(direction === 'up' ? ['v1', 'v2', 'v3'] : []);
  expect(await visible()).toEqual(await bench.versions());
  return reached;
}

describe('a run whose connection breaks', () => {
  it.each([
    ['up', 'before'],
    ['up', 'after'],
    ['down', 'before'],
    ['down', 'after'],
  ] as const)(
    'MI-I1, AP-I5: migrate_%s, %s any step: version rows and schema agree, and the outcome tells the truth',
    async (direction, when) => {
      let nth = 1;
      while (await brokenAt(nth, when, direction)) nth++;
      expect(nth).toBeGreaterThan(10);
    },
    60_000,
  );
});
