import type { AuditDraft, AuditSubject } from '../domain/audit/draft.js';
import type { AgentScopes } from '../domain/caller.js';
import type { Outgoing } from '../domain/notifications/outgoing.js';
import type { NewRequest } from '../domain/request/new-request.js';
import type { StoredRequest } from '../domain/request/types.js';
import type { Recorder } from './client.js';
import { explainedNoMore } from './dry-run-jobs.js';
import { claimInsert, type NewClaim } from './execution-writes.js';
import { subjectOf, type Written } from './move-write.js';
import { together } from './outgoing.js';
import type { Parameters } from './parameters.js';
import { signingKeyIdFor } from './signing-keys.js';

/** What a creation writes. */
export interface Creation {
  request: NewRequest;
  /** As it is first stored. */
  stored: StoredRequest;
  events: readonly { draft: AuditDraft; subject: AuditSubject }[];
  outgoing: Outgoing;
  /** Whose doing the workflow is told of. */
  newsBy: string;
  lingerMs: number;
  claimed: JointClaim | null;
}

/** The claim of a request that is written together with the change that dispatches it (AG-80). */
export interface JointClaim {
  written: Written & { claim: NewClaim };
  claimant: JointClaimant;
}

/** What the claim was judged on besides the request, as the agent's poll found it. */
export interface JointClaimant {
  agentId: string;
  tokenId: string;
  agentScopes: AgentScopes;
  /** The key that signed the claim's token. */
  signingKeyId: string;
}

/** The creation and the claim of what it creates; null if one statement cannot tell others of both. */
export function createdWithClaim(alone: Creation, claimed: JointClaim, { outgoingOf }: Recorder): Creation | null {
  const { change, after } = claimed.written;
  const outgoing = together(alone.outgoing, outgoingOf(change.events, { request: after, detail: null }));
  if (outgoing === null) return null;
  const subject = subjectOf(after);
  return {
    ...alone,
    request: { ...alone.request, explain: explainedNoMore(alone.request.explain) },
    stored: after,
    events: [...alone.events, ...change.events.map((draft) => ({ draft, subject }))],
    outgoing,
    newsBy: claimed.claimant.agentId,
    lingerMs: change.lingerMs,
    claimed,
  };
}

/** The same of a move that dispatches the request. Its news tells the workflow of both. */
export function movedWithClaim(moved: Written, { written }: JointClaim, { outgoingOf }: Recorder): Written | null {
  const { change, after, claim } = written;
  const told = (events: readonly AuditDraft[], request: StoredRequest) => outgoingOf(events, { request, detail: null });
  const outgoing = together(told(moved.change.events, moved.after), told(change.events, after));
  if (outgoing === null) return null;
  return { ...moved, after, change: { ...moved.change, events: [...moved.change.events, ...change.events] }, claim, outgoing };
}

/**
 * Lets the claim through only if the agent's token holds, and nothing that the claim was judged on has changed since the agent's poll. The change does not
 * wait for whoever changes that token.
 */
export function claimantUnchanged(p: Parameters, claimant: JointClaimant): { part: string; holds: string } {
  const part = `held_by_agent as materialized (
    select agent_scopes, expires_at from tokens where id = ${p.add(claimant.tokenId)}::uuid and revoked_at is null for share skip locked)`;
  const sameToken = `exists (select from held_by_agent where agent_scopes is not distinct from ${p.add(claimant.agentScopes)}::text[]
    and (expires_at is null or expires_at > clock_timestamp()))`;
  const key = signingKeyIdFor(`(select key_id from agents where id = ${p.add(claimant.agentId)})`);
  return { part, holds: `(${sameToken} and ${key} = ${p.add(claimant.signingKeyId)})` };
}

/** Part of the creation's one writing statement: the execution row. */
export function jointClaimInsert(p: Parameters, { written }: JointClaim): string {
  const { before, after, now, claim } = written;
  if (after.execution === null) throw new Error('a claim without an execution');
  return claimInsert({ p, request: '(select id from allowed)', before, after, now, refused: false }, after.execution, claim);
}
