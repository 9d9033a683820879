import type { WorkflowConfig } from '../../config/shared-types.js';
import { type Caller, can, type Pair, type Permission } from '../../domain/permissions.js';
import type { Finding, RiskFactor } from '../../domain/request/context.js';
import { effectiveStatementTimeoutSecs, matchWorkflow, type Operation, type RiskLevel } from '../../domain/workflow-policy.js';
import type { Dialect, Verdict } from '../../sql/judge.js';
import type { Generation, Services } from '../context.js';
import { executionPolicy } from './facts.js';

export type Accepted = Extract<Verdict, { verdict: 'accepted' }>;

/** What the rules of a pair say of an accepted text: the same for a creation and a preflight (C17). */
export interface Judgement {
  /** The workflow policy a creation would be stored with. */
  matched: WorkflowConfig | null;
  review: { policyId: string | null; findings: Finding[]; blocked: boolean; bypassable: boolean };
  risk: { level: RiskLevel; factors: RiskFactor[]; schemaStatus: string };
  /** Named by the text; null = not known. */
  tables: unknown[] | null;
  schemaSnapshotCollectedAt: string | null;
}

/**
 * The verdict under the statement timeout in force. The effective timeout of SQ-51 depends on the operation that the verdict itself decides: what
 * passes under the longer one is judged again under its own.
 */
export async function judgeText(
  services: Services,
  generation: Generation,
  text: Pair & { sql: string; dialect: Dialect | null },
): Promise<Verdict> {
  const timeoutOf = (operation: Operation) =>
    effectiveStatementTimeoutSecs(
      executionPolicy(generation, text),
      matchWorkflow(generation.shared.workflows, { ...text, operation }),
    );
  const judge = (statementTimeoutSecs: number) => services.judge.judge(text.sql, { dialect: text.dialect, statementTimeoutSecs });
  const assumed = Math.max(timeoutOf('execute_select'), timeoutOf('execute_dml'));
  const verdict = await judge(assumed);
  if (verdict.verdict !== 'accepted') return verdict;
  const real = timeoutOf(verdict.operation);
  return real === assumed ? verdict : judge(real);
}

/** Workflow policy, review and risk of an accepted text. */
export async function judgeAccepted(generation: Generation, pair: Pair, verdict: Accepted): Promise<Judgement> {
  const matched = matchWorkflow(generation.shared.workflows, { ...pair, operation: verdict.operation });
  return {
    matched,
    review: { policyId: null, findings: [], blocked: false, bypassable: true },
    risk: { level: 'unknown', factors: [{ name: 'schema_not_synced' }], schemaStatus: 'not_synced' },
    tables: null,
    schemaSnapshotCollectedAt: null,
  };
}

/** RQ-21: whether the caller holds every permission that creating this text needs. */
export function maySubmit(
  caller: Caller,
  pair: Pair,
  verdict: Accepted,
  how: { emergency: boolean; allowDdl: boolean },
): boolean {
  return neededPermissions(verdict, how).every((permission) => can(caller, permission, pair));
}

function neededPermissions(verdict: Accepted, { emergency, allowDdl }: { emergency: boolean; allowDdl: boolean }): Permission[] {
  const needed: Permission[] = [];
  if (verdict.read) needed.push(emergency ? 'request.break_glass_query' : 'request.query');
  if (verdict.write) needed.push(emergency ? 'request.break_glass_dml' : 'request.dml');
  if (verdict.ddl)
    needed.push(...(emergency ? (['request.break_glass_dml', 'request.ddl'] as const) : (['request.ddl'] as const)));
  if (allowDdl) needed.push('request.break_glass_ddl');
  return needed;
}
