import { findExecution } from '../../db/executions.js';
import { extendLease } from '../../db/leases.js';
import { iso } from '../../db/row-types.js';
import { mayReport } from '../../domain/agent-scopes.js';
import { forbidden, notFound, othersRun, refusal } from '../../domain/errors.js';
import { isUuid } from '../../lib/uuid.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';
import { agentOf } from './caller.js';

/** `POST /api/agent/jobs/{execution id}/heartbeat` (agent.md section 5): extends the lease and reports a cancel. */
export async function heartbeat(call: Call<{ id: string }, undefined, unknown>, services: Services) {
  const { id } = call.params;
  if (!isUuid(id)) throw notFound('execution');
  const agent = agentOf(call.caller);
  const extended = await extendLease(services.database, id, agent);
  if (extended !== undefined) return { cancelled: extended.cancelled, lease_expires_at: iso(extended.lease_expires_at) };
  const found = await findExecution(services.database, id);
  if (found === undefined) throw notFound('execution');
  const { execution } = found;
  if (execution.agentId !== agent.id || !mayReport(agent, execution)) throw forbidden(othersRun);
  if (execution.fence < execution.newestFence)
    throw refusal('execution.gone', 'a newer dispatch of this request exists', 'stop and roll back');
  throw refusal('execution.conflict', 'the execution has ended or its lease is over', 'submit the result');
}
