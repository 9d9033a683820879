import { readInstant } from '../domain/execution-token.js';
import type { ClaimAnswer } from './protocol.js';

/** The attempts of which nobody knows what they did; undefined if a gateway does not name them. */
export const lostAttempts = ({ unresolved_executions: attempts }: ClaimAnswer) =>
  attempts?.map(({ fence, execution_id: executionId }) => ({ fence, executionId }));

/**
 * When the first of them was claimed, on the clock of `at`; null if a gateway does not say. `at`: when the claim was heard, or before; what happens until
 * the run would make the attempts later than they were. `serverTime`: what else the gateway said then, for a claim that is handed out again has the time of
 * its first answer.
 */
export function firstLostAt(
  { unresolved_executions: attempts = [], server_time: claimTime }: ClaimAnswer,
  { at, serverTime }: { at: number; serverTime: string | null },
): number | null {
  if (claimTime === undefined) return null;
  const now = Math.max(Date.parse(claimTime), (serverTime === null ? null : readInstant(serverTime)) ?? 0);
  const oldestMs = Math.max(...attempts.map(({ claimed_at: claimedAt }) => now - Date.parse(claimedAt ?? '')));
  return Number.isFinite(oldestMs) ? at - oldestMs : null;
}
