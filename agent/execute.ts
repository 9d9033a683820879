import type { ClaimTerms } from '../crypto/execution-token.js';
import { CLOCK_TOLERANCE_MS, type TokenVerdict, verifyExecutionToken } from '../crypto/verify-execution-token.js';
import { isMutating } from '../domain/request/types.js';
import type { SqlClassifier } from '../sql/classify.js';
import { type Tracing, traced } from '../tracing/tracing.js';
import type { CancelControl } from './cancel-control.js';
import type { AgentConfig } from './config-values.js';
import type { Run, RunReport } from './drivers/driver.js';
import { passGate } from './gate.js';
import { partOfJob, toldOfRun } from './job-spans.js';
import type { KeyRing } from './key-ring.js';
import type { Lease } from './lease.js';
import { lostAttempts, lostByOthers } from './lost-attempts.js';
import { reservedNames } from './marker.js';
import { endedUnproven, failure, foundOtherPath, lackedMarker, MARKER_NOT_AVAILABLE, type Outcome } from './outcome.js';
import type { ClaimAnswer } from './protocol.js';
import type { StartedAttempts } from './started-attempts.js';
import type { Target } from './target.js';

export interface ExecuteDependencies {
  config: AgentConfig;
  classifier: SqlClassifier;
  keys: KeyRing;
  tracing: Tracing;
  started: StartedAttempts;
  /** Called with a target whose tables or search path may have changed. */
  onSchemaChanged: (target: Target) => void;
}

export interface ClaimedJob {
  claim: ClaimAnswer;
  /** Found when it was claimed, and held to its end: a reload changes nothing for it (AP-19). */
  target: Target | undefined;
  /** `agent_id` of the poll answers. */
  agentId: string;
  control: CancelControl;
  lease: Lease;
  firstLostAt: Run['firstLostAt'];
  /** Filled during the run. */
  strangers: Run['strangers'];
  isNewest: Run['isNewest'];
}

/** A job's outcome and its fence. The fence is null when the token did not verify: nothing else of that claim counts then. */
export interface JobReport {
  outcome: Outcome;
  fence: number | null;
}

/**
 * Verifies, classifies and runs a claimed job (AP-20). Returns null when this process has started the attempt before; that task
 * reports it (ET-41). Never throws.
 */
export async function executeJob(job: ClaimedJob, dependencies: ExecuteDependencies): Promise<JobReport | null> {
  const { fence } = job.claim;
  try {
    const verified = await traced(
      dependencies.tracing,
      partOfJob(job.claim, 'verify token'),
      () => verify(job, dependencies),
      ({ ok }) => ({ attributes: {}, error: ok ? null : 'not_verified' }),
    );
    if (!verified.ok) {
      const refused = failure('not_started', `token verification failed: ${verified.why}`);
      return { outcome: endedUnproven(refused, verified.unresolvedFences), fence: null };
    }
    if (!dependencies.started.add(job.claim)) return null;
    // Its claim may have arrived late: the answer extends the lease or ends it (AG-40a).
    if (!job.lease.holds) await job.isNewest();
    return { ...(await runVerified(job, verified.expiresAt, dependencies)), fence };
  } catch {
    // A bug of ours: what happened in the database is unknown.
    return { outcome: failure('unknown', 'internal error of the agent'), fence };
  }
}

async function verify(job: ClaimedJob, { keys }: ExecuteDependencies): Promise<TokenVerdict> {
  const terms = termsOf(job.claim);
  await keys.refreshFor(job.claim.execution_token);
  return verifyExecutionToken(job.claim.execution_token, terms, {
    keys: keys.keys,
    agentId: job.agentId,
    now: new Date(),
    hasExecutionPlan: (job.claim.execution_plan ?? job.claim.execution_plan_json ?? null) !== null,
  });
}

