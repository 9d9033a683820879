import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';

/** The part of `GET /api/requests/{id}` that following needs; `text` is the answer as received. */
export interface RequestView {
  status: string;
  updatedAt: string;
  database: string;
  environment: string;
  operation: string;
  /** The text that was asked for; null where the reader may not see it. */
  detail: string | null;
  queueHint: string | null;
  claimedBy: string | null;
  lostReason: string | null;
  /** Of its last run, 0 before the first; null from a server that does not say. */
  fence: number | null;
  /** False where the server would refuse a resume. */
  resumable: boolean;
  /** Who rejected or cancelled it, and why, as `by bob: not now`; '' where that is not known. */
  endedBy: string;
  nextApprovers: string[];
  stepsDone: number;
  stepsTotal: number;
  text: string;
}

/**
 * Reads the request: at once, or, when the caller names the status that it saw last, as soon as it has another, at most 30 s later (CL-22). The
 * server compares with that status, so nothing between two looks is missed. A further try does not wait: its answer tells that the server is back.
 */
export async function lookAtRequest(
  context: Context,
  id: string,
  seen: string | null,
  signal: AbortSignal,
): Promise<RequestView> {
  const { callMs, waitGraceMs } = context.terminal.limits;
  const reply = await context.client().call({
    method: 'GET',
    path: ['api', 'requests', id],
    query: seen === null ? {} : { wait: waitSeconds, seen },
    timeoutMs: seen === null ? callMs : waitSeconds * 1000 + waitGraceMs,
    again: { query: {}, timeoutMs: callMs },
    signal,
  });
  return viewRequest(reply.json(), reply.text);
}

export function viewRequest(request: JsonText, text: string): RequestView {
  const progress = request.get('approval_progress');
  const steps = progress?.get('steps')?.items() ?? [];
  const stepsDone = Number(progress?.get('current_step')?.text ?? 0);
  const required = steps[stepsDone]?.get('approvers_required')?.items() ?? [];
  return {
    status: request.get('status')?.string() ?? '',
    updatedAt: request.get('updated_at')?.string() ?? '',
    database: request.get('database')?.string() ?? '',
    environment: request.get('environment')?.string() ?? '',
    operation: request.get('operation')?.string() ?? '',
    detail: request.get('detail')?.string() ?? null,
    queueHint: request.get('queue_hint')?.string() ?? null,
    claimedBy: request.get('claimed_by')?.string() ?? null,
    lostReason: request.get('lost_reason')?.string() ?? null,
    fence: numberOf(request.get('fence')?.text),
    resumable: request.get('resumable')?.text !== 'false',
    endedBy: endedBy(request, steps),
    nextApprovers: required.filter(isOpen).flatMap((entry) => entry.get('selector')?.string() ?? []),
    stepsDone,
    stepsTotal: Number(progress?.get('total_steps')?.text ?? 0),
    text,
  };
}

const numberOf = (text: string | undefined) => (text === undefined ? null : Number(text));

function endedBy(request: JsonText, steps: readonly JsonText[]): string {
  const text = (object: JsonText | undefined, key: string) => visible(object?.get(key)?.string() ?? '');
  const rejection = steps
    .flatMap((step) => step.get('approvals')?.items() ?? [])
    .find((approval) => approval.get('action')?.string() === 'reject');
  const [who, why] = rejection
    ? [text(rejection, 'user'), text(rejection, 'comment')]
    : [text(request, 'cancelled_by'), text(request, 'cancel_reason')];
  return who === '' ? '' : `by ${who}${why === '' ? '' : `: ${why}`}`;
}

/** Whether the request runs migrations or asks for their status. */
export function isMigration(view: RequestView): boolean {
  return view.operation.startsWith('migrate_');
}

/** The meaning of a queue hint (AG-78); an unknown hint is shown unchanged. */
export function describeQueueHint(hint: string): string {
  return queueHints[hint] ?? hint;
}

const queueHints: Record<string, string> = {
  no_agents: 'no agent serves this database',
  agents_outdated: 'no agent that serves this database can limit how many rows a write changes: update svc-agent',
  agents_saturated: 'all agents are busy',
  agents_draining: 'agents are stopping',
  migration_queued: 'waiting for another migration',
};

const waitSeconds = 30;

function isOpen(entry: JsonText): boolean {
  return Number(entry.get('current')?.text ?? 0) < Number(entry.get('min')?.text ?? 1);
}
