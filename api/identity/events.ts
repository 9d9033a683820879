import type { ProvisioningKind } from '../../db/credentials.js';
import type { Actor, AuditDraft } from '../../domain/audit/draft.js';
import type { UserChanges } from '../../domain/user-update.js';

interface TokenFacts {
  id: string;
  subjectId: string;
  scopeCeiling: readonly string[] | null;
  /** Agent tokens only. */
  agentScopes?: readonly string[] | null;
  provisioningKind: ProvisioningKind;
}

export const shownCeiling = (roles: readonly string[] | null) => (roles === null ? null : { roles: [...roles] });

/** Empty for a user's token, which has no scopes. */
export const shownScopes = ({ subjectType, agentScopes }: { subjectType: 'user' | 'agent'; agentScopes: string[] | null }) =>
  subjectType === 'agent' ? { agent_scopes: agentScopes } : {};

export function tokenCreated(actor: Actor, token: TokenFacts): AuditDraft {
  return success('token.created', actor, tokenOf(token.id), {
    issued_by: actor.id,
    issued_for: token.subjectId,
    scope_ceiling: shownCeiling(token.scopeCeiling),
    provisioning_kind: token.provisioningKind,
    ...(token.agentScopes == null ? {} : { agent_scopes: token.agentScopes }),
  });
}

/** Recorded when a token without scopes gets some. */
export const tokenScoped = (actor: Actor, token: { id: string; subjectId: string }, agentScopes: readonly string[]): AuditDraft =>
  success('token.scoped', actor, tokenOf(token.id), { issued_for: token.subjectId, agent_scopes: agentScopes });

export function tokenRevoked(
  actor: Actor,
  token: { id: string; subjectId: string },
  cause: 'revoked' | 'reissued' | 'user_suspended' | 'user_deleted' | 'force_bootstrap' | 'signed_out' | 'too_many_sessions',
): AuditDraft {
  return success('token.revoked', actor, tokenOf(token.id), { issued_for: token.subjectId, cause });
}

export function tokenReissued(actor: Actor, userId: string, oldId: string | null, newId: string): AuditDraft {
  return success('token.reissued_initial', actor, tokenOf(newId), {
    actor: actor.id,
    target_user: userId,
    old_token_id: oldId,
    new_token_id: newId,
  });
}

/** How a reissued or first token reached its user. `isReturned`: the answer itself carried the raw token. */
export function tokenDelivered(
  actor: Actor,
  tokenId: string,
  status: 'delivered' | 'failed' | 'not_configured',
  isReturned: boolean,
): AuditDraft {
  const event = success('token.delivery', actor, tokenOf(tokenId), {
    delivery_status: status,
    delivery_channel: status === 'not_configured' ? null : 'slack_dm',
    plaintext_returned: isReturned,
  });
  return status === 'failed' ? { ...event, outcome: 'failure' } : event;
}

/** `user.created`, then `group.member_added` for each group. */
export function userCreated(
  actor: Actor,
  user: { id: string; source: string; roles: readonly string[]; groups: readonly string[] },
): AuditDraft[] {
  const { id, source, roles, groups } = user;
  return [
    success('user.created', actor, userOf(id), { source, roles, groups }),
    ...memberships('group.member_added', actor, id, groups),
  ];
}

/** `user.updated` with the changes, then one event per started or ended membership. Empty when nothing changed (IM-63). */
export function userUpdated(actor: Actor, userId: string, changes: UserChanges): AuditDraft[] {
  if (Object.keys(changes).length === 0) return [];
  const [before, after] = changes.groups ?? [[], []];
  const added = after.filter((group) => !before.includes(group));
  const removed = before.filter((group) => !after.includes(group));
  return [
    success('user.updated', actor, userOf(userId), { changes }),
    ...memberships('group.member_added', actor, userId, added),
    ...memberships('group.member_removed', actor, userId, removed),
  ];
}

/** Also lists the memberships that the change ends. */
export function userStatusChanged(
  actor: Actor,
  userId: string,
  type: 'user.suspended' | 'user.activated' | 'user.deleted',
  left: readonly string[] = [],
): AuditDraft[] {
  return [success(type, actor, userOf(userId), {}), ...memberships('group.member_removed', actor, userId, left)];
}

const memberships = (
  type: 'group.member_added' | 'group.member_removed',
  actor: Actor,
  userId: string,
  groups: readonly string[],
): AuditDraft[] => groups.map((group) => success(type, actor, userOf(userId), { group }));

type Resource = Pick<AuditDraft, 'resourceType' | 'resourceId'>;

const tokenOf = (id: string): Resource => ({ resourceType: 'token', resourceId: id });
const userOf = (id: string): Resource => ({ resourceType: 'user', resourceId: id });

function success(type: AuditDraft['type'], actor: Actor, resource: Resource, metadata: Record<string, unknown>): AuditDraft {
  return { type, outcome: 'success', actor, ...resource, reason: null, metadata };
}
