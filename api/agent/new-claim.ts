import type { AgentReport } from '../../db/agents.js';
import { decided } from '../../db/move.js';
import type { ClaimFacts } from '../../db/move-facts.js';
import type { Services } from '../context.js';
import { agentOf } from './caller.js';
import { agentFacts, type Claimant, claimDecision } from './claim.js';
import { freeSlots } from './poll-claims.js';
import type { ReadyPoll } from './ready-polls.js';

/** What a waiting poll would claim with. */
interface Terms {
  report: AgentReport;
  signingKeyId: string;
  leaseFloorMs: number;
  /** Whether it may still claim. */
  mayClaim(): boolean;
}

/** The poll as one that claims what is created while it waits (AG-80). It does so by what it reported, for that is younger than 250 ms. */
export function readyPoll(
  call: Claimant,
  services: Services,
  { report, signingKeyId, leaseFloorMs, mayClaim }: Terms,
): ReadyPoll {
  const { agentScopes, tokenId } = agentOf(call.caller);
  const claimant = { agentId: call.caller.id, tokenId, agentScopes, signingKeyId };
  const { scopes, operations, features } = report;
  const context = { known: true, scopes, operations, features, signingKeyId, ownerActive: true, repeated: null };
  return {
    couldClaim(request) {
      if (!mayClaim() || freeSlots(report) === 0) return false;
      const { inScope, bounds } = agentFacts(claimant.agentId, report, request);
      return inScope && (request.maxAffectedRows === null || bounds);
    },
    async judge(request, now) {
      const { dialect } = request;
      const facts: ClaimFacts = { ...context, dialect };
      const decide = claimDecision(call, services, { claimId: null, pollInstance: report.instanceId, leaseFloorMs });
      const { moved, written } = await decided({ request, now, facts, rowVersion: '' }, decide, {}, services.database);
      if (written === null || written.claim === null || written.refused) return null;
      return { moved, claimed: { written: { ...written, claim: written.claim }, claimant } };
    },
  };
}
