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
  const end = () => session.destroy();
  // Not AbortSignal.any: each of its signals leaves an entry in `signal` for as long as the process lives.
  const timer = setTimeout(end, timeoutMs + GRACE_MS);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    return await work();
  } catch (error) {
    throw signal.aborted ? new Interrupted() : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}
