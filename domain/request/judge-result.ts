import { type AuditDraft, systemActor } from '../audit/draft.js';
import { forbidden, invalid, othersRun, refusal } from '../errors.js';
import { cancelledEvent } from './judge-cancel.js';
import { lostEvent } from './judge-clock.js';
import type { Move, Submission } from './moves.js';
import type { Execution, Instant, Status, StoredRequest } from './types.js';
import { type Change, changed, nothing, refuse, type Verdict } from './verdict.js';

type Result = Extract<Move, { kind: 'result' }>;

/**
 * ST-12 to ST-18 by AG-42 to AG-45: the end of an execution as its agent reports it. Neither change nor refusal means that the same submission came
 * again (AG-43).
 */
export function judgeResult(request: StoredRequest, move: Result, now: Instant): Verdict {
  const { reported, submission } = move;
  if (reported.agentId !== move.agentId) return refuse(forbidden(othersRun));
  if (submission.fence !== null && submission.fence !== reported.fence) return refuse(otherFence());
  if (reported.submission === submission.text) return nothing;
  if (reported.fence < request.fence) return lateResult(move);
  const newest = request.execution;
  if (newest === null || newest.id !== reported.id || reported.submission !== null)
    return refuse(refusal('execution.conflict', 'execution has its result already'));
  if (!accepts(request)) return refuse(refusal('execution.conflict', `request is ${request.status}`));
  return accepted(request, newest, { ...move, submission: proven(request, newest, submission) }, now);
}

/** 400 for a submission whose fence is not that of its execution (AG-42). */
export const otherFence = () => invalid('fence is not the one of this execution', 'body.fence');

/** AG-45: results are accepted while running, while lost, and after a cancel while lost. */
const accepts = ({ status, cancelledWhileLost }: StoredRequest) =>
  status === 'running' || status === 'execution_lost' || (status === 'cancelled' && cancelledWhileLost);

/** AG-44: a result with an older fence updates only its own execution. */
function lateResult({ actor, reported, submission }: Result): Verdict {
  const gone = refusal('execution.gone', 'a newer dispatch of this request exists', 'roll back');
  if (reported.submission !== null) return refuse(gone);
  const settles = submission.outcome === 'rolled_back' || submission.outcome === 'not_started';
  const verdict = changed({}, [lateEvent(actor, reported, submission), ...mismatchEvent(actor, reported, submission)], null, {
    execution: {
      id: reported.id,
      set: { submission: submission.text, outcome: submission.outcome, ...(settles ? { unresolved: false } : {}) },
      end: null,
    },
  });
  return { ...verdict, refusal: gone };
}

/** HD-41: an `already_applied` result must name a known attempt whose outcome is open; otherwise the outcome is unknown. */
function proven(request: StoredRequest, own: Execution, submission: Submission): Submission {
  if (submission.outcome !== 'already_applied' || submission.appliedFence === null) return submission;
  const attempts = [{ fence: own.fence, executionId: own.id }, ...request.unresolved];
  const { appliedFence, appliedExecutionId } = submission;
  const fits = ({ fence, executionId }: (typeof attempts)[number]) =>
    fence === appliedFence && (appliedExecutionId === null || appliedExecutionId === executionId);
  if (attempts.some(fits)) return submission;
  const errorMessage = `the marker of attempt ${appliedFence} is of no attempt whose outcome is open; check the database`;
  return {
    ...submission,
    success: false,
    outcome: 'unknown',
    appliedFence: null,
    errorMessage,
    kept: 'empty',
    auditError: { errorClass: 'marker_mismatch', errorMessage },
    markerMismatches: [
      ...submission.markerMismatches,
      { fence: appliedFence, execution_id: appliedExecutionId ?? '', step: '', state: 'done' },
    ],
  };
}

/** The table of AG-45. */
function nextStatus(request: StoredRequest, submission: Submission): Status {
  if (submission.success) return 'executed';
  if (request.status === 'cancelled') return 'cancelled';
  if (submission.outcome === 'unknown') return 'execution_lost';
  const cancelled = request.cancelRequestedAt !== null && submission.cancelled !== false && submission.outcome !== 'partial';
  return cancelled ? 'cancelled' : 'failed';
}

