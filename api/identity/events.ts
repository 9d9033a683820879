import type { Actor, AuditDraft } from '../../domain/audit.js';
import type { UserChanges } from '../../domain/user-update.js';

interface TokenFacts {
  id: string;
  subjectId: string;
  scopeCeiling: readonly string[] | null;
  /** Of agent tokens. */
  agentScopes?: readonly string[] | null;
  provisioningKind: 'initial' | 'bootstrap' | null;
}

/** The ceiling as answers and events show it. */
export const shownCeiling = (roles: readonly string[] | null) => (roles === null ? null : { roles: [...roles] });

/** The scopes of an agent token as answers show them; a user's has none. */
export const shownScopes = ({ subjectType, agentScopes }: { subjectType: 'user' | 'agent'; agentScopes: string[] | null }) =>
  subjectType === 'agent' ? { agent_scopes: agentScopes } : {};

export function tokenCreated(actor: Actor, token: TokenFacts): AuditDraft {
  return success('token.created', actor, 'token', token.id, {
    issued_by: actor.id,
    issued_for: token.subjectId,
    scope_ceiling: shownCeiling(token.scopeCeiling),
    provisioning_kind: token.provisioningKind,
    ...(token.agentScopes == null ? {} : { agent_scopes: token.agentScopes }),
  });
}

/** A token that had no scopes got some. */
export const tokenScoped = (actor: Actor, token: { id: string; subjectId: string }, agentScopes: readonly string[]): AuditDraft =>
  success('token.scoped', actor, 'token', token.id, { issued_for: token.subjectId, agent_scopes: agentScopes });

export function tokenRevoked(
  actor: Actor,
  token: { id: string; subjectId: string },
  cause: 'revoked' | 'reissued' | 'user_suspended' | 'user_deleted' | 'force_bootstrap',
): AuditDraft {
  return success('token.revoked', actor, 'token', token.id, { issued_for: token.subjectId, cause });
}

export function tokenReissued(actor: Actor, userId: string, oldId: string | null, newId: string): AuditDraft {
  return success('token.reissued_initial', actor, 'token', newId, {
    actor: actor.id,
    target_user: userId,
    old_token_id: oldId,
    new_token_id: newId,
  });
}

/** The raw token went back in the answer, because there is nobody else to bring it. */
export function tokenReturned(actor: Actor, tokenId: string): AuditDraft {
  return success('token.delivery', actor, 'token', tokenId, {
    delivery_status: 'not_configured',
    delivery_channel: null,
    plaintext_returned: true,
  });
}

/** `user.created` and one `group.member_added` for each group. */
export function userCreated(
  actor: Actor,
  user: { id: string; source: string; roles: readonly string[]; groups: readonly string[] },
): AuditDraft[] {
  const { id, source, roles, groups } = user;
  return [
    success('user.created', actor, 'user', id, { source, roles, groups }),
    ...memberships('group.member_added', actor, id, groups),
  ];
}

/** `user.updated` with what changed, and one event for each membership that began or ended; none when nothing changed (IM-63). */
export function userUpdated(actor: Actor, userId: string, changes: UserChanges): AuditDraft[] {
  if (Object.keys(changes).length === 0) return [];
  const [before, after] = changes.groups ?? [[], []];
  const added = after.filter((group) => !before.includes(group));
  const removed = before.filter((group) => !after.includes(group));
  return [
    success('user.updated', actor, 'user', userId, { changes }),
    ...memberships('group.member_added', actor, userId, added),
    ...memberships('group.member_removed', actor, userId, removed),
  ];
}

/** A change of status, with the memberships that end by it. */
export function userStatusChanged(
  actor: Actor,
  userId: string,
  type: 'user.suspended' | 'user.activated' | 'user.deleted',
  left: readonly string[] = [],
): AuditDraft[] {
  return [success(type, actor, 'user', userId, {}), ...memberships('group.member_removed', actor, userId, left)];
}

const memberships = (
  type: 'group.member_added' | 'group.member_removed',
  actor: Actor,
  userId: string,
  groups: readonly string[],
): AuditDraft[] => groups.map((group) => success(type, actor, 'user', userId, { group }));

function success(
  type: AuditDraft['type'],
  actor: Actor,
  resourceType: 'user' | 'token',
  resourceId: string,
  metadata: Record<string, unknown>,
): AuditDraft {
  return { type, outcome: 'success', actor, resourceType, resourceId, reason: null, metadata };
}
