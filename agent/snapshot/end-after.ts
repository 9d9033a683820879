import { stopAfter } from '../../lib/deadline.js';
import { Interrupted } from '../drivers/faults.js';
import type { Session } from '../drivers/session.js';

/** How far this side's deadline for the whole lies behind the server's for each statement. */
const GRACE_MS = 2000;

/** Runs `work`, and ends the session when it takes longer than `timeoutMs` or the signal aborts, which is Interrupted. */
export async function endAfter<T>(
  session: Session,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await stopAfter(timeoutMs + GRACE_MS, () => session.destroy(), work, signal);
  } catch (error) {
    throw signal.aborted ? new Interrupted() : error;
  }
}
