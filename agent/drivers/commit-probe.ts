import { sortMarkers } from '../marker.js';
import { askUntilKnown } from './ask.js';
import type { Run } from './driver.js';
import type { Marker, WritingAttempt } from './engine.js';
import type { Session } from './session.js';

/** How a COMMIT ended; `error` comes from the server or the connection, null when the server only rolled back. */
export type CommitEnd = { found: 'committed' } | { found: 'rolled_back' | 'unknown'; error: unknown };

/**
 * Checks on new connections whether a doubtful commit took place, until that is known or the time is over (AP-37). `ask` may
 * answer first; it returns null when it does not know.
 */
export async function lookUpCommit<S extends Session>(
  attempt: WritingAttempt<S>,
  ask: (session: S) => Promise<'committed' | 'rolled_back' | null>,
): Promise<'committed' | 'rolled_back' | 'unknown'> {
  const { target } = attempt;
  const until = performance.now() + target.timings.commitProbeMs;
  return (await askUntilKnown(target, until, (other) => probe(other, attempt, ask))) ?? 'unknown';
}

async function probe<S extends Session>(
  other: S,
  { session, run, target: { marker, engine } }: WritingAttempt<S>,
  ask: (session: S) => Promise<'committed' | 'rolled_back' | null>,
) {
  if (run.marker && (await isDone(other, run, marker))) return 'committed' as const;
  const known = await ask(other);
  if (known !== null || !run.marker) return known;
  // After a failover the address may lead to a server that has not received the commit yet.
  if (!(await engine.showsCommitsOf(other, session)) || !(await engine.tryRequestLock(other, run.requestId))) return null;
  // The old transaction can end between the two checks. Once its lock is free, it has ended.
  return (await isDone(other, run, marker)) ? ('committed' as const) : ('rolled_back' as const);
}

async function isDone<S extends Session>(session: S, run: Run, marker: Marker<S>): Promise<boolean> {
  const { genuine } = sortMarkers(await marker.readOwn(session, run), run);
  return genuine.some((row) => row.fence === run.fence && row.step === run.step && row.state === 'done');
}
