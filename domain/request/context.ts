import { shownPlan } from '../mysql-plan.js';
import { isPermissionError, shownPlanError } from '../plan-error.js';
import type { ReviewRule } from '../policies.js';
import type { Instant } from './types.js';

/** What approvers are shown, collected when a request is made (RQ-42, RQ-43); null = not collected. */
export interface CollectedContext {
  tables: unknown[] | null;
  sqlReview: { findings: unknown[]; blocked: boolean } | null;
  risk: { level: string; factors: RiskFactor[] } | null;
  schemaSnapshotCollectedAt: string | null;
}

export interface Finding {
  code: ReviewRule;
  action: 'block' | 'warn';
  message: string;
  statementIndex: number;
  /** The migration that the finding is in. */
  version?: string;
  /** Where its statement begins in the text of that migration. */
  line?: number;
}

/** SQ-93: the name, and more fields for some names. */
export type RiskFactor = { name: string } & Record<string, unknown>;

/** The review and risk of a creation in the form its context shows: names in camel case, levels capitalised (RQ-42). */
export function collectedContext(judged: {
  tables: unknown[] | null;
  review: { findings: readonly Finding[]; blocked: boolean };
  risk: { level: string; factors: RiskFactor[] };
  schemaSnapshotCollectedAt: string | null;
}): CollectedContext {
  return {
    tables: judged.tables,
    sqlReview: shownReview(judged.review),
    risk: { level: capitalised(judged.risk.level), factors: judged.risk.factors },
    schemaSnapshotCollectedAt: judged.schemaSnapshotCollectedAt,
  };
}

/** A review as the context shows it. In a migration each finding carries its version (HD-95). */
export function shownReview({ findings, blocked }: { findings: readonly Finding[]; blocked: boolean }) {
  const shown = findings.map(({ code, action, message, statementIndex, version }) => ({
    rule: capitalised(code),
    level: capitalised(action),
    message,
    statement_index: statementIndex,
    ...(version === undefined ? {} : { version }),
  }));
  return { findings: shown, blocked };
}

/** As the context spells names of rules and levels (RQ-42). */
export const capitalised = (name: string) => name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** A statement of a request and the state of its EXPLAIN; `plan` is the agent's JSON text. */
export interface DryRun {
  sql: string;
  state: 'pending' | 'claimed' | 'completed' | 'failed';
  plan: string | null;
  error: string | null;
}

export interface ShownContext {
  status: 'collecting' | 'ready' | 'partial' | 'unavailable';
  explain_enabled: boolean;
  tables: unknown[] | null;
  sql_review: unknown;
  risk: unknown;
  explain: Explained[] | null;
  schema_snapshot_collected_at: string | null;
}

type Explained = { sql: string; plan: unknown } | { sql: string; error: string; hint: string | null };

/** TT-5: how long to wait for plans. */
const collectingMs = 300_000;

const nothing = { tables: null, sql_review: null, risk: null, explain: null, schema_snapshot_collected_at: null } as const;

/** The context as `show` returns it (AG-69), computed from the jobs as they are now, so that a late plan still appears. */
export function shownContext(
  request: { operation: string; createdAt: Instant },
  collected: CollectedContext | null,
  dryRuns: readonly DryRun[],
  now: Instant,
): ShownContext {
  if (request.operation.startsWith('migrate_'))
    return { ...nothing, status: 'ready', explain_enabled: false, sql_review: collected?.sqlReview ?? null };
  if (collected === null) return { ...nothing, status: 'unavailable', explain_enabled: false };
  const open = dryRuns.some(({ state }) => state === 'pending' || state === 'claimed');
  const waiting = now - request.createdAt < collectingMs ? 'collecting' : 'unavailable';
  const settled = dryRuns.every(({ state }) => state === 'completed') ? 'ready' : 'partial';
  return {
    status: open ? waiting : settled,
    explain_enabled: dryRuns.length > 0,
    tables: collected.tables,
    sql_review: collected.sqlReview,
    risk: collected.risk,
    explain: open || dryRuns.length === 0 ? null : dryRuns.map(explained),
    schema_snapshot_collected_at: collected.schemaSnapshotCollectedAt,
  };
}

function explained({ sql, state, plan, error }: DryRun): Explained {
  // Plans stored before HD-2 are as the agent sent them.
  const shown = state === 'completed' ? shownPlan(plan ?? '{}') : { error: shownPlanError(error ?? noPlan) };
  if ('plan' in shown) return { sql, plan: JSON.parse(shown.plan) as unknown };
  return { sql, error: shown.error, hint: isPermissionError(shown.error) ? planRoleHint : null };
}

const noPlan = 'no agent answered in time';
const planRoleHint = 'plans are made as the role of read_url; the request itself runs as the role of url';
