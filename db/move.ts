import { type GatewayError, notFound } from '../domain/errors.js';
import type { Execution, StoredRequest } from '../domain/request/types.js';
import type { Change, Verdict } from '../domain/request/verdict.js';
import { type View, viewOf } from '../domain/request/view.js';
import type { Queryable, Transaction } from './client.js';
import type { NewClaim } from './execution-writes.js';
import { lockPairOf } from './migration-pairs.js';
import { allowedAlways, type MoveStatement } from './move-statement.js';
import { movingStatement, type Written } from './move-write.js';
import { type FactsQuery, type FoundState, lockState } from './request-state.js';
import { keepStanding, type Standing } from './standing.js';
import { lockActive } from './users.js';

export interface Moved<Facts = unknown> {
  before: StoredRequest;
  after: StoredRequest;
  now: number;
  view: View;
  changed: boolean;
  /** Thrown by the caller after the commit: what a refusal noticed is kept (ET-13, AG-44). */
  refusal: GatewayError | null;
  /** What was read for the decision. */
  facts: Facts;
  claim: NewClaim | null;
}

/** Decides what happens to the request; a claim also brings what its execution row keeps for the agent. What it has to read, it reads through `db`. */
export type Decide<Facts = undefined> = (
  request: StoredRequest,
  now: number,
  facts: Facts,
  db: Queryable,
) => Decision | Promise<Decision>;
type Decision = Verdict & { claim?: NewClaim };

export interface HowToMove {
  /** What the decision needs besides the request. */
  facts?: FactsQuery;
  /** The decision relies on the owner being active: nobody suspends or deletes them before the commit (IM-65). `facts` tells as `ownerActive` whether they are. */
  needsOwner?: boolean;
  /** Whose move it is. Whoever suspends or deletes them, revokes their token or ends their link to Slack, waits for the commit, and after that it is refused (IM-I4, IM-72, SL-13). */
  actor?: Standing;
  /** Also locks the running execution, so that no heartbeat extends the lease that is being judged. */
  lockExecution?: boolean;
  /** The move may dispatch, start or end a migration: its pair is locked before its row. */
  pair?: boolean;
  /** Further parts of the writing statement, which depend on its part `allowed`. */
  more?: (statement: MoveStatement) => string[];
}

/**
 * Moves a request under its lock: lock the row, load, decide, and write row, decision, execution, audit events and news in the same transaction. A
 * refusal without a change is thrown; 404 for an unknown id. This, `moveAtOnce` and `moveAllOf` are the only writers of a request's state after its creation.
 */
export async function move<Facts = undefined>(
  tx: Transaction,
  id: string,
  decide: Decide<Facts>,
  how: HowToMove = {},
): Promise<Moved<Facts>> {
  // All of it travels together, in the order of locks: user, token, pair, request.
  const owner = how.needsOwner ? lockActive(tx, { ownerOf: id }) : undefined;
  const actor = how.actor === undefined ? undefined : keepStanding(tx, how.actor);
  const pair = how.pair ? lockPairOf(tx, id) : undefined;
  const [found] = await Promise.all([lockState<Facts>(tx, id, how), actor, owner, pair]);
  if (found === undefined) throw notFound('request');
  const { moved, written } = await decided(found, decide, how, tx);
  if (written !== null) {
    // The row is locked since it was read.
    const { text, values, topics } = movingStatement(written, tx, (p) => allowedAlways(p, id));
    tx.send(text, values);
    tx.wake(...topics);
  }
  return moved;
}

/** What the decision makes of the request as it was found, and what is then to be written; a refusal without a change is thrown. */
export async function decided<Facts>(
  { request: before, now, facts }: FoundState<Facts>,
  decide: Decide<Facts>,
  { more }: HowToMove,
  db: Queryable,
): Promise<{ moved: Moved<Facts>; written: Written | null }> {
  const { change, refusal, claim = null } = await decide(before, now, facts, db);
  if (change === null && refusal !== null) throw refusal;
  const after = change === null ? before : apply(before, change, now);
  const moved = { before, after, now, view: viewOf(after, now), changed: change !== null, refusal, facts, claim };
  return { moved, written: change === null ? null : { before, after, change, claim, now, refused: refusal !== null, more } };
}

/** The request as the change leaves it; a change without news (a late result) leaves version and `updated_at` alone. */
export function apply(before: StoredRequest, change: Change, now: number): StoredRequest {
  const moved = change.signal === null ? {} : { version: before.version + 1, updatedAt: now };
  const decisions = change.decision === null ? before.decisions : [...before.decisions, change.decision];
  const newest = change.state.execution ?? before.execution;
  const execution: Execution | null =
    newest !== null && change.execution?.id === newest.id ? { ...newest, ...change.execution.set } : newest;
  return { ...before, ...change.state, ...moved, decisions, execution, attempts: attemptsAfter(before, change) };
}

/** The attempts as the rows of executions will say them. */
function attemptsAfter({ attempts }: StoredRequest, { state, execution, proven, settled }: Change): Execution[] {
  const known = attempts.map((attempt) => {
    const own = [execution, proven].find((each) => each?.id === attempt.id);
    if (own != null) return { ...attempt, ...own.set };
    return settled.includes(attempt.fence) ? { ...attempt, unresolved: false } : attempt;
  });
  const claimed = state.execution ?? null;
  return claimed === null || known.some(({ id }) => id === claimed.id) ? known : [...known, claimed];
}
