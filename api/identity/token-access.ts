import { insertAuditEvents } from '../../db/audit.js';
import { iso, isoOrNull } from '../../db/row-types.js';
import { keepStanding } from '../../db/standing.js';
import { lockSubject } from '../../db/subject-lock.js';
import { findToken, revokeToken, type TokenRow } from '../../db/tokens.js';
import { findUser, lockUser } from '../../db/users.js';
import type { Caller, EffectiveRole } from '../../domain/caller.js';
import { forbidden, notFound } from '../../domain/errors.js';
import { applyCeiling, can, resolveRoles } from '../../domain/permissions.js';
import { permissionTexts, roleNamesOf } from '../../domain/role-names.js';
import { tokenStatus } from '../../domain/token-rules.js';
import { isUuid } from '../../lib/uuid.js';
import { oidcInForce, wordInForce } from '../../runtime/oidc/in-force.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';
import { shownCeiling, shownScopes, tokenRevoked } from './events.js';

type TokenCall = Call<{ id: string }, undefined, undefined>;

/** `DELETE /api/tokens/{id}` (IM-72). A repeated call is 200 with the first instant and no second event. */
export async function revoke(call: TokenCall, { database }: Services) {
  const token = await readableToken(call, database, can(call.caller, 'token.revoke', 'somewhere'));
  const revokedAt = await database.transaction(async (tx) => {
    if (token.subjectType === 'user') await lockUser(tx, token.subjectId, call.actor.id);
    else await lockSubject(tx, 'agent', token.subjectId);
    // A call that revokes its own token may find it revoked by another one that did.
    if (token.id !== call.actor.tokenId) await keepStanding(tx, call.actor);
    const at = await revokeToken(tx, token.id);
    if (at !== undefined) await insertAuditEvents(tx, [tokenRevoked(call.actor, token, 'revoked')]);
    return at ?? (await findToken(tx, token.id))?.revokedAt;
  });
  if (revokedAt === undefined || revokedAt === null) throw notFound('token');
  return { id: token.id, revoked_at: iso(revokedAt) };
}

/** `GET /api/tokens/{id}/inspect` (IM-74). */
export async function inspect(call: TokenCall, services: Services) {
  const token = await readableToken(call, services.database, true);
  const resolved = await rolesOfSubject(call, services, token);
  const ceiling = shownCeiling(token.scopeCeiling);
  const status = tokenStatus(token, token.now);
  const effective = status === 'active' ? applyCeiling(token.subjectType, resolved, ceiling) : [];
  return {
    id: token.id,
    subject_id: token.subjectId,
    subject_type: token.subjectType,
    name: token.name,
    scope_ceiling: ceiling,
    ...shownScopes(token),
    resolved_roles: roleNamesOf(resolved),
    effective_roles: roleNamesOf(effective),
    effective_permissions: permissionTexts(effective),
    status,
    expires_at: isoOrNull(token.expiresAt),
  };
}

export function shownToken(row: TokenRow) {
  return {
    id: row.id,
    subject_type: row.subjectType,
    subject_id: row.subjectId,
    token_prefix: row.tokenPrefix,
    scope_ceiling: shownCeiling(row.scopeCeiling),
    ...shownScopes(row),
    name: row.name,
    status: tokenStatus(row, row.now),
    provisioning_kind: row.provisioningKind,
    expires_at: isoOrNull(row.expiresAt),
    created_at: iso(row.createdAt),
    revoked_at: isoOrNull(row.revokedAt),
  };
}

/** IM-73: holders of `token.list` reach every token; others reach their own, if allowed. To them, unknown and foreign ids look alike. */
async function readableToken(call: TokenCall, database: Services['database'], ownAllowed: boolean): Promise<TokenRow> {
  const seesAll = can(call.caller, 'token.list', 'everywhere');
  const token = isUuid(call.params.id) ? await findToken(database, call.params.id) : undefined;
  if (seesAll && token === undefined) throw notFound('token');
  if (token === undefined || !(seesAll || (ownAllowed && isOwn(call.caller, token)))) throw forbidden(othersTokens);
  return token;
}

const othersTokens =
  'you may not read or revoke this token: only your own, unless you hold token.list for all databases and environments';

const isOwn = (caller: Caller, token: TokenRow) => token.subjectType === caller.kind && token.subjectId === caller.id;

async function rolesOfSubject(call: TokenCall, { database, config }: Services, token: TokenRow): Promise<EffectiveRole[]> {
  if (token.subjectType === 'agent') return applyCeiling('agent', [], null);
  const user = await findUser(database, token.subjectId);
  if (user === undefined) return [];
  const jwt = token.word && wordInForce(token.word, oidcInForce(config()));
  if (token.word !== null && jwt === null) return [];
  return resolveRoles({ direct: user.roles, groups: user.groups, config: call.generation.shared.auth, ...(jwt && { jwt }) });
}
