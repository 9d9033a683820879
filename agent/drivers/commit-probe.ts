import { sortMarkers } from '../marker.js';
import { askUntilKnown } from './ask.js';
import type { Marker, WritingAttempt } from './engine.js';
import type { Session } from './session.js';

/** How a COMMIT ended; `error` comes from the server or the connection, null when the server only rolled back. */
export type CommitEnd = { found: 'committed' } | { found: 'rolled_back' | 'unknown'; error: unknown };

interface Proofs<S extends Session> {
  /** Reads the table that held the attempt's marker row when COMMIT was sent. */
  readOwn: ReturnType<Marker<S>['ownReader']>;
  /** May answer first; returns null when it does not know. */
  ask(session: S): Promise<'committed' | 'rolled_back' | null>;
}

/** Checks on new connections whether a doubtful commit took place, until that is known or the time is over (AP-37). */
export async function lookUpCommit<S extends Session>(
  attempt: WritingAttempt<S>,
  proofs: Proofs<S>,
): Promise<'committed' | 'rolled_back' | 'unknown'> {
  const { target } = attempt;
  const until = performance.now() + target.timings.commitProbeMs;
  return (await askUntilKnown(target, until, (other) => probe(other, attempt, proofs))) ?? 'unknown';
}

async function probe<S extends Session>(
  other: S,
  { session, run, target: { engine } }: WritingAttempt<S>,
  { readOwn, ask }: Proofs<S>,
) {
  const isDone = async () => {
    const { genuine } = sortMarkers(await readOwn(other, run), run);
    return genuine.some((row) => row.fence === run.fence && row.step === run.step && row.state === 'done');
  };
  if (run.marker && (await isDone())) return 'committed' as const;
  const known = await ask(other);
  if (known !== null || !run.marker) return known;
  // After a failover the address may lead to a server that has not received the commit yet.
  if (!(await engine.showsCommitsOf(other, session)) || !(await engine.tryRequestLock(other, run.requestId))) return null;
  // The old transaction can end between the two checks. Once its lock is free, it has ended.
  return (await isDone()) ? ('committed' as const) : ('rolled_back' as const);
}
