import { decideByMarkers } from '../marker.js';
import { failure, type Outcome } from '../outcome.js';
import { sleep } from '../wait.js';
import type { Run } from './driver.js';
import type { WriteTarget } from './engine.js';
import { checkFlag, notStarted } from './guard.js';
import type { Session } from './session.js';
import { alreadyApplied } from './written.js';

/**
 * Takes the request lock and asks the markers (AP-53 to AP-55). Null when the attempt is to run; else how it ended without running.
 */
export async function beginAttempt<S extends Session>(
  session: S,
  run: Run,
  target: WriteTarget<S>,
  mode: 'tx' | 'auto',
): Promise<{ outcome: Outcome; error: unknown } | null> {
  try {
    const settled = (await waitForLock(session, run, target)) ?? (await consultMarkers(session, run, target, mode));
    if (settled) return { outcome: settled, error: null };
    checkFlag(run);
    return run.mayStart() ? null : { outcome: failure('not_started', 'token verification failed: token expired'), error: null };
  } catch (error) {
    return { outcome: notStarted(error, run, target.engine.errors), error };
  }
}

async function waitForLock<S extends Session>(session: S, run: Run, target: WriteTarget<S>): Promise<Outcome | null> {
  const until = performance.now() + run.fenceWaitMs;
  for (;;) {
    checkFlag(run);
    if (await target.engine.tryRequestLock(session, run.requestId)) return null;
    if (performance.now() >= until) return failure('unknown', 'an earlier attempt is still running in the database');
    await sleep(target.timings.fenceRetryMs, run.control.signal);
  }
}

async function consultMarkers<S extends Session>(
  session: S,
  run: Run,
  { marker, engine }: WriteTarget<S>,
  mode: 'tx' | 'auto',
): Promise<Outcome | null> {
  if (!run.marker) return null;
  try {
    const rows = await marker.read(session, run.requestId);
    const decision = decideByMarkers(rows, run.fence, run.unresolvedFences);
    if (decision.act === 'superseded') return failure('not_started', `superseded by attempt ${decision.fence}`);
    if (decision.act === 'unknown') {
      return failure('unknown', `attempt ${decision.fence} may have been applied; check the database`);
    }
    if (decision.act === 'already_applied') return alreadyApplied(decision.fence, decision.rowsAffected);
    if (mode === 'auto' || run.unresolvedFences.length > 0) await marker.open(session, run, mode);
    return null;
  } catch (error) {
    if (!engine.errors.isServerError(error)) throw error;
    return failure('not_started', 'marker table not available');
  }
}
