import type { z } from 'zod';
import { listCandidateAgents } from '../../db/agent-list.js';
import { markerFormOf } from '../../db/agents.js';
import { topic } from '../../db/notifications.js';
import { iso, isoOrNull } from '../../db/row-types.js';
import { type FoundShown, findShown } from '../../db/shown-request.js';
import type { Caller } from '../../domain/caller.js';
import { notFound } from '../../domain/errors.js';
import { firstOpenStep, stepProgress } from '../../domain/request/approval.js';
import { shownContext } from '../../domain/request/context.js';
import { canDecide } from '../../domain/request/judge-approve.js';
import { isResumable } from '../../domain/request/judge-resume.js';
import { unseen } from '../../domain/request/refused.js';
import { hasDecided, isOwner, maySee, relatedBy } from '../../domain/request/relation.js';
import { FINAL, type Status, type StoredRequest } from '../../domain/request/types.js';
import { objectText } from '../../lib/json/write.js';
import type { Services } from '../context.js';
import { readAhead } from '../http/ahead.js';
import { longPoll } from '../http/long-poll.js';
import { type Reply, rawJson } from '../http/reply.js';
import type { Call } from '../http/route.js';
import { appliedOfRequest } from './applied.js';
import { executionPolicy } from './pair.js';
import { requestId } from './request-id.js';
import { shown } from './shown-schema.js';
import { joinWaited, type WaitedRequest, type WaitedRequests } from './waited.js';

type ShowCall = Call<{ id: string }, { wait: number; seen?: Status | undefined }, undefined>;

export const shownAhead = readAhead(findShown, topic.request);

/** `GET /api/requests/{id}`: answers immediately, or with `wait` once the status differs from `seen` or the first read (requests.md section 5). */
export async function showRequest(call: ShowCall, services: Services, waited: WaitedRequests) {
  const id = requestId(call.params.id);
  const ms = Math.min(call.query.wait, 120) * 1000;
  if (ms === 0) {
    const found = await shownAhead.take(call, services.database, id);
    return answer(call.caller, services, await visibleRequest(call.caller, services, id, found));
  }
  const watch = joinWaited(waited, services.notifications, id);
  return untilMoved(call, services, { id, ms, watch }).finally(watch.leave);
}

async function untilMoved(
  call: ShowCall,
  services: Services,
  { id, ms, watch }: { id: string; ms: number; watch: WaitedRequest },
) {
  let seenLast = call.query.seen;
  // What stands may be older than what the caller has seen of another process: it lets the caller wait, but answers only when nothing was heard meanwhile.
  const first = async () => {
    const known = watch.standing();
    const isSeen = known !== null && known.request.status === (seenLast ?? known.request.status);
    return isSeen ? known : watch.look(() => shownAhead.take(call, services.database, id));
  };
  const later = async (): Promise<[Caller, FoundShown | undefined]> => {
    if (watch.standing() !== null) {
      const caller = await call.recheck();
      // By now all has been heard that came while this process stood still.
      const known = watch.standing();
      if (known !== null) return [caller, known];
    }
    return call.recheckBeside((db) => watch.look(() => findShown(db, id)));
  };
  const moved = await longPoll(call, services, { topics: [topic.request(id)], ms }, async (woken) => {
    const [caller, found] = woken ? await later() : [call.caller, await first()];
    const now = await visibleRequest(caller, services, id, found);
    const { status } = now.request;
    seenLast ??= status;
    return status !== seenLast || FINAL.has(status) ? answer(caller, services, now) : null;
  });
  if (moved !== null) return moved;
  const [caller, found] = await later();
  return answer(caller, services, await visibleRequest(caller, services, id, found));
}

/** RQ-2: 404 if unknown, 403 if it is not open to the caller. */
export async function visibleRequest(caller: Caller, services: Services, id: string, known?: FoundShown) {
  const found = known ?? (await findShown(services.database, id));
  if (found === undefined) throw notFound('request');
  if (!maySee(caller, found.request)) throw unseen(caller, found.request);
  return found;
}

/** Metadata goes out as it was sent. */
async function answer(caller: Caller, services: Services, found: FoundShown): Promise<Reply> {
  const answered = shown.parse(await shownRequest(caller, services, found));
  return rawJson([objectText(answered, { metadata: found.request.metadata })]);
}

