import { sortMarkers } from '../marker.js';
import { askUntilKnown } from './ask.js';
import type { Run } from './driver.js';
import type { Marker, WriteTarget } from './engine.js';
import type { Session } from './session.js';

/** How a COMMIT ended; `error` comes from the server or the connection, null when the server only rolled back. */
export type CommitEnd = { found: 'committed' } | { found: 'rolled_back' | 'unknown'; error: unknown };

/**
 * Checks on new connections whether a doubtful commit took place, until that is known or the time is over (AP-37). `ask` may
 * answer first; it returns null when it does not know.
 */
export async function lookUpCommit<S extends Session>(
  run: Run,
  target: WriteTarget<S>,
  ask: (session: S) => Promise<'committed' | 'rolled_back' | null>,
): Promise<'committed' | 'rolled_back' | 'unknown'> {
  const until = performance.now() + target.timings.commitProbeMs;
  return (await askUntilKnown(target, until, (session) => probe(session, run, target, ask))) ?? 'unknown';
}

async function probe<S extends Session>(
  session: S,
  run: Run,
  { marker, engine }: WriteTarget<S>,
  ask: (session: S) => Promise<'committed' | 'rolled_back' | null>,
) {
  if (run.marker && (await isDone(session, run, marker))) return 'committed' as const;
  const known = await ask(session);
  if (known !== null || !run.marker || !(await engine.tryRequestLock(session, run.requestId))) return known;
  // The old transaction can end between the two checks. Once its lock is free, it has ended.
  return (await isDone(session, run, marker)) ? ('committed' as const) : ('rolled_back' as const);
}

async function isDone<S extends Session>(session: S, run: Run, marker: Marker<S>): Promise<boolean> {
  const { genuine } = sortMarkers(await marker.readOwn(session, run), run);
  return genuine.some((row) => row.fence === run.fence && row.step === run.step && row.state === 'done');
}
