import type { Pair } from '../../domain/caller.js';
import { resultPolicyOf } from '../../domain/workflow-policy.js';
import type { Generation, Services } from '../context.js';

const dayMs = 86_400_000;

/** The result policy in force for a pair (RS-58). */
export function resultPolicy(services: Pick<Services, 'config'>, generation: Generation, pair: Pair) {
  return resultPolicyOf(generation.shared.resultPolicies, pair, services.config().retention.resultTtlDays);
}

export interface KeptResult {
  success: boolean | null;
  result_kept: 'object' | 'empty' | 'relay' | null;
  finished_at: number | null;
  stored_at: number | null;
  result_expires_at: number | null;
  now: number;
}

/** When stored data stops being readable: as stored, or earlier if the current policy is shorter (RS-60). */
function expiresAt(
  services: Services,
  generation: Generation,
  pair: Pair,
  row: Pick<KeptResult, 'stored_at' | 'result_expires_at'>,
): number | null {
  if (row.stored_at === null || row.result_expires_at === null) return null;
  return Math.min(row.result_expires_at, row.stored_at + resultPolicy(services, generation, pair).retentionDays * dayMs);
}

/** Whether content answers 200 for a finished execution (RS-34, RS-35, RS-38, RS-39). */
export function readable(services: Services, generation: Generation, pair: Pair, row: KeptResult): boolean {
  if (row.finished_at === null) return false;
  if (row.success !== true) return true;
  if (row.result_kept === 'empty') return true;
  return isDataOpen(services, generation, pair, row);
}

/** Whether the text itself is stored and not expired. After expiry, a failure's partial data turns null (RS-38, RS-60). */
export function isDataOpen(services: Services, generation: Generation, pair: Pair, row: KeptResult): boolean {
  const expiry = expiresAt(services, generation, pair, row);
  return row.result_kept === 'object' && expiry !== null && row.now < expiry;
}
