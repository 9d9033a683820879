import { countNews } from '../../db/outbox.js';
import { findState } from '../../db/request-state.js';
import { isoOrNull } from '../../db/row-types.js';
import { notFound } from '../../domain/errors.js';
import { lacking } from '../../domain/lacking.js';
import { can } from '../../domain/permissions.js';
import { unseen } from '../../domain/request/refused.js';
import { maySee } from '../../domain/request/relation.js';
import { FINAL } from '../../domain/request/types.js';
import { clockOf } from '../../domain/request/view.js';
import { requestWorkflowId } from '../../workflows/messages.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';
import { requestId } from './request-id.js';

/** `GET /api/requests/{id}/workflow`: the stored request next to what its workflow knows, for operators (OP-74). */
export async function showWorkflow(call: Call<{ id: string }, undefined, undefined>, services: Services) {
  const id = requestId(call.params.id);
  const found = await findState(services.database, id);
  if (found === undefined) throw notFound('request');
  const { request } = found;
  if (!can(call.caller, 'request.view', request, 'any'))
    throw maySee(call.caller, request) ? lacking(['request.view:any'], request) : unseen(call.caller, request);
  const [told, waiting] = await Promise.all([services.temporal.requestWorkflow(id), countNews(services.database, id)]);
  const same =
    told.live === null
      ? FINAL.has(request.status) && told.liveError === 'not_running'
      : told.live.version === request.version && told.live.status === request.status;
  return {
    workflow_id: requestWorkflowId(id),
    run_id: told.runId,
    stored: { version: request.version, status: request.status, deadline: isoOrNull(clockOf(request)?.at ?? null) },
    live: told.live,
    live_error: told.liveError,
    in_step: same && waiting === 0,
    ui_url: workflowUrl(services, id, told.runId),
  };
}

function workflowUrl(services: Services, id: string, runId: string | null): string | null {
  const { uiUrl, namespace } = services.config().temporal;
  if (uiUrl === null) return null;
  const base = `${uiUrl.replace(/\/+$/, '')}/namespaces/${encodeURIComponent(namespace)}/workflows/${requestWorkflowId(id)}`;
  return runId === null ? base : `${base}/${runId}/history`;
}
