import { failure, type Outcome } from '../outcome.js';
import type { Run } from './driver.js';

/** A write that passed by risk changed more rows than allowed without approval (HD-25); it is rolled back. */
export class TooManyRows extends Error {
  constructor(changed: number, bound: number) {
    super(`would have changed ${changed} rows, ${bound} may pass without approval`);
  }
}

/** The server does not report how many rows a row-limited write changed. */
export class Uncounted extends Error {}

export function refuseAboveBound({ maxAffectedRows }: Pick<Run, 'maxAffectedRows'>, changed: number): void {
  if (maxAffectedRows !== null && changed > maxAffectedRows) throw new TooManyRows(changed, maxAffectedRows);
}

/** Refuses a write that passed by risk and would commit before its rows are counted; null for all others. */
export function refuseUnbounded({ maxAffectedRows }: Pick<Run, 'maxAffectedRows'>): Outcome | null {
  if (maxAffectedRows === null) return null;
  return failure('not_started', 'refused: what cannot run in a transaction does not pass without approval');
}
