import { forbidden, refusal } from '../errors.js';
import { conflict, integrityFailed, reached, unfitToRun } from './guards.js';
import type { Move } from './moves.js';
import { type Instant, isMutating, type StoredRequest } from './types.js';
import { changed, refuse, type Verdict } from './verdict.js';

type Claim = Extract<Move, { kind: 'claim' }>;

// A read finishes sooner than this, so its news starts and ends the workflow in one task. Longer runs are announced after it.
const claimLingerMs = 2000;

/** ST-10 by AG-30 and AG-32 to AG-35. A repeated claim (AG-31) is answered earlier, from the stored execution. */
export function judgeClaim(request: StoredRequest, move: Claim, now: Instant): Verdict {
  const { agent, facts, execution } = move;
  if (!agent.inScope) return refuse(forbidden());
  if (!facts.ownerActive) return refuse(conflict('requester_not_active', 'the requester is not active'));
  if (request.status !== 'dispatched') return refuse(conflict('wrong_status', `request is ${request.status}`));
  if (reached(now, request.dispatchDeadline)) return refuse(conflict('dispatch_timed_out', 'the dispatch has timed out'));
  if (!facts.pairUnchanged)
    return refuse(conflict('pair_changed', 'the database and environment are not registered as they were'));
  const unfit = unfitToRun(request, facts);
  if (unfit !== null) return integrityFailed(request, 'claim', unfit, facts.foundDigest, now);
  const unresolved = isMutating(request.operation) && request.unresolved.length > 0;
  if (unresolved && !(agent.fences && agent.marker))
    return refuse(conflict('attempt_unresolved', 'an earlier attempt is unresolved', 'an agent with markers must look for it'));
  if (request.maxAffectedRows !== null && !agent.bounds)
    return refuse(
      conflict('agent_too_old', 'the agent cannot limit how many rows a write changes', 'an agent of this version can'),
    );
  if (unresolved && request.unresolved.some(({ markerForm }) => markerForm > agent.markerForm))
    return refuse(
      conflict('agent_too_old', 'an earlier attempt is unresolved', 'its agent was newer; one of that version must look for it'),
    );
  if (request.dispatchDeadline === null)
    return refuse(
      conflict(
        'migration_running',
        'another migration is running on this database and environment',
        'it is offered again when that has ended',
      ),
    );
  const leaseExpiresAt = now + execution.leaseMs;
  return changed(
    {
      status: 'running',
      claimedBy: agent.id,
      dispatchDeadline: null,
      execution: {
        id: execution.id,
        fence: request.fence,
        agentId: agent.id,
        claimId: execution.claimId,
        mutating: isMutating(request.operation),
        marker: isMutating(request.operation) && agent.fences && agent.marker ? 'required' : 'none',
        markerForm: agent.markerForm,
        status: 'running',
        lost: false,
        unresolved: false,
        leaseExpiresAt,
        windowSecs: execution.windowSecs,
        outcome: null,
        submission: null,
      },
    },
    [
      {
        type: 'execution.started',
        outcome: 'success',
        actor: move.actor,
        resourceType: 'execution',
        resourceId: execution.id,
        reason: null,
        metadata: { fence: request.fence, agent_id: agent.id },
      },
    ],
    { name: 'change', actor: agent.id, step: null },
    { lingerMs: claimLingerMs },
  );
}

/** 404 for a claim by an agent that has never polled (AG-28). */
export const neverPolled = () => refusal('agent.not_found', 'agent not found', 'poll once before claiming');
