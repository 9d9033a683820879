import type { Config } from '../../config/types.js';
import type { Transaction } from '../../db/client.js';
import { keepGeneration, latestGeneration } from '../../db/generations.js';
import { keepStanding } from '../../db/standing.js';
import { listActiveHolders, lockAdmins, lockUser, type UserRow } from '../../db/users.js';
import type { Actor } from '../../domain/audit/draft.js';
import type { Caller, EffectiveRole } from '../../domain/caller.js';
import { invalid, refusal } from '../../domain/errors.js';
import { hasAdmin } from '../../domain/last-admin.js';
import { coversRoles, findRole, resolveRoles } from '../../domain/permissions.js';
import type { SharedConfig } from '../../domain/policies.js';
import { planLimits } from '../../runtime/license-limits.js';
import type { Generation } from '../context.js';

interface Holder {
  /** Direct roles only. */
  roles: readonly string[];
  /** Stored memberships only. */
  groups: readonly string[];
}

/** Locks the user that the call names. Refuses an actor who was suspended, or whose token was revoked, after authentication. */
export async function lockTarget(tx: Transaction, { actor }: { actor: Actor }, id: string): Promise<UserRow | undefined> {
  const user = await lockUser(tx, id, actor.id);
  await keepStanding(tx, actor);
  return user;
}

/** Roles of a user as stored (IM-51), without what a JWT adds, except the default role of the identity provider if it is given. */
export const resolve = ({ shared }: Generation, { roles, groups }: Holder, defaultRole: string | null = null): EffectiveRole[] =>
  resolveRoles({ direct: roles, groups, config: shared.auth, jwt: { groups: [], mappedRoles: [], defaultRole } });

/** Refuses unknown roles and the role reserved for agents. `key` is the body member that holds the list. */
export function requireKnown({ shared }: Generation, key: string, roles: readonly string[], held: readonly string[] = []): void {
  const unknown = (name: string) => findRole(name, shared.auth.roles) === undefined || name === 'agent-default';
  const place = roles.findIndex((name) => !held.includes(name) && unknown(name));
  if (place >= 0) throw invalid('unknown role', `body.${key}[${place}]`);
}

/** Groups exist only in the configuration (IM-60). */
export function requireKnownGroups(
  shared: SharedConfig,
  groups: readonly string[],
  key = 'groups',
  held: readonly string[] = [],
): void {
  const unknown = unknownOf(shared);
  const place = groups.findIndex((name) => unknown(name) && !held.includes(name));
  if (place >= 0) throw invalid('unknown group', `body.${key}[${place}]`);
}

function unknownOf(shared: SharedConfig): (group: string) => boolean {
  const known = new Set(shared.auth.groups.map(({ name }) => name));
  return (name) => !known.has(name);
}

/** The same under a lock, before memberships are written: a group that is leaving the configuration gets no new member (IM-75). */
export async function keepKnownGroups(tx: Transaction, generation: Generation, groups: readonly string[]): Promise<void> {
  if (groups.length === 0) return;
  await keepGeneration(tx);
  const latest = await latestGeneration(tx);
  const gone = groups.find(unknownOf(latest?.content ?? generation.shared));
  if (gone !== undefined) throw invalid('unknown group', `${gone} has just left the configuration`);
}

/** Callers can grant only what they hold (IM-53). */
export function requireGrantable(caller: Caller, roles: readonly EffectiveRole[]): void {
  if (!coversRoles(caller, roles))
    throw refusal('auth.insufficient_scope', 'insufficient permissions', 'you can grant only what you have');
}

/** IM-69. Count `active` under the lock that all user creations share. */
export function refuseAboveLimit(active: number, config: Config): void {
  const { maxUsers } = planLimits(config, Date.now());
  if (maxUsers === null || active < maxUsers) return;
  throw refusal('plan.limit_exceeded', `user limit reached: ${maxUsers}`, 'suspend or delete a user, or take a larger plan');
}

/**
 * IM-64: call after the change is written and before it commits. By the newest generation, at least one admin must remain. Concurrent
 * removals wait for each other here, and each sees what the earlier ones left.
 */
export async function requireAdminLeft(tx: Transaction, before: UserRow): Promise<void> {
  if (before.status !== 'active') return;
  await keepGeneration(tx);
  const auth = (await latestGeneration(tx))?.content.auth;
  if (auth === undefined || !hasAdmin([before], auth)) return;
  await lockAdmins(tx);
  if (!hasAdmin(await listActiveHolders(tx), auth))
    throw invalid('the last active admin cannot be removed', 'make another user an admin first');
}
