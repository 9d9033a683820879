import { cutBytes } from '../lib/utf8.js';
import type { ResultText } from './result-json.js';

/** What a run came to; each field as the result submission names it (section 6 of the agent protocol). */
export type Outcome =
  | {
      success: true;
      outcome: 'committed' | 'already_applied';
      resultData: ResultText;
      rowsAffected: number | null;
      truncated: boolean;
      appliedFence?: number;
    }
  | {
      success: false;
      outcome: FailureOutcome;
      errorMessage: string;
      cancelled: boolean;
      /** What is done and stays, of a migration that failed half-way (MI-40). */
      resultData?: ResultText;
    };

export type FailureOutcome = 'rolled_back' | 'not_started' | 'partial' | 'unknown';

/** A failure that no cancel caused. */
export function failure(outcome: FailureOutcome, errorMessage: string): Outcome {
  return { success: false, outcome, errorMessage, cancelled: false };
}

/** What is told of an error text (AP-41). */
export const cutErrorText = (text: string): string => cutBytes(text, 4096);

/**
 * How a job ended before it was known what its lost attempts did: `unknown` (AG-59), because everything else says that nothing was changed (AG-63).
 */
export function endedUnproven(outcome: Outcome, unresolvedFences: readonly number[]): Outcome {
  const lost = unresolvedFences.at(-1);
  if (lost === undefined || outcome.success || outcome.outcome === 'unknown') return outcome;
  return failure(
    'unknown',
    `${outcome.cancelled ? 'cancelled' : outcome.errorMessage}: it is not known what attempt ${lost} did`,
  );
}
