import { notFound } from '../domain/errors.js';
import { isMutatingMigration } from '../domain/request/types.js';
import { nextInstantOf } from '../domain/request/view.js';
import type { Database } from './client.js';
import { claimantUnchanged, type JointClaim, movedWithClaim } from './joint-claim.js';
import { type Decide, decided, type HowToMove, type Moved, move } from './move.js';
import { movingStatement, type Written } from './move-write.js';
import type { Parameters } from './parameters.js';
import { type FoundState, readState } from './request-state.js';
import { at } from './row-types.js';
import { inTurn } from './standing.js';
import { unrevokedToken } from './tokens.js';
import { activeUsers } from './users.js';

interface Options<Facts> extends HowToMove {
  /** The request, if the caller has read it already. */
  found?: FoundState<Facts> | undefined;
  /** Makes the move by `write` together with the claim of an agent that waits for it (AG-80); false if none does or nothing was written. */
  withClaim?: (moved: Moved<Facts>, write: (claim: JointClaim) => Promise<boolean>) => Promise<boolean>;
}

/**
 * Makes the same move as `move` in two round trips, with no transaction open between them: one statement reads, and one writes and commits. The second
 * writes only if the row is still the one that was read, none of its instants has passed since, and the users it relies on are still active. Otherwise, for
 * migrations, which need the lock of their pair, and for who acts in Slack, `move` decides again under locks.
 */
export async function moveAtOnce<Facts = undefined>(
  db: Database,
  id: string,
  decide: Decide<Facts>,
  { found: given, withClaim, ...how }: Options<Facts> = {},
): Promise<Moved<Facts>> {
  const found = given ?? (await readState<Facts>(db, id, how.facts));
  if (found === undefined) throw notFound('request');
  if (!needsLocks(found, how)) {
    const { moved, written } = await decided(found, decide, how, db);
    if (written === null) return moved;
    const write = (claim: JointClaim | null) => writeIfUnchanged(db, found, { written, claim }, how);
    // A lost answer is proved by an event, so a change without one is made in a transaction with a name.
    if (written.change.events.length > 0 && ((await withClaim?.(moved, write)) || (await write(null)))) return moved;
  }
  return db.transaction((tx) => move(tx, id, decide, how));
}

function needsLocks({ request, facts }: FoundState<unknown>, { pair, needsOwner, actor }: HowToMove): boolean {
  if (pair && isMutatingMigration(request.operation)) return true;
  // The statement does not look at links of Slack accounts, by which few moves are made.
  if (actor?.slackUserId !== undefined) return true;
  // The statement can tell that an active owner has stayed active, not the reverse.
  return needsOwner === true && (facts as { ownerActive?: boolean }).ownerActive !== true;
}

async function writeIfUnchanged(
  db: Database,
  { request, rowVersion, now }: FoundState<unknown>,
  { written: alone, claim }: { written: Written; claim: JointClaim | null },
  { needsOwner = false, actor }: HowToMove,
): Promise<boolean> {
  const written = claim === null ? alone : movedWithClaim(alone, claim, db);
  if (written === null) return false;
  const until = nextInstantOf(request, now);
  const users = [...(needsOwner ? [request.requester] : []), ...(actor?.type === 'user' ? [actor.id] : [])];
  const allowed = (p: Parameters) => {
    const standing = [
      ...(users.length === 0 ? [] : [activeUsers(p, users)]),
      ...(actor === undefined ? [] : [unrevokedToken(p, actor.tokenId)]),
      ...(claim === null ? [] : [claimantUnchanged(p, claim.claimant)]),
    ];
    const locked = `locked as materialized (select id from requests where id = ${p.add(request.id)} and version = ${p.add(request.version)} and xmin = ${p.add(rowVersion)}::xid
      and ${inTurn(standing)} for no key update)`;
    // Judged once the lock is held, however long that took.
    const instant = `${p.add(at(until))}::timestamptz`;
    const inTime = `allowed as materialized (select id from locked where ${instant} is null or clock_timestamp() < ${instant})`;
    return [...standing.map(({ part }) => part), locked, inTime].join(', ');
  };
  return db.writeOnce(movingStatement(written, db, allowed));
}
