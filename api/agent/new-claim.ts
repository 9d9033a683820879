import type { AgentReport } from '../../db/agents.js';
import { longestBeforeMs } from '../../db/creation.js';
import { decided } from '../../db/move.js';
import type { ClaimFacts } from '../../db/move-facts.js';
import { notFor } from '../../domain/request/judge-claim.js';
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

/** The instant of a creation may be from before the agent sent the poll, from which the agent counts its lease (AG-40a). */
const spareMs = longestBeforeMs;

/** The poll as one that claims what is dispatched while it waits (AG-80). It does so by what it reported, for that is younger than 250 ms. */
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
      const agent = agentFacts(claimant.agentId, report, request);
      return agent.inScope && notFor(request, agent) === null;
    },
    async judge(request, now) {
      const { dialect } = request;
      const facts: ClaimFacts = { ...context, dialect };
      const decide = claimDecision(call, services, { claimId: null, pollInstance: report.instanceId, leaseFloorMs, spareMs });
      const { moved, written } = await decided({ request, now, facts, rowVersion: '' }, decide, {}, services.database);
      if (written === null || written.claim === null || written.refused) return null;
      return { moved, claimed: { written: { ...written, claim: written.claim }, claimant } };
    },
  };
}
