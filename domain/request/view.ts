import { openSelectors } from './approval.js';
import { FINAL, type Instant, type Status, type StoredRequest } from './types.js';

export const CLOCKS = ['pending', 'approved', 'dispatch', 'lease'] as const;
export type ClockKind = (typeof CLOCKS)[number];

/** The one clock that runs in a status. At its instant it makes the move of requests.md section 9. */
export interface Clock {
  kind: ClockKind;
  at: Instant;
}

/** What a workflow knows of a request: ids, names, enums and instants only, never users' text (architecture section 3). */
export interface View {
  version: number;
  status: Status;
  /** Who must act next: open selectors, `requester`, `agents`, an agent's id, or nobody. */
  turn: string;
  /** `inMs` counts, by Postgres's clock, from the moment the view was made or sent. */
  clock: { kind: ClockKind; at: string; inMs: number } | null;
  final: boolean;
}

// The sweeper notices a lost lease within 2 s; the workflow's clock is the backstop within the 5 s of AG-51.
const leaseGraceMs = 3000;

/** The running clock of a request, null when none runs (TT-1, TT-2, TT-4, AG-51). */
export function clockOf(request: StoredRequest): Clock | null {
  const at = {
    pending: () => request.expiresAt,
    approved: () => request.dispatchBy,
    dispatched: () => request.dispatchDeadline,
    running: () => (request.execution === null ? null : request.execution.leaseExpiresAt + leaseGraceMs),
  } as const;
  const kinds = { pending: 'pending', approved: 'approved', dispatched: 'dispatch', running: 'lease' } as const;
  if (!(request.status in kinds)) return null;
  const status = request.status as keyof typeof kinds;
  const instant = at[status]();
  return instant === null ? null : { kind: kinds[status], at: instant };
}

/** The first instant after `now` at which a decision about the request could come out differently; null if there is none. A lease does not count: its end is judged under a lock. */
export function nextInstantOf({ expiresAt, dispatchBy, dispatchDeadline }: StoredRequest, now: Instant): Instant | null {
  const ahead = [expiresAt, dispatchBy, dispatchDeadline].filter((instant) => instant !== null && instant > now) as Instant[];
  return ahead.length === 0 ? null : Math.min(...ahead);
}

export function viewOf(request: StoredRequest, now: Instant): View {
  const clock = clockOf(request);
  return {
    version: request.version,
    status: request.status,
    turn: turnOf(request),
    clock: clock === null ? null : { kind: clock.kind, at: new Date(clock.at).toISOString(), inMs: clock.at - now },
    final: FINAL.has(request.status),
  };
}

function turnOf(request: StoredRequest): string {
  switch (request.status) {
    case 'pending':
      return openSelectors(request).join(', ');
    case 'approved':
      return 'requester';
    case 'dispatched':
      return 'agents';
    case 'running':
      return request.claimedBy ?? 'agent';
    default:
      return 'nobody';
  }
}
