import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { compareVersions } from '../../../domain/migration/version.js';
import { dataOf, type MigrationBench, type MigrationFile, startMigrationBench } from '../../support/migration-bench.js';

let bench: MigrationBench;

beforeAll(async () => {
  bench = await startMigrationBench({ tables: '[schema_sync]\nenabled = false' });
});
afterAll(() => bench.close());

/** Whether a part of a migration works; what fails has done half of its work by then. */
interface Shape {
  number: number;
  upFails: boolean;
  downFails: boolean;
  hasDown: boolean;
  transactional: boolean;
}

const shape = (number: number) =>
  fc.record<Shape>({
    number: fc.constant(number),
    upFails: fc.boolean().map((one) => one && number % 3 === 0),
    downFails: fc.boolean().map((one) => one && number % 3 === 1),
    hasDown: fc.boolean().map((one) => one || number % 2 === 0),
    transactional: fc.boolean(),
  });
const shapes = fc.tuple(...[1, 2, 3, 4, 5].map(shape));
const count = fc.integer({ min: 1, max: 4 });
const action = fc.oneof(
  fc.record({ kind: fc.constant('up' as const), only: fc.subarray([1, 2, 3, 4, 5], { minLength: 1 }), count: fc.option(count) }),
  fc.record({ kind: fc.constant('down' as const), count }),
);

function fileOf({ number, upFails, downFails, hasDown, transactional }: Shape): MigrationFile {
  const part = (sql: string, fails: boolean) => (fails ? (transactional ? `${sql}; select 1/0` : 'select 1/0') : sql);
  const up = part(`create table t${number} (id int)`, upFails);
  const down = hasDown ? { down: part(`drop table t${number}`, downFails) } : {};
  return { version: `v${number}`, up, transactional, ...down };
}

/** What a run comes to: what it does in order, and whether it then fails. */
function foretell(
  applied: readonly number[],
  all: readonly Shape[],
  one: { kind: 'up' | 'down'; only?: number[]; count: number | null },
) {
  const of = (number: number) => all[number - 1]!;
  const inOrder =
    one.kind === 'up'
      ? all.map(({ number }) => number).filter((number) => one.only?.includes(number) && !applied.includes(number))
      : [...applied].sort((a, b) => b - a);
  const todo = inOrder.slice(0, one.count ?? undefined);
  if (one.kind === 'down' && todo.some((number) => !of(number).hasDown)) return { done: [], fails: true };
  const bad = todo.findIndex((number) => (one.kind === 'up' ? of(number).upFails : of(number).downFails));
  return { done: bad === -1 ? todo : todo.slice(0, bad), fails: bad !== -1 };
}

it('MI-I1 to MI-I4: any sequence of runs leaves what a model says, and each result tells it', async () => {
  await fc.assert(
    fc.asyncProperty(shapes, fc.array(action, { minLength: 1, maxLength: 6 }), async (all, actions) => {
      await bench.clear();
      let applied: number[] = [];
      for (const one of actions) {
        const only = one.kind === 'up' ? one.only : [1, 2, 3, 4, 5];
        const files = all.filter(({ number }) => only.includes(number)).map(fileOf);
        if (one.kind === 'down' && files.every(({ down }) => down === undefined)) continue;
        const result = one.kind === 'up' ? await bench.up(files, one.count) : await bench.down(files, one.count);
        const { done, fails } = foretell(applied, all, one);
        const named = done.map((number) => `v${number}`);
        expect(result).toMatchObject({
          success: !fails,
          outcome: fails ? (done.length > 0 ? 'partial' : result.outcome) : 'committed',
        });
        const key = one.kind === 'up' ? 'applied' : 'reverted';
        expect((dataOf(result) as Record<string, string[]> | null)?.[fails ? `${key}_before_failure` : key] ?? []).toEqual(named);
        applied = one.kind === 'up' ? [...applied, ...done] : applied.filter((number) => !done.includes(number));
        const versions = applied.map((number) => `v${number}`).sort(compareVersions);
        expect(await bench.versions()).toEqual(versions);
        expect((await bench.tables()).filter((name) => name !== 'schema_migrations')).toEqual(
          versions.map((name) => name.replace('v', 't')),
        );
      }
    }),
    { numRuns: 15 },
  );
}, 120_000);
