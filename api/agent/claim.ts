import { randomUUID } from 'node:crypto';
import { findScopes, markerFormOf } from '../../db/agents.js';
import { violates } from '../../db/errors.js';
import type { Decide } from '../../db/move.js';
import { moveAtOnce } from '../../db/move-at-once.js';
import { type ClaimFacts, claimFacts } from '../../db/move-facts.js';
import type { FoundState } from '../../db/request-state.js';
import { forbidden, GatewayError, invalid, notFound, outOfScope, refusal } from '../../domain/errors.js';
import { judge } from '../../domain/request/judge.js';
import { neverPolled } from '../../domain/request/judge-claim.js';
import type { StoredRequest } from '../../domain/request/types.js';
import { nothing } from '../../domain/request/verdict.js';
import { isUuid } from '../../lib/uuid.js';
import type { Services } from '../context.js';
import { type Reply, rawJson } from '../http/reply.js';
import type { Call } from '../http/route.js';
import { commitMove } from '../requests/decide.js';
import { integrity } from '../requests/integrity.js';
import { pairUnchanged } from '../requests/pair.js';
import { agentOf, requireServed } from './caller.js';
import { claimAnswer, claimTerms, leaseSecsOf } from './claim-answer.js';

type ClaimCall = Call<{ id: string }, undefined, { claim_id?: string | undefined }>;

/** One claim, by its own call or by a poll. */
export interface Claiming {
  requestId: string;
  /** The request, if it has been read already. */
  found?: FoundState<ClaimFacts> | undefined;
  /** Null: a repeated claim is refused (AG-36). */
  claimId: string | null;
  /** The instance whose poll claims; null for a claim by its own call. */
  pollInstance: string | null;
  /** The shortest lease (AG-37). */
  leaseFloorMs: number;
  /** How much longer the lease is than what the agent is told. */
  spareMs?: number;
}

export type Claimant = Pick<Call<unknown, unknown, unknown>, 'caller' | 'actor' | 'generation'>;

/** `POST /api/agent/jobs/{request id}/claim` by the checks AG-27 to AG-35; the answer is what was stored, byte for byte (AG-39). */
export async function claimJob(call: ClaimCall, services: Services, times: { leaseFloorMs: number }): Promise<Reply> {
  const claimId = call.body.claim_id ?? null;
  if (claimId !== null && !isUuid(claimId)) throw invalid('claim_id must be a UUID', 'body.claim_id');
  if (services.lifecycle.draining) throw refusal('service.draining', 'server is shutting down');
  if (!isUuid(call.params.id)) throw await unknownRequest(call, services);
  const claim = () => commitClaim(call, services, { requestId: call.params.id, claimId, pollInstance: null, ...times });
  const answer = await claim().catch(async (error: unknown) => {
    if (isUnknown(error)) throw await unknownRequest(call, services);
    // Of two simultaneous claims with one `claim_id`, the second now finds what the first has stored.
    if (claimId !== null && isLostRace(error)) return claim();
    throw error;
  });
  return rawJson([answer]);
}

const isUnknown = (error: unknown) => error instanceof GatewayError && error.code === 'request.not_found';

/** AG-28 before AG-29: an agent that has never polled is told that first. */
async function unknownRequest(call: ClaimCall, services: Services): Promise<GatewayError> {
  return (await findScopes(services.database, call.caller.id)) === null ? neverPolled() : notFound('request');
}

const isLostRace = (error: unknown) =>
  (error instanceof GatewayError && error.code === 'request.conflict') || violates(error, 'executions_claim');

/** AG-31, AG-36: the same agent's same claim gives the same answer again; the id of another request's claim is 400. */
function repeatedAnswer({ caller }: Claimant, requestId: string, { repeated }: ClaimFacts): string | null {
  if (repeated === null) return null;
  if (repeated.requestId !== requestId || repeated.agentId !== caller.id)
    throw invalid('claim_id belongs to another claim', 'body.claim_id');
  if (!repeated.running) throw refusal('request.conflict', 'this claim has ended');
  return repeated.answer;
}

/** Claims by the checks AG-28 to AG-35; resolves with the answer's exact bytes, or throws the refusal. */
export async function commitClaim(call: Claimant, services: Services, claiming: Claiming): Promise<string> {
  const { requestId, found, claimId } = claiming;
  const how = { facts: claimFacts(call.caller.id, claimId), needsOwner: true, actor: call.actor, pair: true, found };
  const decide = claimDecision(call, services, claiming);
  const moved = await commitMove(services, () => moveAtOnce(services.database, requestId, decide, how));
  return moved.claim?.answer ?? repeatedAnswer(call, requestId, moved.facts) ?? '';
}

/** The decision on a claim, with the answer's exact bytes. */
export function claimDecision(
  call: Claimant,
  services: Services,
  { claimId, pollInstance, leaseFloorMs, spareMs = 0 }: Omit<Claiming, 'requestId' | 'found'>,
): Decide<ClaimFacts> {
  const executionId = randomUUID();
  return async (request, now, context, db) => {
    checkContext(call, context, request);
    const signer = await services.signingKeys.signer(context.signingKeyId, db);
    if (repeatedAnswer(call, request.id, context) !== null) return nothing;
    const terms = claimTerms(call.generation, request, leaseFloorMs);
    const agent = agentFacts(call.caller.id, context, request);
    const { ownerActive } = context;
    const facts = { ...integrity(request), ownerActive, pairUnchanged: pairUnchanged(request, call.generation, context.dialect) };
    const execution = { id: executionId, claimId, leaseMs: terms.leaseMs + spareMs, windowSecs: terms.windowSecs };
    const verdict = judge(request, { kind: 'claim', actor: call.actor, agent, facts, execution }, now);
    if (verdict.change === null || verdict.refusal !== null) return verdict;
    const { maxPersistBytes: maxResultBytes } = services.config().resultStorage;
    const run = { request, execution: verdict.change.state.execution!, terms, maxResultBytes, now };
    const answer = claimAnswer(run, signer);
    const { tokenId } = agentOf(call.caller);
    return { ...verdict, claim: { answer, leaseSecs: leaseSecsOf(terms), tokenId, pollInstance } };
  };
}

/** What the claiming agent can do, by what it reported. */
export function agentFacts(
  id: string,
  context: Pick<ClaimFacts, 'scopes' | 'operations' | 'features'>,
  request: Pick<StoredRequest, 'database' | 'environment'> & { operation: string },
) {
  const scope = context.scopes.find(
    ({ database, environment }) => database === request.database && environment === request.environment,
  );
  const allowed = context.operations.length === 0 || context.operations.includes(request.operation);
  return {
    id,
    inScope: scope !== undefined && allowed,
    fences: context.features.includes('fence'),
    bounds: context.features.includes('max_affected_rows'),
    marker: scope?.marker ?? false,
    markerForm: markerFormOf(context.features),
  };
}

/** AG-28, AG-30. */
function checkContext(call: Claimant, context: ClaimFacts, request: StoredRequest): void {
  if (!context.known) throw neverPolled();
  requireServed(call.caller, request);
  if (!agentFacts(call.caller.id, context, request).inScope) throw forbidden(outOfScope);
}
