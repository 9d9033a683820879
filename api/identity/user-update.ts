import type { z } from 'zod';
import type { Config } from '../../config/types.js';
import { insertAuditEvents } from '../../db/audit.js';
import type { Transaction } from '../../db/client.js';
import { deleteMemberships, insertMemberships, type UserRow, updateUser } from '../../db/users.js';
import type { EffectiveRole } from '../../domain/caller.js';
import { type Grant, grantBy } from '../../domain/four-eyes.js';
import { findRole } from '../../domain/permissions.js';
import { type UserParts, type UserPatch, updatedUser } from '../../domain/user-update.js';
import type { Generation, Services } from '../context.js';
import type { Call } from '../http/route.js';
import { userUpdated } from './events.js';
import {
  keepKnownGroups,
  lockTarget,
  requireAdminLeft,
  requireGrantable,
  requireKnown,
  requireKnownGroups,
  resolve,
} from './granting.js';
import type { userPatch } from './schemas.js';
import { linkError, requireThere, shownStatus } from './users.js';

type PatchCall = Call<{ id: string }, undefined, z.output<typeof userPatch>>;

/** `PATCH /api/users/{id}` (IM-63): all parts or none. Writes nothing if nothing changes. */
export async function updateUserParts(call: PatchCall, { database, config }: Services) {
  const { actor, params, body, generation } = call;
  const patch = patchOf(body);
  try {
    return await database.transaction(async (tx) => {
      const before = await lockTarget(tx, call, params.id);
      requireNewlyNamedKnown(generation, body, before);
      requireThere(before);
      const { after, changes } = updatedUser(before, patch);
      const ofProvider = providerDefault(config(), before);
      requireGrantable(call.caller, [...granted(generation, before, after, ofProvider), ...linked(generation, before, after)]);
      const updated = Object.keys(changes).length > 0;
      if (updated) {
        await write(tx, generation, { before, after, by: grantBy(call.caller) });
        await requireAdminLeft(tx, before);
        await insertAuditEvents(tx, userUpdated(actor, before.id, changes));
      }
      const { roles, groups, slackUserId } = after;
      return {
        id: before.id,
        updated,
        roles: [...roles],
        groups: [...groups],
        slack_user_id: slackUserId,
        status: shownStatus(before),
      };
    });
  } catch (error) {
    throw linkError(error);
  }
}

function patchOf(body: z.output<typeof userPatch>): UserPatch {
  return {
    roles: body.roles,
    addRoles: body.add_roles ?? [],
    rmRoles: body.rm_roles ?? [],
    addGroups: body.add_groups ?? [],
    rmGroups: body.rm_groups ?? [],
    slackUserId: body.slack_user_id === '' ? null : body.slack_user_id,
  };
}

/** Allows what the user already has, even if it has left the configuration. */
function requireNewlyNamedKnown(generation: Generation, body: z.output<typeof userPatch>, user: UserRow | undefined): void {
  for (const key of ['roles', 'add_roles'] as const) requireKnown(generation, key, body[key] ?? [], user?.roles);
  requireKnownGroups(generation.shared, body.add_groups ?? [], 'add_groups', user?.groups);
}

/** Roles that the caller must hold: each newly named one, direct or through a group, and each newly resolved one, default roles included. */
function granted(generation: Generation, before: UserParts, after: UserParts, ofProvider: string | null): EffectiveRole[] {
  const { auth } = generation.shared;
  const newGroups = after.groups.filter((name) => !before.groups.includes(name));
  const named = [
    ...after.roles.filter((name) => !before.roles.includes(name)),
    ...auth.groups.filter(({ name }) => newGroups.includes(name)).flatMap(({ roles }) => roles),
  ];
  return [
    ...named.flatMap((name) => findRole(name, auth.roles) ?? []),
    ...[null, ofProvider].flatMap((defaultRole) => newlyResolved(generation, before, after, defaultRole)),
  ];
}

function newlyResolved(generation: Generation, before: UserParts, after: UserParts, defaultRole: string | null): EffectiveRole[] {
  const held = new Set(resolve(generation, before, defaultRole).map(({ name }) => name));
  return resolve(generation, after, defaultRole).filter(({ name }) => !held.has(name));
}

/** The role that a token of the identity provider gives this user once no other role is left. */
const providerDefault = ({ auth: { oidc } }: Config, { source }: UserRow): string | null =>
  oidc !== null && (source === 'oidc' || oidc.linkExistingUsers) ? oidc.defaultRole : null;

/** Whoever speaks for a Slack user that is linked anew acts with all that the user may do. */
const linked = (generation: Generation, before: UserParts, after: UserParts): EffectiveRole[] =>
  after.slackUserId === null || after.slackUserId === before.slackUserId ? [] : resolve(generation, after);

interface Writing {
  before: UserRow;
  after: UserParts;
  by: Grant;
}

async function write(tx: Transaction, generation: Generation, { before, after, by }: Writing): Promise<void> {
  const added = after.groups.filter((name) => !before.groups.includes(name));
  await updateUser(tx, { ...before, ...after }, by);
  await keepKnownGroups(tx, generation, added);
  await insertMemberships(tx, before.id, added, by);
  await deleteMemberships(
    tx,
    before.id,
    before.groups.filter((name) => !after.groups.includes(name)),
  );
}
