import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MarkerRow } from '../../../agent/marker.js';
import { failed, failedOutcome, ranOutcome, statusOutcome } from '../../../agent/migrations/results.js';
import { outOfOrder, planRun, settleAttempts } from '../../../agent/migrations/settle.js';
import type { Migration } from '../../../agent/migrations/task.js';
import { compareVersions } from '../../../domain/migration/version.js';

const version = fc.stringMatching(/^[0-9a-c]{1,3}$/);
const versions = fc.uniqueArray(version, { maxLength: 12 });
const migrations = versions.map((all) =>
  all.sort(compareVersions).map((one): Migration => ({ version: one, transactional: true, statements: [] })),
);
const cap = fc.option(fc.integer({ min: 1, max: 8 }));
/** Versions of a bundle, chosen by the bits of a number. */
const someOf = (bundle: readonly Migration[], bits: number) => namesOf(bundle).filter((_, index) => (bits >> index) % 2 === 1);
const namesOf = (list: readonly { version: string }[]) => list.map((one) => one.version);

describe('the plan of a run', () => {
  it('MI-32, MI-35, MI-I3: up takes what is not applied and was not done by a lost attempt, in bundle order and at most max_count', () => {
    fc.assert(
      fc.property(migrations, versions, cap, fc.nat(4095), (bundle, applied, maxCount, chosen) => {
        const before = new Set(applied);
        const settled = someOf(bundle, chosen);
        const plan = planRun({ direction: 'up', migrations: bundle, maxCount }, before, settled);
        if (!plan.ok) throw new Error('up never refuses');
        const pending = namesOf(bundle).filter((one) => !before.has(one) && !settled.includes(one));
        const left = maxCount === null ? undefined : Math.max(0, maxCount - settled.length);
        expect(namesOf(plan.todo)).toEqual(pending.slice(0, left));
        const after = new Set([...applied, ...pending, ...settled]);
        expect(planRun({ direction: 'up', migrations: bundle, maxCount }, after, [])).toEqual({ ok: true, todo: [] });
      }),
    );
  });

  it('MI-33, MI-35, MI-I4: down takes exactly the highest applied ones, or refuses: one is not in the bundle, or a lost attempt has reverted it already', () => {
    fc.assert(
      fc.property(migrations, versions, fc.integer({ min: 1, max: 8 }), fc.nat(4095), (bundle, applied, maxCount, chosen) => {
        const settled = someOf(bundle, chosen);
        const left = Math.max(0, maxCount - settled.length);
        const highest = [...applied].sort(compareVersions).reverse().slice(0, left);
        const again = left === 0 ? undefined : settled.find((one) => applied.includes(one));
        const missing = highest.find((one) => !namesOf(bundle).includes(one));
        const plan = planRun({ direction: 'down', migrations: bundle, maxCount }, new Set(applied), settled);
        if (plan.ok) expect([again, missing, namesOf(plan.todo)]).toEqual([undefined, undefined, highest]);
        else expect(plan.version).toBe(again ?? missing);
      }),
    );
  });

  it('MI-32: what was applied below a higher version is out of order', () => {
    expect(outOfOrder(['v2', 'v4', 'v6', 'v5'], ['v3', 'v1'])).toEqual(['v2', 'v5']);
    expect(outOfOrder(['v1', 'v2'], [])).toEqual([]);
  });

  it('MI-22: versions are compared by bytes', () => {
    expect(['10', '9', 'a', 'B', 'é', 'z'].sort(compareVersions)).toEqual(['10', '9', 'B', 'a', 'z', 'é']);
  });
});

