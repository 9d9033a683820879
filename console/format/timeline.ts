import { databaseError } from '../../lib/database-error.js';
import type { Schema } from '../http/client.js';
import type { Tone } from './status.js';

export interface Moment {
  at: string;
  who: string;
  what: string;
  note: string | null;
  tone: Tone;
}

type Request = Schema['Request'];

/** Every move of a request that it and its runs tell of, oldest first. */
export function timelineOf(request: Request, executions: readonly Schema['Execution'][]): Moment[] {
  const moments = [created(request), ...decided(request), ...executions.flatMap(ran), ...ended(request)];
  return moments
    .filter((moment): moment is Moment => moment !== null)
    .sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

function created({ created_at, requester, reason, emergency, decision_trace }: Request): Moment {
  const passed = decision_trace.decision.outcome === 'auto_approved';
  const what = emergency ? 'asked for it as an emergency' : passed ? 'asked for it; it passed by itself' : 'asked for it';
  return { at: created_at, who: requester, what, note: reason, tone: emergency ? 'bad' : 'off' };
}

function decided({ approval_progress }: Request): Moment[] {
  const steps = approval_progress?.steps ?? [];
  return steps.flatMap(({ approvals, index }) =>
    approvals.map(({ user, action, at, comment }) => ({
      at,
      who: user,
      what: `${action === 'approve' ? 'approved' : 'rejected'} step ${index + 1} of ${steps.length}`,
      note: comment,
      tone: action === 'approve' ? ('good' as const) : ('bad' as const),
    })),
  );
}

function ran({ agent_id, fence, started_at, finished_at, error_message, outcome }: Schema['Execution']): (Moment | null)[] {
  const failed = error_message !== null;
  return [
    { at: started_at, who: agent_id, what: `took attempt ${fence}`, note: null, tone: 'go' },
    finished_at === null
      ? null
      : {
          at: finished_at,
          who: agent_id,
          what: failed
            ? `attempt ${fence} failed`
            : `attempt ${fence} ended${outcome === null ? '' : `: ${outcome.replaceAll('_', ' ')}`}`,
          note: error_message === null ? null : databaseError(error_message, null).message,
          tone: failed ? 'bad' : 'good',
        },
  ];
}

function ended(request: Request): (Moment | null)[] {
  const { status, cancel_requested_at, cancelled_by, cancel_reason, resolved_at, expires_at } = request;
  const who = cancelled_by ?? 'system';
  const asked = cancel_requested_at !== null && cancel_requested_at !== resolved_at;
  return [
    asked ? { at: cancel_requested_at, who, what: 'asked to cancel it', note: cancel_reason, tone: 'wait' } : null,
    status === 'cancelled' && resolved_at !== null
      ? { at: resolved_at, who, what: 'cancelled it', note: asked ? null : cancel_reason, tone: 'off' }
      : null,
    status === 'expired'
      ? { at: resolved_at ?? expires_at ?? request.updated_at, who: 'system', what: 'it expired', note: null, tone: 'off' }
      : null,
    status === 'execution_lost'
      ? {
          at: resolved_at ?? request.updated_at,
          who: 'system',
          what: 'the attempt was lost',
          note: request.lost_reason,
          tone: 'bad',
        }
      : null,
  ];
}
