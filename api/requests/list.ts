import { listRequests } from '../../db/request-list.js';
import { iso, isoOrNull } from '../../db/row-types.js';
import { relatedBy } from '../../domain/request/relation.js';
import type { Status } from '../../domain/request/types.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';

interface ListQuery {
  limit: number;
  offset: number;
  status?: Status | undefined;
  user?: string | undefined;
  database?: string | undefined;
  environment?: string | undefined;
  operation?: string | undefined;
  pending_for_me: boolean;
  decided_by_me: boolean;
}

/** `GET /api/requests` (RQ-2, RQ-3). */
export async function showRequests(call: Call<undefined, ListQuery, undefined>, services: Services) {
  const { limit, offset, pending_for_me: pendingForMe, decided_by_me: decidedByMe, ...filters } = call.query;
  const { rows, total, isEstimate } = await listRequests(services.database, call.caller, filters, {
    limit,
    offset,
    pendingForMe,
    decidedByMe,
  });
  return {
    requests: rows.map((row) => ({
      id: row.id,
      requester: row.requester,
      database: row.database,
      environment: row.environment,
      operation: row.operation,
      detail: row.detail,
      risk_level: row.risk_level,
      status: row.status,
      reason: row.reason,
      emergency: row.emergency,
      created_at: iso(row.created_at),
      updated_at: iso(row.updated_at),
      expires_at: isoOrNull(row.expires_at),
      related: relatedBy({ requested: row.requester === call.caller.id, decided: row.decided, can_decide: row.can_decide }),
      ...(row.status === 'pending'
        ? { total_steps: row.total_steps, current_step: row.current_step, next_approvers: row.step_selectors }
        : {}),
    })),
    total,
    total_is_estimate: isEstimate,
    limit,
    offset,
  };
}