describe('what earlier attempts did', () => {
  const row = (fence: number, step: string, mode: string, state: string): MarkerRow => ({
    fence,
    step,
    mode,
    state,
    rowsAffected: null,
    executionId: `e${fence}`,
    approvalDigest: 'd',
  });
  const settle = (rows: MarkerRow[], applied: string[], direction: 'up' | 'down' = 'up') =>
    settleAttempts(rows, { fence: 3, unresolvedFences: [1, 2] }, direction, new Set(applied));

  it.each<[string, MarkerRow[], string[], object]>([
    ['nothing', [], [], { versions: [], fence: null }],
    ['done steps', [row(2, 'v2', 'tx', 'done'), row(1, 'v1', 'tx', 'done')], ['v1', 'v2'], { versions: ['v1', 'v2'], fence: 2 }],
    ['one step twice', [row(1, 'v1', 'tx', 'done'), row(2, 'v1', 'tx', 'done')], ['v1'], { versions: ['v1'], fence: 2 }],
    ['a row that only fences out', [row(2, '', 'tx', 'open')], [], { versions: [], fence: null }],
    ['an attempt that is settled', [row(0, 'v1', 'tx', 'done')], ['v1'], { versions: [], fence: null }],
    ['a step left open and repaired since', [row(1, 'v1', 'auto', 'open')], ['v1'], { versions: ['v1'], fence: 1 }],
  ])('MI-35: knows of %s', (_, rows, applied, settled) => {
    expect(settle(rows, applied)).toEqual({ kind: 'settled', ...settled });
  });

  it('MI-35: a step left open outside a transaction is in doubt while its version row says that it is not through', () => {
    expect(settle([row(1, 'v1', 'auto', 'open')], [])).toEqual({ kind: 'doubtful', version: 'v1' });
    expect(settle([row(1, 'v1', 'auto', 'open')], ['v1'], 'down')).toEqual({ kind: 'doubtful', version: 'v1' });
    expect(settle([row(1, 'v1', 'auto', 'open')], [], 'down')).toMatchObject({ versions: ['v1'] });
  });

  it('MI-I6: attempts together never plan more than max_count, wherever each was lost', () => {
    fc.assert(
      fc.property(
        migrations,
        fc.integer({ min: 1, max: 6 }),
        fc.array(fc.nat(4), { maxLength: 5 }),
        (bundle, maxCount, losses) => {
          const applied = new Set<string>();
          const rows: MarkerRow[] = [];
          for (const [index, doneBeforeLoss] of [...losses, Number.POSITIVE_INFINITY].entries()) {
            const fence = index + 1;
            const unresolvedFences = Array.from({ length: index }, (_, one) => one + 1);
            const settlement = settleAttempts(rows, { fence, unresolvedFences }, 'up', applied);
            if (settlement.kind === 'doubtful') throw new Error('all is transactional');
            const plan = planRun({ direction: 'up', migrations: bundle, maxCount }, applied, settlement.versions);
            if (!plan.ok) throw new Error('up never refuses');
            for (const one of plan.todo.slice(0, doneBeforeLoss)) {
              applied.add(one.version);
              rows.push(row(fence, one.version, 'tx', 'done'));
            }
          }
          expect([...applied]).toEqual(namesOf(bundle).slice(0, maxCount));
        },
      ),
    );
  });
});

describe('results', () => {
  const data = (outcome: ReturnType<typeof ranOutcome>) => outcome.resultData?.toString();

  it('MI-40: names what was done, and what stood out of order', () => {
    const up = { direction: 'up', done: ['a', 'b'], outOfOrder: [], appliedFence: null } as const;
    expect(data(ranOutcome(up, 1000))).toBe('{"applied":["a","b"]}');
    expect(data(ranOutcome({ ...up, outOfOrder: ['a'] }, 1000))).toBe('{"applied":["a","b"],"out_of_order":["a"]}');
    expect(data(ranOutcome({ ...up, direction: 'down' }, 1000))).toBe('{"reverted":["a","b"]}');
    expect(ranOutcome({ ...up, appliedFence: 2 }, 1000)).toMatchObject({ outcome: 'already_applied', appliedFence: 2 });
  });

  it('MI-40: a failure after a step is partial, lists the steps, and is no cancel', () => {
    const cancelled = { outcome: 'rolled_back', why: 'migration cancelled', cancelled: true } as const;
    expect(failedOutcome(cancelled, { direction: 'up', done: [] }, 'b', 1000)).toEqual({
      success: false,
      outcome: 'rolled_back',
      cancelled: true,
      errorMessage: 'migration error: migration cancelled',
    });
    const partial = failedOutcome(cancelled, { direction: 'down', done: ['c'] }, 'b', 1000);
    expect(partial).toMatchObject({ success: false, outcome: 'partial', cancelled: false, errorMessage: 'migration cancelled' });
    expect(data(partial)).toBe('{"reverted_before_failure":["c"],"failed_version":"b","error":"migration cancelled"}');
    const doubt = failedOutcome(failed('unknown', 'commit outcome unknown: x'), { direction: 'up', done: ['a'] }, 'b', 1000);
    expect(doubt).toEqual({ success: false, outcome: 'unknown', cancelled: false, errorMessage: 'commit outcome unknown: x' });
  });

  it('AP-40: lists above the limit of a result become counts, and a status that long a failure', () => {
    const done = Array.from({ length: 100 }, (_, index) => `version-${index}`);
    expect(data(ranOutcome({ direction: 'up', done, outOfOrder: [], appliedFence: null }, 200))).toBe('{"applied_count":100}');
    expect(data(failedOutcome(failed('partial', 'x'), { direction: 'up', done }, 'b', 200))).toBe(
      '{"applied_before_failure_count":100,"failed_version":"b","error":"x"}',
    );
    expect(statusOutcome(done, 200)).toMatchObject({ success: false, cancelled: false });
  });
});
