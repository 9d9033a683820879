import { insertAuditEvents } from '../../db/audit.js';
import { limitDatabaseWork } from '../../db/call-limit.js';
import type { Transaction } from '../../db/client.js';
import { deleteSessionsOf } from '../../db/mcp-sessions.js';
import { type MovedOne, moveAllOf } from '../../db/move-many.js';
import { revokeTokensOf } from '../../db/tokens.js';
import { deleteMemberships, lockActiveCount, type UserRow, updateUser } from '../../db/users.js';
import { grantBy } from '../../domain/four-eyes.js';
import { judge } from '../../domain/request/judge.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';
import { countMovedMany } from '../requests/moved.js';
import { tokenRevoked, userStatusChanged } from './events.js';
import { lockTarget, refuseAboveLimit, requireAdminLeft } from './granting.js';
import { requireThere } from './users.js';

type StatusCall = Call<{ id: string }, undefined, unknown>;

/** All database work of a suspension or deletion (OP-70), however much the user has open. */
const endingMs = 20_000;

interface Ended {
  revoked: number;
  moved: MovedOne[];
}

const nothingEnded: Ended = { revoked: 0, moved: [] };

/** `POST /api/users/{id}/suspend` (IM-65). A repeated call is 200 and changes nothing. */
export async function suspendUser(call: StatusCall, services: Services) {
  const { id } = call.params;
  const ended = await endUser(services, async (tx) => {
    const user = await lockTarget(tx, call, id);
    requireThere(user);
    return user.status === 'suspended' ? nothingEnded : end(tx, user, call, 'user_suspended');
  });
  return { id, ...ended };
}

/** `DELETE /api/users/{id}` (IM-67): only the record stays. */
export async function deleteUser(call: StatusCall, services: Services) {
  const { id } = call.params;
  const ended = await endUser(services, async (tx) => {
    const user = await lockTarget(tx, call, id);
    requireThere(user);
    return end(tx, user, call, 'user_deleted');
  });
  return { id, deleted: true as const, ...ended };
}

/** `POST /api/users/{id}/activate` (IM-66): tokens stay revoked. */
export async function activateUser(call: StatusCall, { database, config }: Services) {
  const { id } = call.params;
  await database.transaction(async (tx) => {
    const user = await lockTarget(tx, call, id);
    requireThere(user);
    if (user.status === 'active') return;
    refuseAboveLimit(await lockActiveCount(tx), config());
    await updateUser(tx, { ...user, status: 'active' }, grantBy(call.caller));
    await insertAuditEvents(tx, userStatusChanged(call.actor, id, 'user.activated'));
  });
  return { id, status: 'active' as const };
}

async function endUser({ database, metrics }: Services, work: (tx: Transaction) => Promise<Ended>) {
  const { revoked, moved } = await limitDatabaseWork(endingMs, () => database.transaction(work));
  countMovedMany(metrics, moved);
  return { revoked_tokens: revoked, cancelled_requests: moved.map(({ id }) => id) };
}

/**
 * Changes status, tokens, requests and their events together. Create, resume and claim hold the owner's row for their whole transaction.
 * Each of them therefore either committed before the lock and is found here, or sees that the user is not active.
 */
async function end(
  tx: Transaction,
  user: UserRow,
  { actor, caller }: StatusCall,
  cause: 'user_suspended' | 'user_deleted',
): Promise<Ended> {
  const deleted = cause === 'user_deleted';
  const left = deleted ? { status: 'deleted' as const, slackUserId: null } : { status: 'suspended' as const };
  await updateUser(tx, { ...user, ...left }, grantBy(caller));
  const revoked = await revokeTokensOf(tx, user.id);
  await deleteSessionsOf(tx, user.id);
  await insertAuditEvents(tx, [
    ...userStatusChanged(actor, user.id, deleted ? 'user.deleted' : 'user.suspended', deleted ? user.groups : []),
    ...revoked.map((id) => tokenRevoked(actor, { id, subjectId: user.id }, cause)),
  ]);
  const moved = await moveAllOf(tx, user.id, (request, now) => judge(request, { kind: 'owner_gone', actor, cause }, now));
  // Last, because it blocks reloads until the commit.
  await requireAdminLeft(tx, user);
  if (deleted) await deleteMemberships(tx, user.id, user.groups);
  return { revoked: revoked.length, moved };
}
