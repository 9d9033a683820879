import type { Outcome } from '../outcome.js';
import { type RowsJson, resultText } from '../result-json.js';

/** The success of a write: its count, and the rows of its last statement if it returned any. */
export function committed(rowsAffected: number, json: RowsJson | null): Outcome {
  if (!json) {
    const resultData = resultText(JSON.stringify({ rows_affected: rowsAffected }));
    return { success: true, outcome: 'committed', resultData, rowsAffected, truncated: false };
  }
  const { text, truncated } = json.finish({ rows_affected: rowsAffected });
  return { success: true, outcome: 'committed', resultData: text, rowsAffected, truncated };
}

/** The success of an earlier attempt, found by its marker (AP-54). */
export function alreadyApplied(appliedFence: number, rowsAffected: number | null): Outcome {
  const resultData = resultText(JSON.stringify({ rows_affected: rowsAffected ?? 0 }));
  return { success: true, outcome: 'already_applied', resultData, rowsAffected, truncated: false, appliedFence };
}
