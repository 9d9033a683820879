import { limitDatabaseWork } from '../db/call-limit.js';
import { failure } from './failure.js';

/** For the database work before and after a call to another server. With the call, it is less than the workflow allows. */
const databaseMs = 3000;

/**
 * Work on the gateway's database. Temporal does not learn the reason of a failure, which `onFailure` gets; it runs the activity again after `againMs`, or
 * as its workflow says.
 */
export async function stored<T>(
  onFailure: ((error: unknown) => void) | undefined,
  work: () => Promise<T>,
  againMs?: number,
): Promise<T> {
  try {
    return await limitDatabaseWork(databaseMs, work);
  } catch (error) {
    onFailure?.(error);
    throw failure('the gateway database could not be used; the log of the worker says why', 'delivery', againMs);
  }
}

/** Temporal runs the activity again after the pause, and shows the reason meanwhile. */
export const later = (reason: string, ms: number) => failure(reason, 'delivery', Math.max(1, Math.ceil(ms)));
