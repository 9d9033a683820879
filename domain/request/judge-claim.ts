import type { AuditDraft } from '../audit/draft.js';
import { forbidden, type GatewayError, outOfScope, refusal } from '../errors.js';
import { conflict, integrityFailed, partlyApplied, reached, unfitToRun } from './guards.js';
import type { Move } from './moves.js';
import { type Execution, type Instant, isMutating, type StoredRequest } from './types.js';
import { changed, refuse, type Verdict } from './verdict.js';

type Claim = Extract<Move, { kind: 'claim' }>;

// A read finishes sooner than this, so its news starts and ends the workflow in one task. Longer runs are announced after it.
const claimLingerMs = 2000;

/** ST-10 by AG-30 and AG-32 to AG-35. A repeated claim (AG-31) is answered earlier, from the stored execution. */
export function judgeClaim(request: StoredRequest, move: Claim, now: Instant): Verdict {
  const { agent, facts } = move;
  const early = notClaimable(request, move, now);
  if (early !== null) return refuse(early);
  const unfit = unfitToRun(request, facts);
  if (unfit !== null) return integrityFailed(request, { noticedBy: 'claim', part: unfit, foundDigest: facts.foundDigest }, now);
  const late = notFor(request, agent);
  if (late !== null) return refuse(late);
  const execution = startedExecution(request, move, now);
  return changed(
    { status: 'running', claimedBy: agent.id, dispatchDeadline: null, execution },
    [startedEvent(execution, move.actor)],
    { name: 'change', actor: agent.id, step: null },
    { lingerMs: claimLingerMs },
  );
}

/** AG-30, AG-32. */
function notClaimable(request: StoredRequest, { agent, facts }: Claim, now: Instant): GatewayError | null {
  if (!agent.inScope) return forbidden(outOfScope);
  if (!facts.ownerActive) return conflict('requester_not_active', 'the requester is not active');
  if (request.status !== 'dispatched') return conflict('wrong_status', `request is ${request.status}`);
  if (reached(now, request.dispatchDeadline)) return conflict('dispatch_timed_out', 'the dispatch has timed out');
  if (!facts.pairUnchanged) return conflict('pair_changed', 'the database and environment are not registered as they were');
  // An earlier attempt may have reported it since the dispatch (AG-44).
  return partlyApplied(request);
}

/** AG-33 to AG-35, HD-25: what this agent cannot do, and whether its turn has come. */
export function notFor(request: StoredRequest, agent: Claim['agent']): GatewayError | null {
  const unresolved = isMutating(request.operation) ? request.unresolved : [];
  if (unresolved.length > 0 && !(agent.fences && agent.marker))
    return conflict('attempt_unresolved', 'an earlier attempt is unresolved', 'an agent with markers must look for it');
  if (request.maxAffectedRows !== null && !agent.bounds)
    return conflict('agent_too_old', 'the agent cannot limit how many rows a write changes', 'an agent of this version can');
  if (unresolved.some(({ markerForm }) => markerForm > agent.markerForm))
    return conflict(
      'agent_too_old',
      'an earlier attempt is unresolved',
      'its agent was newer; one of that version must look for it',
    );
  if (request.dispatchDeadline !== null) return null;
  return conflict(
    'migration_running',
    'another migration is running on this database and environment',
    'it is offered again when that has ended',
  );
}

function startedExecution(request: StoredRequest, { agent, execution }: Claim, now: Instant): Execution {
  const mutating = isMutating(request.operation);
  return {
    id: execution.id,
    fence: request.fence,
    agentId: agent.id,
    claimId: execution.claimId,
    mutating,
    marker: mutating && agent.fences && agent.marker ? 'required' : 'none',
    markerForm: agent.markerForm,
    status: 'running',
    lost: false,
    unresolved: false,
    claimedAt: now,
    leaseExpiresAt: now + execution.leaseMs,
    leaseMs: execution.leaseMs,
    windowSecs: execution.windowSecs,
    outcome: null,
    submission: null,
  };
}

const startedEvent = ({ id, fence, agentId }: Execution, actor: Claim['actor']): AuditDraft => ({
  type: 'execution.started',
  outcome: 'success',
  actor,
  resourceType: 'execution',
  resourceId: id,
  reason: null,
  metadata: { fence, agent_id: agentId },
});

/** 404 for a claim by an agent that has never polled (AG-28). */
export const neverPolled = () => refusal('agent.not_found', 'agent not found', 'poll once before claiming');
