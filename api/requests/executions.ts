import { listExecutions } from '../../db/executions.js';
import { iso, isoOrNull } from '../../db/row-types.js';
import { mayReadResult } from '../../domain/request/relation.js';
import type { StoredRequest } from '../../domain/request/types.js';
import { arrayText, objectText } from '../../lib/json/write.js';
import type { Services } from '../context.js';
import { rawJson } from '../http/reply.js';
import type { Call } from '../http/route.js';
import { readable, resultPolicy } from '../results/policy.js';
import { requestId } from './request-id.js';
import { visibleRequest } from './show.js';

/** `GET /api/requests/{id}/executions`, newest first. */
export async function showExecutions(call: Call<{ id: string }, { limit: number }, undefined>, services: Services) {
  const id = requestId(call.params.id);
  const { request } = await visibleRequest(call.caller, services, id);
  const rows = await listExecutions(services.database, id, call.query.limit);
  const executions = rows.map((row) => ({
    id: row.id,
    status: row.status,
    agent_id: row.agent_id,
    fence: row.fence,
    created_at: iso(row.created_at),
    started_at: iso(row.created_at),
    finished_at: isoOrNull(row.finished_at),
    error_message: row.error_message,
    rows_affected: row.rows_affected === null ? null : Number(row.rows_affected),
    duration_ms: row.duration_ms,
    outcome: row.outcome,
    applied_fence: row.applied_fence,
    has_stored_result:
      readable(services, call.generation, request, row) && mayReadResult(call.caller, request, access(services, call, request)),
  }));
  if (executions.every(({ rows_affected: count }) => count === null || Number.isSafeInteger(count))) return { executions };
  // Counts above 2^53 - 1 are shown exactly (AG-50a), which JavaScript numbers cannot do.
  const texts = executions.map((shown, index) => objectText(shown, { rows_affected: rows[index]?.rows_affected ?? 'null' }));
  return rawJson([objectText({}, { executions: arrayText(texts) })]);
}

const access = (services: Services, call: Pick<Call<unknown, unknown, unknown>, 'generation'>, request: StoredRequest) =>
  resultPolicy(services, call.generation, request).access;
