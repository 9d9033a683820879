import type { Schema } from '../http/client.js';

export type Status = Schema['Request']['status'];

/** How a state is coloured; its word and its sign say the same. */
export type Tone = 'wait' | 'go' | 'good' | 'bad' | 'off';

interface Shown {
  word: string;
  tone: Tone;
  /** A sign for those who do not see colours. */
  sign: string;
}

const shownAs = {
  pending: { word: 'pending', tone: 'wait', sign: '◷' },
  approved: { word: 'approved', tone: 'go', sign: '◑' },
  dispatched: { word: 'dispatched', tone: 'go', sign: '▷' },
  running: { word: 'running', tone: 'go', sign: '▶' },
  executed: { word: 'executed', tone: 'good', sign: '✓' },
  failed: { word: 'failed', tone: 'bad', sign: '✕' },
  rejected: { word: 'rejected', tone: 'bad', sign: '⊘' },
  cancelled: { word: 'cancelled', tone: 'off', sign: '–' },
  expired: { word: 'expired', tone: 'off', sign: '∅' },
  execution_lost: { word: 'execution lost', tone: 'bad', sign: '?' },
} as const satisfies Record<Status, Shown>;

export const statuses = Object.keys(shownAs) as Status[];

/** A newer server may have statuses that this page does not know. */
export const statusShown = (status: string): Shown =>
  Object.hasOwn(shownAs, status) ? shownAs[status as Status] : { word: status.replaceAll('_', ' '), tone: 'off', sign: '·' };

export const openStatuses = ['pending', 'approved', 'dispatched', 'running', 'execution_lost'] as const satisfies Status[];
export const isOpen = (status: string) => (openStatuses as readonly string[]).includes(status);

type Turn = Pick<
  Schema['Request'],
  | 'status'
  | 'requester'
  | 'queue_hint'
  | 'claimed_by'
  | 'cancel_requested_at'
  | 'approval_progress'
  | 'related'
  | 'cancelled_by'
  | 'cancel_reason'
  | 'lost_reason'
>;

/** Whose turn it is, in a sentence without its end. */
export function turnOf(request: Turn, me: string): string {
  const { status } = request;
  const owner = request.requester === me ? 'you' : request.requester;
  if (status === 'pending') {
    const waits = openSelectors(request.approval_progress).join(', ') || 'an approval';
    return request.related.includes('can_decide') ? `waits for your decision, as one of ${waits}` : `waits for ${waits}`;
  }
  if (status === 'approved') return `waits for ${owner} to resume it`;
  if (status === 'dispatched') return `waits for an agent${request.queue_hint ? `: ${queueHints[request.queue_hint]}` : ''}`;
  if (status === 'running')
    return `runs on agent ${request.claimed_by ?? ''}${request.cancel_requested_at ? '; a cancel was asked for, which is not confirmed yet' : ''}`;
  if (status === 'cancelled')
    return [`by ${request.cancelled_by ?? 'somebody'}`, request.cancel_reason].filter(Boolean).join(': ');
  if (status === 'execution_lost') return request.lost_reason ?? 'nobody knows yet whether it ran';
  return '';
}

/** The selectors of the current step that still lack approvals. */
export function openSelectors(progress: Schema['Request']['approval_progress']): string[] {
  const step = progress?.steps[progress.current_step];
  return step?.approvers_required.filter(({ current, min }) => current < min).map(({ selector }) => selector) ?? [];
}

const queueHints = {
  no_agents: 'none serves this pair',
  agents_outdated: 'those there are too old for it',
  agents_draining: 'those there are stopping',
  agents_saturated: 'all are busy',
  migration_queued: 'another migration of this pair runs first',
} as const satisfies Record<NonNullable<Turn['queue_hint']>, string>;

type Clock = Pick<Schema['Request'], 'status' | 'expires_at' | 'dispatch_by' | 'resumable'>;

/** The instant at which something ends by itself, and what. */
export function deadlineOf({ status, expires_at, dispatch_by, resumable }: Clock): { label: string; at: string } | null {
  if (status === 'pending') return expires_at === null ? null : { label: 'expires', at: expires_at };
  if (!resumable || dispatch_by === null) return null;
  return { label: 'the time to resume it ends', at: dispatch_by };
}
