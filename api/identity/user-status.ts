import { insertAuditEvents } from '../../db/audit.js';
import { limitDatabaseWork } from '../../db/call-limit.js';
import type { Transaction } from '../../db/client.js';
import { deleteSessionsOf } from '../../db/mcp-sessions.js';
import { type MovedOne, moveAllOf } from '../../db/move-many.js';
import type { OpenPart } from '../../db/open-requests.js';
import { revokeTokensOf } from '../../db/tokens.js';
import { deleteMemberships, lockActiveCount, lockGone, type UserRow, updateUser } from '../../db/users.js';
import { grantBy } from '../../domain/four-eyes.js';
import { judge } from '../../domain/request/judge.js';
import type { CancelCause, StoredRequest } from '../../domain/request/types.js';
import { countEntries } from '../../runtime/entry-metrics.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';
import { tokenRevoked, userStatusChanged } from './events.js';
import { lockTarget, refuseAboveLimit, requireAdminLeft } from './granting.js';
import { requireThere } from './users.js';

type StatusCall = Call<{ id: string }, undefined, unknown>;

/** The database work of each transaction of a suspension or deletion (OP-70). */
const endingMs = 20_000;

/** How many requests end in one transaction, so that it is in time on a slow database too: it is the one that revokes the tokens. */
const maxTogether = 5000;

type Cause = Exclude<CancelCause, 'requested'>;

interface Ended {
  revoked: number;
  moved: MovedOne[];
}

/** `POST /api/users/{id}/suspend` (IM-65). A repeated call is 200, and ends only what one that broke off has left. */
export async function suspendUser(call: StatusCall, services: Services) {
  const { id } = call.params;
  const cause = 'user_suspended';
  const ended = await endUser(services, call, cause, async (tx) => {
    const user = await lockTarget(tx, call, id);
    requireThere(user);
    if (user.status !== 'suspended') return end(tx, user, call, cause);
    return { revoked: 0, moved: await endOpen(tx, call, cause, { unasked: true }) };
  });
  return { id, ...ended };
}

/** `DELETE /api/users/{id}` (IM-67): only the record stays. */
export async function deleteUser(call: StatusCall, services: Services) {
  const { id } = call.params;
  const ended = await endUser(services, call, 'user_deleted', async (tx) => {
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

/** Ends the user, with the first of their requests, by `first`, then the others. What is left when the time of the call is over, a worker ends. */
async function endUser(
  { database, metrics }: Services,
  call: StatusCall,
  cause: Cause,
  first: (tx: Transaction) => Promise<Ended>,
) {
  const { revoked, moved } = await limitDatabaseWork(endingMs, () => database.transaction(first));
  countEntries(metrics, moved);
  const all = [...moved];
  for (let last = moved; last.length === maxTogether; ) {
    last = await limitDatabaseWork(endingMs, () => database.transaction((tx) => endMore(tx, call, cause, last.at(-1)!.id)));
    countEntries(metrics, last);
    all.push(...last);
  }
  return { revoked_tokens: revoked, cancelled_requests: all.map(({ id }) => id) };
}

/** Nothing once the user was activated again. */
const endMore = async (tx: Transaction, call: StatusCall, cause: Cause, after: string): Promise<MovedOne[]> =>
  (await lockGone(tx, call.params.id)) ? endOpen(tx, call, cause, { after }) : [];

function endOpen(tx: Transaction, { params, actor }: StatusCall, cause: Cause, part: OpenPart = {}): Promise<MovedOne[]> {
  const decide = (request: StoredRequest, now: number) => judge(request, { kind: 'owner_gone', actor, cause }, now);
  return moveAllOf(tx, params.id, decide, { ...part, limit: maxTogether });
}

/**
 * Changes status, tokens, the first requests and their events together. Create, resume and claim hold the owner's row for their whole transaction.
 * Each of them therefore either committed before the lock and is found here, or sees that the user is not active.
 */
async function end(tx: Transaction, user: UserRow, call: StatusCall, cause: Cause): Promise<Ended> {
  const { actor, caller } = call;
  const deleted = cause === 'user_deleted';
  const left = deleted ? { status: 'deleted' as const, slackUserId: null } : { status: 'suspended' as const };
  await updateUser(tx, { ...user, ...left }, grantBy(caller));
  const revoked = await revokeTokensOf(tx, user.id);
  await deleteSessionsOf(tx, user.id);
  await insertAuditEvents(tx, [
    ...userStatusChanged(actor, user.id, deleted ? 'user.deleted' : 'user.suspended', deleted ? user.groups : []),
    ...revoked.map((id) => tokenRevoked(actor, { id, subjectId: user.id }, cause)),
  ]);
  const moved = await endOpen(tx, call, cause);
  // Last, because it blocks reloads until the commit.
  await requireAdminLeft(tx, user);
  if (deleted) await deleteMemberships(tx, user.id, user.groups);
  return { revoked: revoked.length, moved };
}
