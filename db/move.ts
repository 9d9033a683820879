import type { ApprovalMacs } from '../crypto/approval-macs.js';
import type { AuditSubject } from '../domain/audit.js';
import { type GatewayError, notFound } from '../domain/errors.js';
import { currentSelectors, openSelectors } from '../domain/request/approval.js';
import type { Decision, Execution, StoredRequest } from '../domain/request/types.js';
import type { Change, Verdict } from '../domain/request/verdict.js';
import { type View, viewOf } from '../domain/request/view.js';
import { auditInsert, auditRows } from './audit.js';
import type { Transaction } from './client.js';
import { dryRunEnd } from './dry-run-jobs.js';
import { claimInsert, executionUpdate, type NewClaim } from './execution-writes.js';
import { dispatchBusy, endsRun, lockPairOf, pairUpdate } from './migration-pairs.js';
import type { MoveStatement } from './move-statement.js';
import { topic } from './notifications.js';
import { outboxInsert } from './outbox.js';
import { type Parameters, parameters } from './parameters.js';
import { lockState } from './request-state.js';
import { at } from './row-types.js';
import { decisionCode, stateCode } from './vouching.js';

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

/** Decides under the row's lock; a claim also brings what its execution row keeps for the agent. */
export type Decide<Facts = undefined> = (request: StoredRequest, now: number, facts: Facts) => Verdict & { claim?: NewClaim };

interface HowToMove<Facts> {
  /** What the decision needs besides the request. Its statements are sent before the request is locked, so it may lock a user (IM-65). */
  read?: (tx: Transaction) => Promise<Facts>;
  /** Also locks the running execution, so that no heartbeat extends the lease that is being judged. */
  lockExecution?: boolean;
  /** The move may dispatch, start or end a migration: its pair is locked before its row. */
  pair?: boolean;
}

/**
 * The only writer of a request's state after its creation: lock the row, load, decide, and write row, decision, execution, audit events and news in the
 * same transaction. A refusal without a change is thrown; 404 for an unknown id.
 */
