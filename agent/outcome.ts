import { cutBytes } from '../lib/utf8.js';
import type { ResultText } from './result-json.js';

/** A run's result; fields are named as in the result submission (agent.md section 6). */
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
      /** What a migration that failed half-way completed and keeps (MI-40). */
      resultData?: ResultText;
    };

export type FailureOutcome = 'rolled_back' | 'not_started' | 'partial' | 'unknown';

/** A failure not caused by a cancel. */
export function failure(outcome: FailureOutcome, errorMessage: string): Outcome {
  return { success: false, outcome, errorMessage, cancelled: false };
}

/** Why a write does not start whose claim demands a marker, where none can be written (AP-52). */
export const MARKER_NOT_AVAILABLE = 'marker table not available';

/** Whether the run found its marker table unusable. */
export const lackedMarker = (outcome: Outcome): boolean =>
  !outcome.success && outcome.errorMessage.startsWith(MARKER_NOT_AVAILABLE);

/** Why a job does not start in a session that resolves names in other schemas than its request's (HD-31). */
export const OTHER_PATH = 'search_path mismatch';

/** Whether the run found another path than the last snapshot tells. */
export const foundOtherPath = (outcome: Outcome): boolean => !outcome.success && outcome.errorMessage.startsWith(OTHER_PATH);

/** Why a job does not start whose token (ET-40) or lease (AG-40a) no longer allows it. */
export const STARTS_TOO_LATE = 'the token or the lease of the run ended before it could start';

/** The part of an error text that is reported (AP-41). */
export const cutErrorText = (text: string): string => cutBytes(text, 4096);

/**
 * The outcome of a job that ended before it knew what its lost attempts did: `unknown` (AG-59), because every other outcome says
 * that nothing changed (AG-63).
 */
export function endedUnproven(outcome: Outcome, unresolvedFences: readonly number[]): Outcome {
  const lost = unresolvedFences.at(-1);
  if (lost === undefined || outcome.success || outcome.outcome === 'unknown') return outcome;
  return failure(
    'unknown',
    `${outcome.cancelled ? 'cancelled' : outcome.errorMessage}: it is not known what attempt ${lost} did`,
  );
}