/**
 * The answer of `GET /api/requests/{id}` without the text, without the context, which repeats the text, and without what is true only for the moment
 * or the reader.
 */
export async function shownWithoutText(caller: Caller, services: Services, found: FoundShown): Promise<string> {
  return objectText(lasting.parse(await shownRequest(caller, services, found)), { metadata: found.request.metadata });
}

const lasting = shown.omit({
  detail: true,
  context: true,
  migrations: true,
  queue_hint: true,
  related: true,
  fence: true,
  resumable: true,
});

async function shownRequest(caller: Caller, services: Services, { request, now }: FoundShown): Promise<z.input<typeof shown>> {
  return {
    ...storedFields(request),
    queue_hint: await queueHint(services, request),
    related: relatedBy({
      requested: isOwner(caller, request),
      decided: hasDecided(caller, request),
      can_decide: canDecide(request, caller, now),
    }),
    idempotency_key: caller.id === request.requester ? request.idempotencyKey : null,
    fence: request.fence,
    resumable: isResumable(request, executionPolicy(services.generation(), request), now),
    migrations: await appliedOfRequest(services, caller, request),
    context: shownContext(request, request.collected, request.dryRuns, now),
  };
}

/** What is the same for every reader. */
function storedFields(request: FoundShown['request']) {
  return {
    id: request.id,
    requester: request.requester,
    database: request.database,
    environment: request.environment,
    operation: request.operation,
    detail: request.detail,
    status: request.status,
    emergency: request.emergency,
    no_result_store: request.noResultStore,
    require_approval: request.requireApproval,
    max_affected_rows: request.maxAffectedRows,
    search_path: request.searchPath === null ? null : [...request.searchPath],
    reason: request.reason,
    share_with: request.shareWith,
    metadata: null,
    created_at: iso(request.createdAt),
    updated_at: iso(request.updatedAt),
    expires_at: isoOrNull(request.expiresAt),
    approved_at: isoOrNull(request.approvedAt),
    dispatch_by: isoOrNull(request.dispatchBy),
    resolved_at: isoOrNull(request.resolvedAt),
    claimed_by: request.status === 'running' ? request.claimedBy : null,
    cancel_requested_at: isoOrNull(request.cancelRequestedAt),
    cancelled_by: request.cancelledBy,
    cancel_reason: request.cancelReason,
    lost_reason: request.lostReason,
    approval_digest: request.approvalDigest,
    approval_progress: approvalProgress(request),
    decision_trace: request.decisionTrace,
  };
}

/** RQ-41. */
function approvalProgress(request: StoredRequest) {
  if (request.policy === null) return null;
  const steps = stepProgress(request.policy, request.decisions);
  return {
    current_step: firstOpenStep(steps),
    total_steps: steps.length,
    steps: steps.map((step) => ({
      index: step.index,
      mode: step.mode,
      satisfied: step.satisfied,
      approvers_required: step.entries,
      approvals: request.decisions
        .filter((decision) => decision.step === step.index)
        .map(({ userId, action, selector, at, comment }) => ({ user: userId, action, selector, at: iso(at), comment })),
    })),
  };
}

type QueueHint = 'no_agents' | 'agents_outdated' | 'agents_draining' | 'agents_saturated' | 'migration_queued' | null;

/** AG-78, MI-50: why a dispatched request may be waiting. */
async function queueHint(services: Services, request: StoredRequest): Promise<QueueHint> {
  if (request.status !== 'dispatched') return null;
  if (request.dispatchDeadline === null) return 'migration_queued';
  const reached = (await listCandidateAgents(services.database, request)).filter((agent) => !agent.offline);
  if (reached.length === 0) return 'no_agents';
  const online = reached.filter(({ features }) => isRecent(features, request));
  if (online.length === 0) return 'agents_outdated';
  if (online.every((agent) => agent.draining)) return 'agents_draining';
  return online.every((agent) => agent.saturated) ? 'agents_saturated' : null;
}

/** Whether an agent can enforce the row limit that risk passed with (HD-25), and find the markers of lost attempts (HD-41). */
function isRecent(features: readonly string[], { maxAffectedRows, unresolved }: StoredRequest): boolean {
  const bounds = maxAffectedRows === null || features.includes('max_affected_rows');
  return bounds && unresolved.every(({ markerForm }) => markerForm <= markerFormOf(features));
}
