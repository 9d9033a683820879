import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { newApiToken } from '../../crypto/api-token.js';
import { insertAuditEvents } from '../../db/audit.js';
import type { Transaction } from '../../db/client.js';
import { databaseNow } from '../../db/clock.js';
import { isoOrNull } from '../../db/row-types.js';
import { transactionBy } from '../../db/standing.js';
import { countOwnActiveTokens, insertToken, lockTokensOf } from '../../db/tokens.js';
import { findUser } from '../../db/users.js';
import { isAgentScope, maxAgentScopes, servesPair } from '../../domain/agent-scopes.js';
import type { Caller, EffectiveRole } from '../../domain/caller.js';
import { forbidden, invalid, refusal } from '../../domain/errors.js';
import { grantBy } from '../../domain/four-eyes.js';
import { parseInstant } from '../../domain/instant.js';
import { lacking } from '../../domain/lacking.js';
import { applyCeiling, can, findRole, resolveRoles } from '../../domain/permissions.js';
import { registeredPairs } from '../../domain/policies.js';
import { permissionTexts, roleNamesOf } from '../../domain/role-names.js';
import { isReservedId } from '../../domain/selectors.js';
import type { Generation, Services } from '../context.js';
import { instant } from '../http/fields.js';
import type { Call } from '../http/route.js';
import { parsePart } from '../http/shape.js';
import { shownCeiling, shownScopes, tokenCreated } from './events.js';
import { rolesOf, userId } from './schemas.js';
import { agentScope } from './token-schemas.js';

const subject = {
  subject_id: userId
    .refine((id) => !isReservedId(id), 'is no id for anybody: the audit log calls the gateway or strangers so')
    .meta({ description: 'Yourself, or the id of an agent.' }),
  subject_type: z.enum(['user', 'agent']).meta({ description: 'Which of the two that is.' }),
};

/** Parsed before the permission check, which depends on it (IM-59). */
export const tokenSubject = z.looseObject(subject);

/** Refuses unknown keys: a misspelt `scope_ceiling` must not widen a token. */
export const tokenBody = z
  .strictObject({
    ...subject,
    name: z.string().max(128).nullish().meta({ description: 'What the token is for.' }),
    scope_ceiling: z
      .strictObject({ roles: rolesOf('The roles.').min(1) })
      .nullish()
      .meta({ description: 'The roles that the token is limited to; all that you have if absent.' }),
    expires_at: instant('When it expires; never if absent.').nullish(),
    agent_scopes: z
      .array(agentScope.refine(isAgentScope, 'has an entry that is not <database>/<environment>, each a name or *'))
      .min(1)
      .max(maxAgentScopes)
      .transform((scopes) => [...new Set(scopes)])
      .optional()
      .meta({ description: 'Of agents: what the token may serve. `agents.default_scopes` if absent, else everything.' }),
  })
  .meta({ id: 'NewToken', description: 'A token to be made.' });

type TokenBody = z.output<typeof tokenBody>;

/** `POST /api/tokens` (IM-70): a token for the caller or for an agent. */
export async function createToken(call: Call<undefined, undefined, z.output<typeof tokenSubject>>, services: Services) {
  checkPermission(call.caller, call.body);
  const body = parsePart('body', tokenBody, call.body);
  const expiresAt = parseExpiry(body.expires_at ?? null);
  const agentScopes = decideScopes(body, services.config().agents.defaultScopes);
  const { token, hash, prefix } = newApiToken();
  const facts = { id: randomUUID(), name: body.name ?? null, expiresAt };
  // Without its lock, a token made during a suspension would survive it.
  const { ceiling, effective } = await transactionBy(services.database, call.actor, async (tx) => {
    const decided = body.subject_type === 'agent' ? agentCeiling(body) : await userCeiling(tx, call, body);
    await requireFuture(tx, expiresAt);
    await requireRoom(tx, body, services.config().auth.tokenPolicy.maxActiveTokensPerUser);
    const stored = {
      subjectType: body.subject_type,
      subjectId: body.subject_id,
      scopeCeiling: decided.ceiling,
      agentScopes,
      provisioningKind: null,
    };
    await insertToken(tx, { ...facts, ...stored, hash, prefix, issuedBy: grantBy(call.caller) });
    await insertAuditEvents(tx, [tokenCreated(call.actor, { ...facts, ...stored })]);
    return decided;
  });
  return {
    ...facts,
    token,
    prefix,
    subject_id: body.subject_id,
    subject_type: body.subject_type,
    scope_ceiling: shownCeiling(ceiling),
    ...shownScopes({ subjectType: body.subject_type, agentScopes }),
    effective_roles: roleNamesOf(effective),
    effective_permissions: permissionTexts(effective),
    expires_at: isoOrNull(expiresAt),
    ...(body.subject_type === 'agent' ? scopeWarnings(call.generation, agentScopes) : {}),
  };
}

