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

/** Text cut to 4096 bytes of UTF-8 on a character boundary (AP-41). */
export function cutErrorText(text: string): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= 4096) return text;
  let end = 4096;
  while (((bytes[end] as number) & 0xc0) === 0x80) end--;
  return new TextDecoder().decode(bytes.subarray(0, end));
}

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
