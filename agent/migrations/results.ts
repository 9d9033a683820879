import { cutErrorText, type FailureOutcome, type Outcome } from '../outcome.js';
import { resultText } from '../result-json.js';
import type { Direction } from './task.js';

/** What a run of migrations did before it ended. */
export interface Progress {
  direction: Direction;
  /** In the order applied or reverted, earlier attempts first. */
  done: readonly string[];
  outOfOrder: readonly string[];
  /** The earlier attempt that did all of it; null when none did. */
  appliedFence: number | null;
}

/** How a migration failed; `why` begins with words that hold no data of the database (AU-53). */
export interface Failure {
  outcome: FailureOutcome;
  why: string;
  /** Whether a confirmed cancel caused it. */
  cancelled: boolean;
}

export function failed(outcome: FailureOutcome, why: string): Failure {
  return { outcome, why, cancelled: false };
}

/** The success of a run (MI-40). */
export function ranOutcome({ direction, done, outOfOrder, appliedFence }: Progress, maxResultBytes: number): Outcome {
  const key = direction === 'up' ? 'applied' : 'reverted';
  const late = outOfOrder.length > 0 ? { out_of_order: outOfOrder } : {};
  const data = within(maxResultBytes, { [key]: done, ...late }, { [`${key}_count`]: done.length });
  return succeeded(data, appliedFence);
}

/** The failure of a run (MI-40): work done before it makes it partial, and is listed. `version` is the one that failed. */
export function failedOutcome(
  { outcome, why, cancelled }: Failure,
  { direction, done }: Pick<Progress, 'direction' | 'done'>,
  version: string | null,
  maxResultBytes: number,
): Outcome {
  const error = cutErrorText(why);
  if (outcome === 'unknown') return { success: false, outcome, errorMessage: error, cancelled: false };
  if (done.length === 0 && outcome !== 'partial') return nothingDone({ outcome, why, cancelled });
  const key = direction === 'up' ? 'applied_before_failure' : 'reverted_before_failure';
  const told = { ...(version === null ? {} : { failed_version: version }), error };
  const data = within(maxResultBytes, { [key]: done, ...told }, { [`${key}_count`]: done.length, ...told });
  return { success: false, outcome: 'partial', errorMessage: error, cancelled: false, resultData: resultText(data) };
}

/** A failure that changed nothing. */
export function nothingDone({ outcome, why, cancelled }: Failure): Outcome {
  return { success: false, outcome, errorMessage: `migration error: ${why}`, cancelled };
}

/** The applied versions, ascending (MI-40). */
export function statusOutcome(versions: readonly string[], maxResultBytes: number): Outcome {
  const text = JSON.stringify({ applied_versions: versions });
  if (Buffer.byteLength(text) <= maxResultBytes) return succeeded(text, null);
  return nothingDone(
    failed('rolled_back', `the list of ${versions.length} applied versions is above the size limit of a result`),
  );
}

/** A repair in force; `appliedFence` is the earlier attempt that made it. */
export function repairOutcome(repaired: string, version: string, changed: boolean, appliedFence: number | null): Outcome {
  return succeeded(JSON.stringify({ repaired, version, changed }), appliedFence);
}

function succeeded(data: string, appliedFence: number | null): Outcome {
  const common = { success: true, resultData: resultText(data), rowsAffected: null, truncated: false } as const;
  return appliedFence === null ? { ...common, outcome: 'committed' } : { ...common, outcome: 'already_applied', appliedFence };
}

/** The lists, or their lengths when they exceed the claim's limit (AP-40). */
function within(maxBytes: number, lists: object, counts: object): string {
  const text = JSON.stringify(lists);
  return Buffer.byteLength(text) <= maxBytes ? text : JSON.stringify(counts);
}