function accepted(request: StoredRequest, execution: Execution, move: Result, now: Instant): Verdict {
  const { submission } = move;
  const status = nextStatus(request, submission);
  const stays = request.status === 'cancelled' && status === 'cancelled';
  const window = status === 'cancelled' ? {} : { dispatchBy: now + execution.windowSecs * 1000 };
  const lost = status === 'execution_lost' ? { lostReason: submission.errorMessage ?? 'outcome unknown' } : {};
  const state: Partial<StoredRequest> = stays ? {} : { status, resolvedAt: now, claimedBy: null, ...window, ...lost };
  const mismatches = mismatchEvent(move.actor, move.reported, submission);
  return changed(
    state,
    [...events(request, move, status), ...mismatches],
    stays ? null : { name: 'completion', actor: move.agentId, step: null },
    {
      execution: endOf(execution, submission),
      settled: settledFences(request, execution, submission),
    },
  );
}

function endOf(execution: Execution, submission: Submission): Change['execution'] {
  const unknown = submission.outcome === 'unknown';
  return {
    id: execution.id,
    set: {
      status: submission.success ? 'completed' : 'failed',
      lost: unknown,
      unresolved: unknown && execution.mutating,
      outcome: submission.outcome,
      submission: submission.text,
    },
    end: submission,
  };
}

/** AG-59: success proves every attempt. A run that started under markers proves that no earlier one is applied. */
function settledFences(request: StoredRequest, execution: Execution, submission: Submission): number[] {
  const ran = execution.marker === 'required' && (submission.outcome === 'rolled_back' || submission.outcome === 'partial');
  return submission.success || ran ? request.unresolved.map(({ fence }) => fence) : [];
}

function events(request: StoredRequest, move: Result, status: Status): AuditDraft[] {
  const { actor, reported, submission } = move;
  if (request.status === 'cancelled' && status === 'cancelled') return [lateEvent(actor, reported, submission)];
  switch (status) {
    case 'executed':
      return [completedEvent(move)];
    case 'cancelled':
      return cancelledEvents(request, move);
    case 'execution_lost':
      return [{ ...lostEvent(request, reported.fence, 'unknown'), resourceId: reported.id }];
    default:
      return [failedEvent(move)];
  }
}

function completedEvent(move: Result): AuditDraft {
  const { rowsAffected, steps } = move.submission;
  const rows = rowsAffected === null ? {} : { rows_affected: Number(rowsAffected) };
  const { fence, outcome, ...duration } = factsOf(move);
  return {
    ...endEvent(move),
    type: 'execution.completed',
    outcome: 'success',
    metadata: { fence, outcome, ...rows, ...duration, ...steps },
  };
}

function failedEvent(move: Result): AuditDraft {
  const { auditError, steps } = move.submission;
  const { errorClass, errorMessage } = auditError;
  const error = { error_class: errorClass, ...(errorMessage === null ? {} : { error_message: errorMessage }) };
  return { ...endEvent(move), type: 'execution.failed', outcome: 'failure', metadata: { ...factsOf(move), ...error, ...steps } };
}

/** The wish is the user's; the credential and addresses of this call are the agent's. */
function cancelledEvents(request: StoredRequest, move: Result): AuditDraft[] {
  const by = { ...systemActor, id: request.cancelledBy ?? 'system', type: 'user' } as const;
  return [
    { ...endEvent(move), type: 'execution.cancelled', outcome: 'success', metadata: factsOf(move) },
    cancelledEvent(request, by, request.cancelReason, request.cancelCause ?? 'requested'),
  ];
}

const endEvent = ({ actor, reported }: Result) =>
  ({ actor, resourceType: 'execution', resourceId: reported.id, reason: null }) as const;

const factsOf = ({ reported, submission: { outcome, durationMs } }: Result) => ({
  fence: reported.fence,
  outcome,
  ...(durationMs === null ? {} : { duration_ms: durationMs }),
});

/** One event for any number of rows, so that an agent cannot flood the audit log. */
function mismatchEvent(actor: Result['actor'], reported: Result['reported'], submission: Submission): AuditDraft[] {
  if (submission.markerMismatches.length === 0) return [];
  const metadata = { fence: reported.fence, rows: submission.markerMismatches };
  const resource = { resourceType: 'execution', resourceId: reported.id, reason: null } as const;
  return [{ type: 'execution.marker_mismatch', outcome: 'denied', actor, ...resource, metadata }];
}

const lateEvent = (actor: Result['actor'], reported: Result['reported'], submission: Submission): AuditDraft => ({
  type: 'execution.late_result',
  outcome: 'info',
  actor,
  resourceType: 'execution',
  resourceId: reported.id,
  reason: null,
  metadata: { fence: reported.fence, outcome: submission.outcome },
});
