import type { ClockKind } from '../domain/request/view.js';
import type { KnownView } from './messages.js';

/** The view in a signal or a start; undefined for anything else, because operators can send any payload by hand. */
export function readView(value: unknown): KnownView | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { version, status, turn, clock, final } = value as Record<string, unknown>;
  if (!Number.isSafeInteger(version) || typeof status !== 'string' || typeof turn !== 'string' || typeof final !== 'boolean')
    return undefined;
  if (clock !== null && !isClock(clock)) return undefined;
  return { version, status, turn, clock, final } as KnownView;
}

export function readNews(payload: unknown): KnownView | undefined {
  return typeof payload === 'object' && payload !== null ? readView((payload as Record<string, unknown>).view) : undefined;
}

/** More than the clocks of PostgreSQL and Temporal differ by if they are kept right, and less than a move may be late (TT-6). */
const clocksDifferMs = 2000;

/**
 * The view with what its clock has left at `now`, by Temporal's time: what it says was counted when it was sent, and it may have waited long for a worker. A clock
 * never gets longer. If it fires early because Temporal's time is ahead, the step counts anew.
 */
export function countedAt(view: KnownView, now: number): KnownView {
  const { clock } = view;
  if (clock === null) return view;
  const leftMs = Date.parse(clock.at) - now;
  return clock.inMs - leftMs > clocksDifferMs ? { ...view, clock: { ...clock, inMs: leftMs } } : view;
}

/** The view with the higher version; `a` if they are equal. */
export function newer(a: KnownView, b: KnownView | undefined): KnownView {
  return b === undefined || a.version >= b.version ? a : b;
}

const waits: Record<ClockKind, string> = {
  pending: 'waits for approval',
  approved: 'waits for the requester to run it',
  dispatch: 'waits for an agent',
  lease: 'waits for the result of the agent',
};

/** The summary of a clock's timer in the Temporal UI. The server refuses summaries above 400 bytes. */
export function clockSummary({ kind, at }: { kind: string; at: string }): string {
  return `${waits[kind as ClockKind] ?? 'waits'} until ${at.slice(0, 40)}`;
}

/** Current details in the Temporal UI, as Markdown. `cancelled`: somebody asked Temporal to cancel the run. */
export function describe({ status, turn, clock }: KnownView, cancelled: boolean): string {
  const until = clock === null ? '' : `\n- until: ${clock.at}`;
  const refused = cancelled ? '\n- cancel here: no effect; cancel the request with `svc request cancel`' : '';
  return `**${status}**\n- turn: ${turn.slice(0, 1000)}${until}${refused}`;
}

function isClock(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, at, inMs } = value as Record<string, unknown>;
  return typeof kind === 'string' && typeof at === 'string' && Number.isFinite(inMs);
}
