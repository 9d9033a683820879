import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OPERATIONS } from '../../../domain/policies.js';
import { runLimits } from '../../../domain/request/lease.js';
import { DEFAULT_EXECUTION_POLICY } from '../../../domain/workflow-policy.js';

const limits = (operation: (typeof OPERATIONS)[number], over: object = {}, own: number | null = null) => {
  const { statementTimeoutSecs, leaseSecs } = runLimits(
    operation,
    { ...DEFAULT_EXECUTION_POLICY, ...over },
    { statementTimeoutSecs: own },
  );
  return [statementTimeoutSecs, leaseSecs];
};

describe('timeout and lease of a run (AG-37)', () => {
  it.each<[(typeof OPERATIONS)[number], object, number | null, number[]]>([
    ['execute_select', {}, null, [30, 60]],
    ['execute_dml', { statementTimeoutSecs: 45 }, null, [45, 75]],
    ['execute_dml', {}, 90, [90, 120]],
    ['execute_dml', { maxStatementTimeoutSecs: 50 }, 90, [50, 80]],
    ['migrate_status', { migrationStatementTimeoutSecs: 500, migrationLeaseDurationSecs: 5 }, 90, [90, 120]],
    ['migrate_up', {}, 90, [0, 600]],
    ['migrate_down', { migrationStatementTimeoutSecs: 0 }, null, [0, 600]],
    ['migrate_repair', { migrationStatementTimeoutSecs: 100 }, null, [100, 130]],
    ['migrate_up', { migrationStatementTimeoutSecs: 10 }, null, [10, 60]],
    ['migrate_up', { migrationLeaseDurationSecs: 5 }, null, [0, 5]],
    ['migrate_up', { migrationStatementTimeoutSecs: 100, migrationLeaseDurationSecs: 7 }, null, [100, 7]],
  ])('of %s under %j', (operation, over, own, expected) => {
    expect(limits(operation, over, own)).toEqual(expected);
  });

  it('leaves a query at least 60 s and what its timeout needs, within the maximum', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 5000 }), (own, max) => {
        const [timeout, lease] = limits('execute_dml', { maxStatementTimeoutSecs: max }, own) as [number, number];
        expect([timeout, lease]).toEqual([Math.min(own, max), Math.max(60, timeout + 30)]);
      }),
    );
  });
});
