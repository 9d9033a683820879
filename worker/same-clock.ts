import type { Queryable } from '../db/client.js';
import { databaseNow } from '../db/clock.js';

/** Far above what clocks that are kept right differ by, and far below any retention. */
const toleranceMs = 3_600_000;

/** What is deleted for its age is gone for good, and a clock may be wrong: while PostgreSQL's and this worker's are far apart, nothing is deleted. */
export async function requireSameClock(db: Queryable): Promise<void> {
  const apartMs = Math.abs((await databaseNow(db)) - Date.now());
  if (apartMs <= toleranceMs) return;
  const seconds = Math.round(apartMs / 1000);
  throw new Error(`the clocks of PostgreSQL and this worker are ${seconds} s apart: nothing old is deleted`);
}
