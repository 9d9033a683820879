import { BUILTIN_REVIEW } from '../../config/shared.js';
import { outsideDatabaseWork } from '../../db/call-limit.js';
import { iso } from '../../db/row-types.js';
import type { Caller, Pair } from '../../domain/caller.js';
import { refusal } from '../../domain/errors.js';
import type { Permission } from '../../domain/permission-table.js';
import { can } from '../../domain/permissions.js';
import type { Operation, WorkflowPolicy } from '../../domain/policies.js';
import { type NamedTable, namedTables } from '../../domain/request/named-tables.js';
import { assessRisk, type Risk } from '../../domain/risk.js';
import { canBeBounded } from '../../domain/row-bound.js';
import { searchPathOf } from '../../domain/snapshot.js';
import type { Dialect } from '../../domain/statement.js';
import { effectiveStatementTimeoutSecs, matchPolicy, matchWorkflow } from '../../domain/workflow-policy.js';
import type { Verdict } from '../../sql/classify.js';
import { type Review, review } from '../../sql/review.js';
import type { Generation, Services } from '../context.js';
import type { Ahead } from '../http/ahead.js';
import { executionPolicy } from './pair.js';
import { currentSnapshot, type KnownSnapshot } from './snapshots.js';

export type Accepted = Extract<Verdict, { verdict: 'accepted' }>;

/** What a pair's rules say of an accepted text; the same for a creation and a preflight (C17). */
export interface Assessment {
  /** The workflow policy that a creation would store. */
  matched: WorkflowPolicy | null;
  review: Review & { policyId: string };
  risk: Risk;
  /** Whether an agent can enforce a row limit on it (HD-25). */
  bounded: boolean;
  /** Tables that the text names. */
  tables: NamedTable[];
  /** The search path that resolved the table names (HD-31). */
  searchPath: readonly string[] | null;
  schemaSnapshotCollectedAt: string | null;
}

/** `redact`: the verdict of an accepted text also carries it redacted. */
type TextToClassify = Pair & { sql: string; dialect: Dialect | null; redact?: boolean };

/** Classifies the text and reads its pair's good snapshot at the same time. */
export async function classifyText(
  services: Services,
  generation: Generation,
  text: TextToClassify,
  call: { caller: Caller; ahead?: Ahead | null },
): Promise<{ verdict: Verdict; known: KnownSnapshot | null }> {
  const [verdict, known] = await Promise.all([
    classify(services, generation, text, call.caller),
    currentSnapshot(services.database, text, call),
  ]);
  return { verdict, known };
}

/**
 * Classifies under the effective statement timeout (SQ-51). That timeout depends on the operation, which the verdict decides: a text that
 * passes under the longer timeout is classified again under its own. A text that found no free classifier is 503, never a verdict.
 */
async function classify(services: Services, generation: Generation, text: TextToClassify, caller: Caller): Promise<Verdict> {
  const timeoutOf = (operation: Operation) =>
    effectiveStatementTimeoutSecs(
      executionPolicy(generation, text),
      matchWorkflow(generation.shared.workflows, { ...text, operation }),
    );
  const classifyUnder = async (statementTimeoutSecs: number) => {
    const options = { dialect: text.dialect, statementTimeoutSecs, redact: text.redact ?? false };
    const verdict = await outsideDatabaseWork(() => services.classifier.classify(text.sql, options, caller.id));
    if ('busy' in verdict)
      throw refusal('service.unavailable', 'SQL texts cannot be classified at the moment', 'try again later');
    return verdict;
  };
  const assumed = Math.max(timeoutOf('execute_select'), timeoutOf('execute_dml'));
  const verdict = await classifyUnder(assumed);
  if (verdict.verdict !== 'accepted') return verdict;
  const real = timeoutOf(verdict.operation);
  return real === assumed ? verdict : classifyUnder(real);
}

/** Workflow policy, review and risk of an accepted text, using the pair's good snapshot. */
export function assessAccepted(
  { shared }: Generation,
  { dialect, ...pair }: Pair & { dialect: Dialect | null },
  verdict: Accepted,
  known: KnownSnapshot | null,
): Assessment {
  const { operation, facts } = verdict;
  const matched = matchWorkflow(shared.workflows, { ...pair, operation });
  const policy = matchPolicy(shared.sqlReview, pair) ?? BUILTIN_REVIEW;
  const reviewed = review(verdict, policy.rules);
  const autoApprove = matched?.autoApprove ?? null;
  const snapshot = known?.snapshot ?? null;
  return {
    matched,
    review: { ...reviewed, policyId: policy.id },
    risk: assessRisk({ operation, facts, findings: reviewed.findings, autoApprove, snapshot, snapshotAgeMs: known?.ageMs ?? 0 }),
    bounded: operation === 'execute_select' || canBeBounded(verdict, dialect, snapshot),
    tables: namedTables(facts, snapshot, operation),
    searchPath: searchPathOf(snapshot, operation),
    schemaSnapshotCollectedAt: known === null ? null : iso(known.collectedAt),
  };
}

/** RQ-21: the permissions that creating this text needs and the caller lacks. */
export function missingPermissions(
  caller: Caller,
  pair: Pair,
  verdict: Accepted,
  how: { emergency: boolean; allowDdl: boolean },
): Permission[] {
  return [...new Set(neededPermissions(verdict, how))].filter((permission) => !can(caller, permission, pair));
}

export const maySubmit = (...asked: Parameters<typeof missingPermissions>): boolean => missingPermissions(...asked).length === 0;

function neededPermissions(verdict: Accepted, { emergency, allowDdl }: { emergency: boolean; allowDdl: boolean }): Permission[] {
  const needed: Permission[] = [];
  if (verdict.read) needed.push(emergency ? 'request.break_glass_query' : 'request.query');
  if (verdict.write) needed.push(emergency ? 'request.break_glass_dml' : 'request.dml');
  if (verdict.ddl)
    needed.push(...(emergency ? (['request.break_glass_dml', 'request.ddl'] as const) : (['request.ddl'] as const)));
  if (allowDdl) needed.push('request.break_glass_ddl');
  return needed;
}
