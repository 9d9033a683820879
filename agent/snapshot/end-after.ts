import { stopAfter } from '../../lib/deadline.js';
import { Interrupted, RowTooLarge } from '../drivers/faults.js';
import type { Session } from '../drivers/session.js';
import { SnapshotTooLarge } from './no-snapshot.js';

/** How much later than the server's statement deadline our deadline for the whole is. */
const GRACE_MS = 2000;

/** Runs `work`, and ends the session when it exceeds `timeoutMs` or the signal aborts (Interrupted). Rows that are too large are a SnapshotTooLarge. */
export async function endAfter<T>(
  session: Session,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await stopAfter(timeoutMs + GRACE_MS, () => session.destroy(), work, signal);
  } catch (error) {
    if (signal.aborted) throw new Interrupted();
    throw error instanceof RowTooLarge ? new SnapshotTooLarge() : error;
  }
}
