import { randomUUID } from 'node:crypto';
import { findScopes, markerFormOf } from '../../db/agents.js';
import { type ClaimContext, findClaimContext } from '../../db/claim-context.js';
import type { Transaction } from '../../db/client.js';
import { violates } from '../../db/errors.js';
import { move } from '../../db/move.js';
import { lockActive } from '../../db/users.js';
import { forbidden, GatewayError, invalid, notFound, refusal } from '../../domain/errors.js';
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

/** `POST /api/agent/jobs/{request id}/claim` by the checks AG-27 to AG-35; the answer is what was stored, byte for byte (AG-39). */
export async function claimJob(call: ClaimCall, services: Services, times: { leaseFloorMs: number }): Promise<Reply> {
  const claimId = call.body.claim_id ?? null;
  if (claimId !== null && !isUuid(claimId)) throw invalid('claim_id must be a UUID', 'body.claim_id');
  if (services.lifecycle.draining) throw refusal('service.draining', 'server is shutting down');
  if (!isUuid(call.params.id)) throw await unknownRequest(call, services);
  const answer = await commitClaim(call, services, claimId, times).catch(async (error: unknown) => {
    // Of two claims with one `claim_id` at once, the one that waited finds out here what the other has stored.
    const again = claimId !== null && isLostRace(error);
    const repeated =
      again && repeatedAnswer(call, await findClaimContext(services.database, call.caller.id, call.params.id, claimId));
    if (!repeated) throw error;
    return repeated;
  });
  return rawJson(200, [answer]);
}

/** AG-28 before AG-29: an agent that has never polled hears that first. */
async function unknownRequest(call: ClaimCall, services: Services): Promise<GatewayError> {
  return (await findScopes(services.database, call.caller.id)) === null ? neverPolled() : notFound('request');
}

const isLostRace = (error: unknown) =>
  (error instanceof GatewayError && error.code === 'request.conflict') || violates(error, 'executions_claim');

/** AG-31, AG-36: the same agent's same claim gives the same answer again; the id of another request's claim is 400. */
function repeatedAnswer(call: ClaimCall, { repeated }: ClaimContext): string | null {
  if (repeated === null) return null;
  if (repeated.requestId !== call.params.id || repeated.agentId !== call.caller.id)
    throw invalid('claim_id belongs to another claim', 'body.claim_id');
  if (!repeated.running) throw refusal('request.conflict', 'this claim has ended');
  return repeated.answer;
}

async function commitClaim(
  call: ClaimCall,
  services: Services,
  claimId: string | null,
  times: { leaseFloorMs: number },
): Promise<string> {
  const read = async (tx: Transaction) => {
    const [ownerActive, context] = await Promise.all([
      lockActive(tx, { ownerOf: call.params.id }),
      findClaimContext(tx, call.caller.id, call.params.id, claimId),
    ]);
    checkContext(call, context);
    const signer = await services.signingKeys.signer(context.signingKeyId, tx);
    return { context, signer, ownerActive };
  };
  const executionId = randomUUID();
  const decide = (request: StoredRequest, now: number, { context, signer, ownerActive }: Awaited<ReturnType<typeof read>>) => {
    if (repeatedAnswer(call, context) !== null) return nothing;
    const terms = claimTerms(call.generation, request, times.leaseFloorMs);
    const agent = agentFacts(call.caller.id, context, request);
    const facts = { ...integrity(request), ownerActive, pairUnchanged: pairUnchanged(request, call.generation, context.dialect) };
    const execution = { id: executionId, claimId, leaseMs: terms.leaseMs, windowSecs: terms.windowSecs };
    const verdict = judge(request, { kind: 'claim', actor: call.actor, agent, facts, execution }, now);
    if (verdict.change === null || verdict.refusal !== null) return verdict;
    const { maxPersistBytes: maxResultBytes } = services.config().resultStorage;
    const run = { request, execution: verdict.change.state.execution!, terms, maxResultBytes, now };
    const answer = claimAnswer(run, signer);
    return { ...verdict, claim: { answer, leaseSecs: leaseSecsOf(terms), tokenId: agentOf(call.caller).tokenId } };
  };
  const moved = await commitMove(services, (tx) => move(tx, call.params.id, decide, { read, pair: true }));
  return moved.claim?.answer ?? repeatedAnswer(call, moved.facts.context) ?? '';
}

function agentFacts(
  id: string,
  context: ClaimContext,
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

/** AG-28 to AG-30. */
function checkContext(call: ClaimCall, context: ClaimContext): void {
  if (!context.known) throw neverPolled();
  if (context.request === null) throw notFound('request');
  requireServed(call.caller, context.request);
  if (!agentFacts(call.caller.id, context, context.request).inScope) throw forbidden();
}
