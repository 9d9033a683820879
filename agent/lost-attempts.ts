import type { ClaimAnswer } from './protocol.js';

/** The attempts of which nobody knows what they did; undefined if a gateway does not name them. */
export const lostAttempts = ({ unresolved_executions: attempts }: ClaimAnswer) =>
  attempts?.map(({ fence, execution_id: executionId }) => ({ fence, executionId }));

/** When the first of them was claimed, on the clock of `now`; null if a gateway does not say. */
export function firstLostAt(
  { unresolved_executions: attempts = [], server_time: serverTime }: ClaimAnswer,
  now: number,
): number | null {
  if (serverTime === undefined) return null;
  const agesMs = attempts.map(({ claimed_at: at }) => Date.parse(serverTime) - Date.parse(at ?? ''));
  const oldestMs = Math.max(...agesMs);
  return Number.isFinite(oldestMs) ? now - oldestMs : null;
}
