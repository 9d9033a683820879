import { readInstant } from '../domain/execution-token.js';
import type { FirstLostAt } from './marker.js';
import type { ClaimAnswer } from './protocol.js';

/** The attempts of which nobody knows what they did; undefined if a gateway does not name them. */
export const lostAttempts = ({ unresolved_executions: attempts }: ClaimAnswer) =>
  attempts?.map(({ fence, execution_id: executionId }) => ({ fence, executionId }));

/** Whether another agent may have made one of them, which may have had other rights; also where a gateway does not say. */
export const lostByOthers = ({ unresolved_fences: fences, unresolved_executions: attempts = [] }: ClaimAnswer, agentId: string) =>
  fences.length > 0 && (attempts.length === 0 || attempts.some(({ agent_id: other }) => other !== agentId));

/**
 * When the first of them were claimed, on the clock of `at`; null if a gateway does not say. `at`: when the claim was heard, or before; what happens until
 * the run would make the attempts later than they were. `serverTime`: what else the gateway said then, for a claim that is handed out again has the time of
 * its first answer.
 */
export function firstLostAt(
  { unresolved_executions: attempts = [], server_time: claimTime }: ClaimAnswer,
  { at, serverTime }: { at: number; serverTime: string | null },
): FirstLostAt | null {
  if (claimTime === undefined || attempts.some(({ claimed_at: claimedAt }) => claimedAt === undefined)) return null;
  const now = Math.max(Date.parse(claimTime), (serverTime === null ? null : readInstant(serverTime)) ?? 0);
  const first = (isEarlier: boolean) => {
    const some = attempts.filter(({ marker_form: form }) => (form === 1) === isEarlier);
    return some.length === 0
      ? null
      : at - Math.max(...some.map(({ claimed_at: claimedAt }) => now - Date.parse(claimedAt ?? '')));
  };
  return { ours: first(false), earlier: first(true) };
}
