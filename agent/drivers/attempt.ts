import { sleep } from '../../lib/sleep.js';
import {
  decideByMarkers,
  laterFence,
  MAX_STRANGERS,
  type MarkerDecision,
  type MarkerRow,
  proveAbsence,
  sortMarkers,
} from '../marker.js';
import { failure, MARKER_NOT_AVAILABLE, type Outcome, STARTS_TOO_LATE } from '../outcome.js';
import type { Attempt, ErrorReader, Report, WritingAttempt } from './engine.js';
import { checkFlag, notStarted, preparing } from './guard.js';
import { refuseOtherPath } from './search-path.js';
import type { Session } from './session.js';
import { alreadyApplied } from './written.js';

/**
 * Takes the request lock and reads the markers (AP-53 to AP-55). Returns null when the attempt must run, else its outcome without
 * a run. Calls `onProven` once it is known what earlier attempts did, or that a later attempt exists.
 */
export async function beginAttempt<S extends Session>(
  attempt: WritingAttempt<S>,
  mode: 'tx' | 'auto',
  onProven: () => void,
): Promise<Report | null> {
  const { run, target } = attempt;
  try {
    const settled =
      (await takeRequestLock(attempt)) ??
      (await consultMarkers(attempt, mode, onProven, ({ fence, rowsAffected }) => alreadyApplied(fence, rowsAffected)));
    if (settled) return { outcome: settled, error: null };
    checkFlag(run);
    return run.mayStart() ? null : { outcome: failure('not_started', STARTS_TOO_LATE), error: null };
  } catch (error) {
    return { outcome: notStarted(error, run, target.engine.errors), error };
  }
}

/** Returns null when it takes the request lock (AP-53) in a session that resolves names as the approver saw them (HD-31). */
export async function takeRequestLock<S extends Session>(attempt: Attempt<S>): Promise<Outcome | null> {
  const { session, run, target } = attempt;
  const taken = await takeWithin(run.fenceWaitMs, attempt, () => target.engine.tryRequestLock(session, run.requestId));
  return taken
    ? refuseOtherPath(run, session.searchPath)
    : failure('unknown', 'an earlier attempt is still running in the database');
}

/** Tries until the lock is taken or the time is over; throws Interrupted when the job is cancelled. */
export async function takeWithin<S extends Session>(
  waitMs: number,
  attempt: Attempt<S>,
  tryLock: () => Promise<boolean>,
): Promise<boolean> {
  const { run, target } = attempt;
  const until = performance.now() + waitMs;
  for (;;) {
    checkFlag(run);
    if (await preparing(attempt, tryLock)) return true;
    if (performance.now() >= until) return false;
    await sleep(target.timings.fenceRetryMs, run.control.signal);
  }
}

/**
 * Reads the markers of a single-step request (AP-54) and fences older attempts out (AP-55). `applied` builds the success of an
 * attempt found applied.
 */
export async function consultMarkers<S extends Session>(
  attempt: WritingAttempt<S>,
  mode: 'tx' | 'auto',
  onProven: () => void,
  applied: (decision: Extract<MarkerDecision, { act: 'already_applied' }>) => Outcome,
): Promise<Outcome | null> {
  const { session, run, target } = attempt;
  const { marker, engine } = target;
  if (!run.marker) return null;
  try {
    const rows = await genuineMarkers(attempt);
    if ('superseded' in rows) {
      onProven();
      return superseded(rows.superseded);
    }
    const decision = decideByMarkers(rows, run.fence, run.unresolvedFences);
    if (decision.act === 'unknown') {
      return failure('unknown', `attempt ${decision.fence} may have been applied; check the database`);
    }
    if (decision.act === 'already_applied') {
      onProven();
      return applied(decision);
    }
    await refuseUnprovenAbsence(attempt);
    if (mode === 'auto' || run.unresolvedFences.length > 0) await preparing(attempt, () => marker.open(session, run, mode));
    // Only a server that takes writes proves that rows are absent: a standby may still receive them.
    onProven();
    return null;
  } catch (error) {
    return withoutMarkers(error, engine.errors);
  }
}

/**
 * The rows that prove something. A row of a later attempt proves nothing by itself: if the gateway knows no later attempt,
 * somebody planted the row, and this attempt continues. The lease that the gateway extends with that answer stops others from
 * starting meanwhile.
 */
export async function genuineMarkers<S extends Session>(
  attempt: WritingAttempt<S>,
): Promise<MarkerRow[] | { superseded: number }> {
  const { session, run, target } = attempt;
  const { genuine, strangers } = sortMarkers(await preparing(attempt, () => target.marker.read(session, run)), run);
  run.strangers.push(...strangers.slice(0, MAX_STRANGERS - run.strangers.length));
  const later = laterFence(strangers, run.fence);
  return later === null || (await run.isNewest()) ? genuine : { superseded: later };
}

/**
 * Refuses to go on where rows that are not there do not prove that lost attempts left none. A table may have been dropped and made again just before
 * its rows were read, so this is asked afterwards.
 */
export async function refuseUnprovenAbsence<S extends Session>(attempt: WritingAttempt<S>): Promise<void> {
  const { session, run, target } = attempt;
  const { unresolvedFences, firstLostAt } = run;
  if (unresolvedFences.length === 0) return;
  const hidden = await preparing(attempt, () => target.marker.hidden(session, run));
  if (hidden !== null) throw new Unproven(`markers may be in ${hidden}, which cannot be read`);
  if (firstLostAt === null) return;
  const ages = await preparing(attempt, () => target.marker.ages(session));
  if (!proveAbsence(ages, firstLostAt, performance.now())) throw new Unproven('the marker table is newer than a lost attempt');
}

class Unproven extends Error {}

/** The outcome where the markers could not be read (AP-52), or prove nothing. Throws other errors. */
export function withoutMarkers(error: unknown, errors: ErrorReader): Outcome {
  if (error instanceof Unproven) return failure('not_started', error.message);
  if (!errors.isServerError(error)) throw error;
  return failure('not_started', MARKER_NOT_AVAILABLE);
}

export const superseded = (fence: number) => failure('not_started', `superseded by attempt ${fence}`);