export async function move<Facts = undefined>(
  tx: Transaction,
  id: string,
  decide: Decide<Facts>,
  how: HowToMove<Facts> = {},
): Promise<Moved<Facts>> {
  // All of it travels together, in the order of locks: user, pair, request.
  const reading = how.read?.(tx);
  const pair = how.pair ? lockPairOf(tx, id) : undefined;
  const [locked, read] = await Promise.all([lockState(tx, id, how), reading, pair]);
  if (locked === undefined) throw notFound('request');
  const { request: before, now } = locked;
  const facts = read as Facts;
  const { change, refusal, claim = null } = decide(before, now, facts);
  if (change === null && refusal !== null) throw refusal;
  const after = change === null ? before : apply(before, change, now);
  if (change !== null) write(tx, { before, after }, { change, claim, now });
  return { before, after, now, view: viewOf(after, now), changed: change !== null, refusal, facts, claim };
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
function attemptsAfter({ attempts }: StoredRequest, { state, execution, settled }: Change): Execution[] {
  const known = attempts.map((attempt) => {
    if (attempt.id === execution?.id) return { ...attempt, ...execution.set };
    return settled.includes(attempt.fence) ? { ...attempt, unresolved: false } : attempt;
  });
  const claimed = state.execution ?? null;
  return claimed === null || known.some(({ id }) => id === claimed.id) ? known : [...known, claimed];
}

/** Everything a move writes, in one statement: one round trip under the lock. */
function write(tx: Transaction, { before, after }: Pick<Moved, 'before' | 'after'>, written: Written): void {
  const p = parameters();
  const statement: MoveStatement = { p, request: p.add(after.id), before, after, now: written.now };
  tx.send(`with ${partsOf(statement, written, tx.macs).join(', ')} select 1`, p.values);
  wakeWaiters(tx, after);
  const { signal, lingerMs } = written.change;
  // Lingering news is found by the publisher's own look; most of it is overtaken before.
  if (signal !== null && lingerMs === 0) tx.wake(topic.outbox);
  if (after.status === 'dispatched' || endsRun(before, after)) tx.wake(topic.jobs(after.database, after.environment));
  if (endsRun(before, after)) tx.wake(topic.outbox);
}

interface Written {
  change: Change;
  claim: NewClaim | null;
  now: number;
}

function partsOf(statement: MoveStatement, { change, claim }: Written, macs: ApprovalMacs): string[] {
  const { p, request, before, after } = statement;
  const { execution, settled, signal, decision } = change;
  const parts = [stateUpdate(statement, macs), auditInsert(p.add(auditRows(change.events, subjectOf(after))))];
  if (claim !== null && after.execution !== null) parts.push(claimInsert(statement, after.execution, claim));
  if (execution !== null) parts.push(executionUpdate(statement, execution, settled));
  if (signal !== null) parts.push(newsInsert(statement, signal, change.lingerMs));
  if (decision !== null) parts.push(decisionInsert(p, request, decision, decisionCode(after, decision, macs)));
  return [...parts, ...dryRunEnd(p, request, before.status, after.status), ...pairUpdate(statement)];
}

/** Wakes who waits for the request or its outcome. */
export function wakeWaiters(tx: Transaction, { id, status }: StoredRequest): void {
  tx.wake(topic.request(id));
  if (status !== 'dispatched' && status !== 'running') tx.wake(topic.outcome(id));
}

/** What the events of a move are about. */
export const subjectOf = ({ id, operation, database, environment }: StoredRequest): AuditSubject => ({
  requestId: id,
  operation,
  database,
  environment,
  detailFingerprint: null,
  detailRaw: null,
});

function newsInsert({ p, request, after, now }: MoveStatement, signal: NonNullable<Change['signal']>, lingerMs: number): string {
  return outboxInsert({
    request,
    version: p.add(after.version),
    signal: p.add(signal.name),
    actor: p.add(signal.actor),
    step: p.add(signal.step),
    view: p.add(JSON.stringify(viewOf(after, now))),
    starts: 'false',
    lingerMs: p.add(lingerMs),
  });
}

function decisionInsert(p: Parameters, request: string, decision: Decision, mac: string): string {
  const { step, userId, action, selector, comment, at: decidedAt, tokenId } = decision;
  const values = [step, userId, action, selector, comment, at(decidedAt), tokenId, mac].map(p.add).join(', ');
  return `decided as (insert into decisions (id, request_id, step, user_id, action, selector, comment, decided_at, token_id, mac) values (gen_random_uuid(), ${request}, ${values}))`;
}

function stateUpdate({ p, request, before, after }: MoveStatement, macs: ApprovalMacs): string {
  const sets = Object.entries(stateColumns(after, macs)).map(([column, value]) => `${column} = ${p.add(value)}`);
  const busy = dispatchBusy(before, after);
  if (busy !== null) sets.push(`dispatch_busy_ms = ${busy}`);
  return `moved as (update requests set ${sets.join(', ')} where id = ${request})`;
}

/** The columns that a move may change, with their values. */
export function stateColumns(r: StoredRequest, macs: ApprovalMacs): Record<string, unknown> {
  return {
    state_mac: stateCode(r, macs),
    version: r.version,
    status: r.status,
    current_step: r.currentStep,
    step_selectors: currentSelectors(r),
    open_selectors: openSelectors(r),
    fence: r.fence,
    updated_at: at(r.updatedAt),
    expires_at: at(r.expiresAt),
    approved_at: at(r.approvedAt),
    dispatch_by: at(r.dispatchBy),
    dispatched_at: at(r.dispatchedAt),
    dispatch_deadline: at(r.dispatchDeadline),
    resolved_at: at(r.resolvedAt),
    claimed_by: r.claimedBy,
    cancel_requested_at: at(r.cancelRequestedAt),
    cancelled_by: r.cancelledBy,
    cancel_reason: r.cancelReason,
    cancel_cause: r.cancelCause,
    cancelled_while_lost: r.cancelledWhileLost,
    lost_reason: r.lostReason,
    failure_reason: r.failureReason,
  };
}