async function runVerified(job: ClaimedJob, expiresAt: number, dependencies: ExecuteDependencies): Promise<RunReport> {
  const { claim, target } = job;
  const { config, classifier, onSchemaChanged, tracing } = dependencies;
  const operation = config.operations.find((one) => one === claim.operation);
  if (operation === undefined) return refuse(claim, `unsupported operation: ${claim.operation}`);
  if (!target || target.degraded) {
    const why = `no pool for database=${claim.database} environment=${claim.environment}`;
    return refuse(claim, `config error: ${why}`);
  }
  if (isMutating(operation) && config.marker.mode === 'required' && claim.marker !== 'required') {
    return refuse(claim, MARKER_NOT_AVAILABLE);
  }
  if (claim.max_affected_rows != null && operation.startsWith('migrate_'))
    return refuse(claim, 'refused: a migration does not pass without approval');
  const timeoutSecs = effectiveTimeout(
    claim.statement_timeout_secs ?? config.statementTimeoutSecs,
    config.maxStatementTimeoutSecs,
  );
  const gated = await traced(
    tracing,
    partOfJob(claim, 'classify statement'),
    () => passGate({ operation, detail: claim.detail, timeoutSecs }, target.driver, classifier, reservedNames(config)),
    ({ ok }) => ({ attributes: {}, error: ok ? null : 'refused' }),
  );
  if (!gated.ok) return refuse(claim, `refused: ${gated.why}`);
  const { statements, changed } = gated;
  const ran = await traced(
    tracing,
    partOfJob(claim, 'run statement', 'client'),
    () => gated.carryOut(runOf(job, { statements, changed, timeoutSecs, expiresAt, config })),
    ({ outcome }) => toldOfRun(target, operation, outcome),
  );
  target.noteRun(ran.connectivity);
  if (lackedMarker(ran.outcome)) void target.lookForMarkers();
  const isStale = (gated.changesSchema && mayHaveChanged(ran.outcome)) || foundOtherPath(ran.outcome);
  if (isStale) onSchemaChanged(target);
  return ran;
}

function runOf(
  { claim, agentId, control, lease, firstLostAt, strangers, isNewest }: ClaimedJob,
  classified: Pick<Run, 'statements' | 'changed' | 'timeoutSecs'> & { expiresAt: number; config: AgentConfig },
): Run {
  const { limits, fenceWaitMs } = classified.config;
  return {
    requestId: claim.request_id,
    executionId: claim.execution_id,
    agentId,
    fence: claim.fence,
    unresolvedFences: claim.unresolved_fences,
    unresolvedExecutions: lostAttempts(claim) ?? null,
    approvalDigest: claim.approval_digest,
    strangers,
    isNewest,
    firstLostAt,
    lostByOthers: lostByOthers(claim, agentId),
    marker: claim.marker === 'required',
    step: '',
    statements: classified.statements,
    changed: classified.changed,
    maxAffectedRows: claim.max_affected_rows ?? null,
    searchPath: claim.search_path ?? null,
    timeoutSecs: classified.timeoutSecs,
    limits: {
      maxRows: Math.min(limits.maxRows, claim.max_rows ?? limits.maxRows),
      maxResultBytes: Math.min(limits.maxResultBytes, claim.max_result_bytes),
      maxRowBytes: limits.maxRowBytes,
    },
    fenceWaitMs,
    control,
    mayStart: () => lease.holds && Date.now() <= classified.expiresAt + CLOCK_TOLERANCE_MS,
  };
}

/** Whether DDL may have taken effect, wholly or in part. */
const mayHaveChanged = ({ success, outcome }: Outcome) => success || outcome === 'partial' || outcome === 'unknown';

/** Seconds per statement: the claim's, capped by the agent's own maximum, which also caps "no limit" (AP-20). */
export function effectiveTimeout(claimedSecs: number, maximumSecs: number): number {
  if (maximumSecs === 0) return claimedSecs;
  return claimedSecs === 0 ? maximumSecs : Math.min(claimedSecs, maximumSecs);
}

function refuse({ unresolved_fences }: ClaimAnswer, why: string): RunReport {
  const outcome = endedUnproven(failure('not_started', why), unresolved_fences);
  return { outcome, connectivity: false, released: Promise.resolve() };
}

function termsOf(claim: ClaimAnswer): ClaimTerms {
  return {
    requestId: claim.request_id,
    operation: claim.operation,
    environment: claim.environment,
    database: claim.database,
    detail: claim.detail,
    executionId: claim.execution_id,
    fence: claim.fence,
    unresolvedFences: claim.unresolved_fences,
    unresolvedExecutions: lostAttempts(claim),
    approvalDigest: claim.approval_digest,
    policyRevision: claim.policy_revision,
    statementTimeoutSecs: claim.statement_timeout_secs ?? null,
    maxRows: claim.max_rows,
    maxResultBytes: claim.max_result_bytes,
    marker: claim.marker,
    maxAffectedRows: claim.max_affected_rows,
    searchPath: claim.search_path,
  };
}
