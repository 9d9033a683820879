import { forbidden, invalid, othersRun, refusal } from '../errors.js';
import type { Move, Submission } from './moves.js';
import { notedSuccess, provenEnd, provenEvent, provenState } from './noted-success.js';
import { lateEvents, resultEvents, stoppedEvents } from './result-events.js';
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
  if (reported.fence < request.fence) return lateResult(request, move, now);
  const newest = request.execution;
  if (newest === null || newest.id !== reported.id || reported.submission !== null)
    return refuse(refusal('execution.conflict', 'execution has its result already'));
  if (accepts(request)) return accepted(request, newest, { ...move, submission: proven(request, newest, submission) }, now);
  const over = refusal('execution.conflict', `request is ${request.status}`);
  // The marker that it may have found is that of the other, which is no longer open.
  return isExecutedByAnother(request, newest) ? { ...noted(move), refusal: over } : refuse(over);
}

/** 400 for a submission whose fence is not that of its execution (AG-42). */
export const otherFence = () => invalid('fence is not the one of this execution', 'body.fence');

/** AG-45: results are accepted while running, while lost, and after a cancel while lost. */
const accepts = ({ status, cancelledWhileLost }: StoredRequest) =>
  status === 'running' || status === 'execution_lost' || (status === 'cancelled' && cancelledWhileLost);

const isExecutedByAnother = ({ status }: StoredRequest, { lost }: Execution) => status === 'executed' && lost;

/** AG-44: a result with an older fence updates only its own execution. RQ-73: unless what is shown as cancelled turns out to have committed. */
function lateResult(request: StoredRequest, move: Result, now: Instant): Verdict {
  const gone = refusal('execution.gone', 'a newer dispatch of this request exists', 'roll back');
  if (move.reported.submission !== null) return refuse(gone);
  const submission = proven(request, move.reported, move.submission);
  const open = request.attempts.find(({ id, unresolved }) => unresolved && id === move.reported.id);
  if (open !== undefined && request.status === 'cancelled' && submission.success)
    return { ...accepted(request, open, { ...move, submission: withoutData(submission) }, now), refusal: gone };
  return { ...noted({ ...move, submission }), refusal: gone };
}

/** Data is kept only of what the newest fence reports (AG-44). */
const withoutData = (submission: Submission): Submission =>
  submission.kept === 'object' ? { ...submission, kept: 'empty' } : submission;

function noted(move: Result): Verdict {
  const { reported, submission } = move;
  const settles = submission.outcome === 'rolled_back' || submission.outcome === 'not_started';
  const set = { submission: submission.text, outcome: submission.outcome, ...(settles ? { unresolved: false } : {}) };
  return changed({}, lateEvents(move), null, { execution: { id: reported.id, set, end: null } });
}

/** HD-41: an `already_applied` result must name a known attempt whose outcome is open; otherwise the outcome is unknown. */
function proven(request: StoredRequest, own: Pick<Execution, 'id' | 'fence'>, submission: Submission): Submission {
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
  const settled = settledFences(request, execution, submission);
  const status = nextStatus(request, submission);
  const stays = request.status === 'cancelled' && status === 'cancelled';
  const proof = status === 'cancelled' && !stays ? notedSuccess(request, settled) : null;
  if (proof !== null) return cancelledTooLate(request, execution, proof, move, now);
  const window = status === 'cancelled' ? {} : { dispatchBy: now + execution.windowSecs * 1000 };
  const lost = status === 'execution_lost' ? { lostReason: submission.errorMessage ?? 'outcome unknown' } : {};
  const state: Partial<StoredRequest> = stays ? {} : { status, resolvedAt: now, claimedBy: null, ...window, ...lost };
  return changed(
    state,
    resultEvents(request, move, status),
    stays ? null : { name: 'completion', actor: move.agentId, step: null },
    { execution: endOf(execution, submission), settled },
  );
}

/** RQ-73: the newest attempt stopped as asked, but an older one had reported a success. */
function cancelledTooLate(request: StoredRequest, newest: Execution, proof: Execution, move: Result, now: Instant): Verdict {
  return changed(
    provenState(proof, now),
    stoppedEvents(move, provenEvent(proof)),
    { name: 'completion', actor: move.agentId, step: null },
    {
      execution: endOf(newest, move.submission),
      proven: provenEnd(proof),
      settled: request.unresolved.map(({ fence }) => fence),
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