function checkPermission(caller: Caller, body: z.output<typeof tokenSubject>): void {
  if (body.subject_type === 'agent') {
    if (!can(caller, 'token.create_agent', 'everywhere')) throw lacking(['token.create_agent']);
    return;
  }
  if (body.subject_id !== caller.id) throw forbidden('you can make tokens for yourself only');
  if (!can(caller, 'token.create', 'somewhere')) throw lacking(['token.create']);
}

/** HD-10: the body's scopes, else the configured ones, else null = every pair. */
function decideScopes({ subject_type: type, agent_scopes: given }: TokenBody, defaults: readonly string[]): string[] | null {
  if (type === 'agent') return given ?? (defaults.length > 0 ? [...defaults] : null);
  if (given !== undefined) throw invalid('agent_scopes are for tokens of agents', 'body.agent_scopes');
  return null;
}

/** What may be a mistake: every pair, or one that is not there. */
function scopeWarnings(generation: Generation, scopes: readonly string[] | null) {
  if (scopes === null) return { warnings: ['unscoped' as const] };
  const pairs = registeredPairs(generation.shared);
  const isEmpty = (scope: string) => !pairs.some((pair) => servesPair([scope], pair));
  return scopes.some(isEmpty) ? { warnings: ['scope_not_registered' as const] } : {};
}

interface Decided {
  ceiling: string[] | null;
  effective: EffectiveRole[];
}

/** IM-22: null, or exactly the one role that every agent has. */
function agentCeiling(body: TokenBody): Decided {
  const roles = body.scope_ceiling?.roles ?? null;
  if (roles !== null && (roles.length !== 1 || roles[0] !== 'agent-default'))
    throw invalid('the ceiling of an agent token is null or exactly agent-default', 'body.scope_ceiling');
  return { ceiling: roles, effective: applyCeiling('agent', [], null) };
}

/** IM-21 to IM-23: never wider than the caller's own credential. */
async function userCeiling(tx: Transaction, call: { caller: Caller; generation: Generation }, body: TokenBody): Promise<Decided> {
  const custom = call.generation.shared.auth;
  const user = await findUser(tx, body.subject_id);
  const resolved = user === undefined ? [] : resolveRoles({ direct: user.roles, groups: user.groups, config: custom });
  if (resolved.length === 0)
    throw invalid('the user has no stored role', 'roles from the identity provider do not carry over to API tokens');
  const activatable = call.caller.kind === 'user' ? roleNamesOf(call.caller.roles) : [];
  const given = body.scope_ceiling?.roles;
  const ceiling = given === undefined ? roleNamesOf(resolved).filter((name) => activatable.includes(name)) : [...new Set(given)];
  const unknown = ceiling.findIndex((name) => findRole(name, custom.roles) === undefined);
  if (unknown >= 0) throw invalid('unknown role', `body.scope_ceiling.roles[${unknown}]`);
  if (!ceiling.every((name) => activatable.includes(name)))
    throw refusal('auth.insufficient_scope', 'insufficient permissions', 'a token can have only roles that you have');
  const effective = applyCeiling('user', resolved, { roles: ceiling });
  if (effective.length === 0) throw invalid('the ceiling has no role of the user', 'body.scope_ceiling');
  return { ceiling, effective };
}

function parseExpiry(text: string | null): number | null {
  if (text === null) return null;
  const instant = parseInstant(text);
  if (instant === null) throw invalid('expires_at must be an RFC 3339 time with an offset', 'body.expires_at');
  return instant;
}

/** Uses the clock of Postgres, which also decides when a token expires. */
async function requireFuture(tx: Transaction, expiresAt: number | null): Promise<void> {
  if (expiresAt !== null && expiresAt <= (await databaseNow(tx)))
    throw invalid('expires_at must be in the future', 'body.expires_at');
}

/** IM-16: counts and inserts under one lock, so concurrent creations cannot exceed the limit. */
async function requireRoom(tx: Transaction, body: TokenBody, maxActive: number): Promise<void> {
  if (maxActive === 0) return;
  await lockTokensOf(tx, body.subject_type, body.subject_id);
  if ((await countOwnActiveTokens(tx, body.subject_type, body.subject_id)) < maxActive) return;
  throw invalid(
    `too many active tokens: ${maxActive} is the most for one ${body.subject_type}`,
    'revoke one that is no longer needed: svc token list, svc token revoke ID',
  );
}
