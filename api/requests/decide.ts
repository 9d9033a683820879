import type { JointClaim } from '../../db/joint-claim.js';
import type { Moved } from '../../db/move.js';
import { moveAtOnce } from '../../db/move-at-once.js';
import { type DispatchFacts, dispatchFacts } from '../../db/move-facts.js';
import { topic } from '../../db/notifications.js';
import { findState, readState } from '../../db/request-state.js';
import { relayDelete } from '../../db/results.js';
import { notFound } from '../../domain/errors.js';
import { conflict } from '../../domain/request/guards.js';
import { judge } from '../../domain/request/judge.js';
import type { StoredRequest } from '../../domain/request/types.js';
import type { Services } from '../context.js';
import { readAhead } from '../http/ahead.js';
import { longPoll } from '../http/long-poll.js';
import { type Reply, reply } from '../http/reply.js';
import type { Call } from '../http/route.js';
import { integrity } from './integrity.js';
import { countMoved, traceMoved } from './moved.js';
import { executionPolicy, pairUnchanged } from './pair.js';
import { withReadyClaim } from './ready-claim.js';
import { requestId } from './request-id.js';

type ById<B> = Call<{ id: string }, undefined, B>;
/** What a decision needs of a call, whichever way it came. */
type DecisionCall<B> = Pick<ById<B>, 'caller' | 'actor' | 'params' | 'body' | 'generation'> & Partial<Pick<ById<B>, 'ahead'>>;
/** RQ-57. */
interface Shown {
  expected_digest?: string | undefined;
}
type Resumption = DecisionCall<{ reason: string | null; expected_fence?: number | null | undefined }>;

export const stateAhead = readAhead((db, id) => readState<undefined>(db, id));
export const dispatchAhead = readAhead((db, id) => readState<DispatchFacts>(db, id, dispatchFacts));

/** Runs one move, which commits by itself; what a refusal noticed is committed before it is thrown. */
export async function commitMove<M extends Moved>(services: Services, work: () => Promise<M>): Promise<M> {
  const startedAt = performance.now();
  const moved = await work();
  countMoved(services.metrics, moved);
  traceMoved(services.tracing, moved, startedAt);
  if (moved.refusal !== null) throw moved.refusal;
  return moved;
}

/** `POST …/approve` (RQ-50 to RQ-58). */
export async function approveRequest(
  call: DecisionCall<{ comment: string | null; selector: string | null; expected_step?: number | null | undefined } & Shown>,
  services: Services,
) {
  const { caller, actor, body } = call;
  const id = requestId(call.params.id);
  const { comment, selector, expected_digest: expectedDigest = null, expected_step: expectedStep = null } = body;
  const asked = { caller, actor, comment, selector, expectedDigest, expectedStep };
  const found = await stateAhead.take(call, services.database, id);
  const approve = (request: StoredRequest, now: number) =>
    judge(request, { kind: 'approve', ...asked, ...integrity(request) }, now);
  const { after } = await commitMove(services, () => moveAtOnce(services.database, id, approve, { found, actor }));
  return {
    id: after.id,
    status: after.status,
    approved_by: caller.id,
    matched_selector: after.decisions.at(-1)!.selector,
    step_completed: after.currentStep,
    current_step: after.currentStep,
    total_steps: after.policy?.steps.length ?? 0,
  };
}

/** `POST …/reject` (RQ-60 to RQ-62). */
export async function rejectRequest(call: DecisionCall<{ comment: string | null } & Shown>, services: Services) {
  const { caller, actor, body } = call;
  const id = requestId(call.params.id);
  const expectedDigest = body.expected_digest ?? null;
  const found = await stateAhead.take(call, services.database, id);
  const reject = (request: StoredRequest, now: number) =>
    judge(request, { kind: 'reject', caller, actor, comment: body.comment, expectedDigest }, now);
  const { after } = await commitMove(services, () => moveAtOnce(services.database, id, reject, { found, actor }));
  return { id: after.id, status: after.status };
}

/** `POST …/resume` (RQ-80 to RQ-88); the owner's row is locked before the request's (IM-65). */
export async function resumeRequest(call: Resumption, services: Services, times: { dispatchMs: number }) {
  const id = requestId(call.params.id);
  const found = await dispatchAhead.take(call, services.database, id);
  const how = { found, facts: dispatchFacts, needsOwner: true, actor: call.actor, pair: true, more: relayDelete };
  const withClaim = claimedBeside(services);
  const { after } = await commitMove(services, () =>
    moveAtOnce(services.database, id, resumption(call, times), { ...how, withClaim }),
  );
  return { id: after.id, status: after.status };
}

/** Of a first run only: what an earlier attempt left is looked at by a claim that reads it. */
function claimedBeside(services: Services) {
  return async ({ before, after, now }: Moved<DispatchFacts>, write: (claim: JointClaim) => Promise<boolean>) =>
    before.execution === null &&
    after.status === 'dispatched' &&
    (await withReadyClaim(services, { request: after, now }, write)) === true;
}

/** Throws the refusal that a resume would get now. Nothing is written, not even what the refusal notices. */
export async function checkResume(call: Resumption, services: Services, times: { dispatchMs: number }): Promise<void> {
  const found = await readState<DispatchFacts>(services.database, requestId(call.params.id), dispatchFacts);
  if (found === undefined) throw notFound('request');
  const { refusal } = resumption(call, times)(found.request, found.now, found.facts);
  if (refusal !== null) throw refusal;
}

function resumption({ caller, actor, body, generation }: Resumption, { dispatchMs }: { dispatchMs: number }) {
  return (request: StoredRequest, now: number, { ownerActive, dialect }: DispatchFacts) => {
    const facts = { ...integrity(request), ownerActive, pairUnchanged: pairUnchanged(request, generation, dialect) };
    const policy = executionPolicy(generation, request);
    const { reason, expected_fence: expectedFence = null } = body;
    return judge(request, { kind: 'resume', caller, actor, reason, expectedFence, policy, facts, dispatchMs }, now);
  };
}

/** `POST …/cancel`: at once, or for a running request the wish and up to `waitMs` for its outcome (RQ-71, RQ-72). */
export async function cancelRequest(
  call: ById<{ reason: string | null }>,
  services: Services,
  times: { cancelWaitMs: number },
): Promise<Reply> {
  const { caller, actor, body } = call;
  const id = requestId(call.params.id);
  const found = await stateAhead.take(call, services.database, id);
  const cancel = (request: StoredRequest, now: number) =>
    judge(request, { kind: 'cancel', caller, actor, reason: body.reason }, now);
  const moved = await commitMove(services, () => moveAtOnce(services.database, id, cancel, { found, actor }));
  if (moved.after.status === 'cancelled') return reply(200, { id, status: 'cancelled' });
  const ended = await longPoll(call, services, { topics: [topic.request(id)], ms: times.cancelWaitMs }, async () => {
    const found = await findState(services.database, id);
    return found?.request.status === 'running' && found.request.fence === moved.after.fence ? null : { request: found?.request };
  });
  if (ended === null) return reply(202, { id, status: 'running', cancel_requested: true });
  await call.recheck();
  return cancelOutcome(id, ended.request);
}

function cancelOutcome(id: string, request: StoredRequest | undefined): Reply {
  if (request === undefined) throw notFound('request');
  if (request.status === 'cancelled') return reply(200, { id, status: 'cancelled' });
  if (request.status === 'execution_lost') return reply(202, { id, status: 'execution_lost' });
  throw conflict('wrong_status', `request is ${request.status}`);
}
