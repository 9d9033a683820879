import type { AuditDraft } from '../audit/draft.js';
import { cancelledEvent, whoCancelled } from './judge-cancel.js';
import { lostEvent } from './judge-clock.js';
import type { Move } from './moves.js';
import type { Status, StoredRequest } from './types.js';

type Result = Extract<Move, { kind: 'result' }>;

/** The events of an accepted result that leads to `status`. */
export function resultEvents(request: StoredRequest, move: Result, status: Status): AuditDraft[] {
  if (request.status === 'cancelled' && status === 'cancelled') return lateEvents(move);
  return [...endEvents(request, move, status), ...mismatchEvents(move)];
}

/** The events of a confirmed cancel of the newest attempt, of a request that another one has executed. */
export const stoppedEvents = (move: Result, executed: AuditDraft): AuditDraft[] => [
  stoppedEvent(move),
  executed,
  ...mismatchEvents(move),
];

/** What is only noted of a result that comes too late to decide (AG-44, ST-18). */
export const lateEvents = (move: Result): AuditDraft[] => [lateEvent(move), ...mismatchEvents(move)];

function endEvents(request: StoredRequest, move: Result, status: Status): AuditDraft[] {
  switch (status) {
    case 'executed':
      return [completedEvent(move)];
    case 'cancelled':
      return cancelledEvents(request, move);
    case 'execution_lost':
      return [lostEvent(move.reported, 'unknown')];
    default:
      return [failedEvent(move)];
  }
}

function completedEvent(move: Result): AuditDraft {
  const { rowsAffected, steps } = move.submission;
  const rows = rowsAffected === null ? {} : { rows_affected: exactCount(rowsAffected) };
  const { fence, outcome, ...duration } = factsOf(move);
  return {
    ...endEvent(move),
    type: 'execution.completed',
    outcome: 'success',
    metadata: { fence, outcome, ...rows, ...duration, ...steps },
  };
}

const exactCount = (digits: string) => (Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits));

function failedEvent(move: Result): AuditDraft {
  const { auditError, steps } = move.submission;
  const { errorClass, errorMessage } = auditError;
  const error = { error_class: errorClass, ...(errorMessage === null ? {} : { error_message: errorMessage }) };
  return { ...endEvent(move), type: 'execution.failed', outcome: 'failure', metadata: { ...factsOf(move), ...error, ...steps } };
}

/** The wish is the user's; the credential and addresses of this call are the agent's. */
function cancelledEvents(request: StoredRequest, move: Result): AuditDraft[] {
  const by = whoCancelled(request);
  return [stoppedEvent(move), cancelledEvent(request, by, request.cancelReason, request.cancelCause ?? 'requested')];
}

const stoppedEvent = (move: Result): AuditDraft => ({
  ...endEvent(move),
  type: 'execution.cancelled',
  outcome: 'success',
  metadata: factsOf(move),
});

const endEvent = ({ actor, reported }: Result) =>
  ({ actor, resourceType: 'execution', resourceId: reported.id, reason: null }) as const;

const factsOf = ({ reported, submission: { outcome, durationMs } }: Result) => ({
  fence: reported.fence,
  outcome,
  ...(durationMs === null ? {} : { duration_ms: durationMs }),
});

/** One event for any number of rows, so that an agent cannot flood the audit log. */
function mismatchEvents(move: Result): AuditDraft[] {
  const { markerMismatches: rows } = move.submission;
  if (rows.length === 0) return [];
  const metadata = { fence: move.reported.fence, rows };
  return [{ ...endEvent(move), type: 'execution.marker_mismatch', outcome: 'denied', metadata }];
}

const lateEvent = (move: Result): AuditDraft => ({
  ...endEvent(move),
  type: 'execution.late_result',
  outcome: 'info',
  metadata: { fence: move.reported.fence, outcome: move.submission.outcome },
});
