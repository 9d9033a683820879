import type { DatabaseError } from '../../lib/database-error.js';
import type { Context } from '../context.js';
import { type CommandFailure, failure, type LocalCode } from '../failure.js';
import { lostMigration, unchangedHint } from './migration-failure.js';
import { isMigration, type RequestView } from './request-view.js';

/** A successful end of following; a null envelope is a success whose result is not stored. */
export interface Followed {
  id: string;
  envelope: string | null;
  /** The creation found the request by its key. */
  isFound?: boolean;
}

/** The failure of a request that ended without success (CL-21); `view.text` is its data: the envelope, or the request as read. */
export async function endedFailure(
  context: Context,
  id: string,
  view: RequestView,
  signal: AbortSignal,
): Promise<CommandFailure> {
  const { what } = context;
  const data = view.text;
  if (view.status === 'execution_lost') {
    if (isMigration(view)) return lostMigration(context, id, view, signal);
    return failure('execution_lost', `${what}: the outcome is unknown: ${view.lostReason ?? 'no reason given'}`, {
      data,
      hint: `the statement may have run: check the database, then svc request resume ${id} or make a new request`,
    });
  }
  const code = ended[view.status];
  if (code === undefined) return failure('server_error', `${what}: the request has the unknown status ${view.status}`, { data });
  // An earlier run of a request cancelled by now may have changed something.
  const unchanged = code === 'cancelled' && isMigration(view) ? await unchangedHint(context, id, view, signal) : null;
  const by = code === 'rejected' || code === 'cancelled' ? view.endedBy : '';
  return failure(code, `${what}: the request was ${words[code] ?? code}${by && ` ${by}`}`, {
    data,
    hint: `${unchanged === null ? '' : `${unchanged}; `}svc request show ${id}`,
  });
}

/** Exit 3: the database refused the statement; `data` is the envelope (CL-12). */
export function statementFailure(what: string, { message, hint }: DatabaseError, envelope: string): CommandFailure {
  return failure('execution_failed', `${what}: ${message}`, { data: envelope, hint });
}

export function waitsForApproval(context: Context, id: string, approvers: readonly string[]): CommandFailure {
  const list = approvers.join(', ');
  return failure('pending_approval', `${context.what}: the request waits for approval${list ? ` by ${list}` : ''}`, {
    data: JSON.stringify({ request_id: id, status: 'pending_approval', approvers }),
    hint: `svc request show ${id} says why; once it is approved: svc request resume ${id}`,
  });
}

export function waitsForResume(context: Context, id: string): CommandFailure {
  return failure('approved_pending_resume', `${context.what}: the request is approved but has not run yet`, {
    data: JSON.stringify({ request_id: id, status: 'approved_pending_resume' }),
    hint: `svc request resume ${id}`,
  });
}

const ended: Record<string, LocalCode> = {
  rejected: 'rejected',
  cancelled: 'cancelled',
  expired: 'expired',
  failed: 'execution_failed',
};

const words: Partial<Record<LocalCode, string>> = {
  expired: 'not approved or resumed in time',
  execution_failed: 'ended without running',
};
