import type { Execution } from '../domain/request/types.js';
import type { Change, ExecutionChange } from '../domain/request/verdict.js';
import type { MoveStatement } from './move-statement.js';
import { at } from './row-types.js';

/** What a claim stores for its agent: the exact bytes of the answer (AG-39) and the terms of its lease. */
export interface NewClaim {
  answer: string;
  leaseSecs: number;
  /** The token that claimed. */
  tokenId: string;
  /** The instance whose poll claimed (AG-81); null when it was claimed by a call of its own. */
  pollInstance: string | null;
}

/** Part of a claim's one writing statement: the execution row. */
export function claimInsert({ p, now }: MoveStatement, execution: Execution, claim: NewClaim): string {
  const columns: Record<string, unknown> = {
    id: execution.id,
    fence: execution.fence,
    agent_id: execution.agentId,
    claim_id: execution.claimId,
    claim_answer: claim.answer,
    token_id: claim.tokenId,
    poll_instance: claim.pollInstance,
    mutating: execution.mutating,
    marker: execution.marker,
    marker_form: execution.markerForm,
    status: 'running',
    lease_secs: claim.leaseSecs,
    window_secs: execution.windowSecs,
    lease_expires_at: at(execution.leaseExpiresAt),
    created_at: at(now),
  };
  const values = Object.values(columns).map(p.add).join(', ');
  return `claimed as (insert into executions (request_id, ${Object.keys(columns).join(', ')}) select id, ${values} from allowed)`;
}

/** Part of a move's one writing statement: the changes to its executions, and the further fences that it settles (AG-57, AG-59). */
export function executionUpdates(statement: MoveStatement, { execution, proven, settled }: Change): string {
  const parts: string[] = [];
  if (execution !== null) parts.push(`ended as (${executionUpdate(statement, execution)})`);
  if (proven !== null) parts.push(`proven as (${executionUpdate(statement, proven)})`);
  const own = [execution, proven].flatMap((each) => (each === null ? [] : [each.id]));
  if (settled.length > 0) parts.push(settledUpdate(statement, settled, own));
  return parts.join(', ');
}

function executionUpdate({ p, request, now }: MoveStatement, { id, set, end }: ExecutionChange): string {
  const columns: Record<string, unknown> = { ...set };
  if (end !== null) {
    Object.assign(columns, {
      success: end.success,
      applied_fence: end.appliedFence,
      rows_affected: end.rowsAffected,
      duration_ms: end.durationMs,
      truncated: end.truncated,
      error_message: end.errorMessage,
      result_kept: end.kept,
    });
  }
  const sets = Object.entries(columns).map(([column, value]) => `${column} = ${p.add(value)}`);
  // A late result does not change when the execution was lost.
  if (end !== null) sets.push(`finished_at = coalesce(finished_at, ${p.add(at(now))})`);
  return `update executions set ${sets.join(', ')} where id = ${p.add(id)} and request_id = ${request}`;
}

/** A statement must not update a row twice, so an execution that ends sets its own `unresolved`. */
function settledUpdate({ p, request }: MoveStatement, fences: readonly number[], own: readonly string[]): string {
  return `settled as (update executions set unresolved = false where request_id = ${request} and fence = any(${p.add(fences)}::int[]) and id <> all(${p.add(own)}::uuid[]))`;
}
