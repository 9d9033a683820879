import type { ExecutionPolicy, Operation } from '../policies.js';
import { effectiveStatementTimeoutSecs } from '../workflow-policy.js';
import { isMutatingMigration } from './types.js';

type Limits = Pick<
  ExecutionPolicy,
  'statementTimeoutSecs' | 'maxStatementTimeoutSecs' | 'migrationStatementTimeoutSecs' | 'migrationLeaseDurationSecs'
>;

const shortestLeaseSecs = 60;
const migrationLeaseSecs = 600;

/** The statement timeout (0 = none) and the lease of a run, by the policy in force at its claim (AG-37). */
export function runLimits(
  operation: Operation,
  policy: Limits,
  workflow: { statementTimeoutSecs: number | null } | null,
): { statementTimeoutSecs: number; leaseSecs: number } {
  const longest = policy.maxStatementTimeoutSecs + 30;
  const leaseFor = (timeoutSecs: number) => Math.max(shortestLeaseSecs, Math.min(timeoutSecs + 30, longest));
  if (!isMutatingMigration(operation)) {
    const statementTimeoutSecs = effectiveStatementTimeoutSecs(policy, workflow);
    return { statementTimeoutSecs, leaseSecs: leaseFor(statementTimeoutSecs) };
  }
  const statementTimeoutSecs = policy.migrationStatementTimeoutSecs ?? 0;
  const leaseSecs = statementTimeoutSecs > 0 ? leaseFor(statementTimeoutSecs) : migrationLeaseSecs;
  return { statementTimeoutSecs, leaseSecs: policy.migrationLeaseDurationSecs ?? leaseSecs };
}
