import { type GatewayError, notFound } from '../domain/errors.js';
import { currentSelectors, openSelectors } from '../domain/request/approval.js';
import type { Execution, StoredRequest } from '../domain/request/types.js';
import type { Change, Verdict } from '../domain/request/verdict.js';
import { type View, viewOf } from '../domain/request/view.js';
import { auditInsert, auditRows } from './audit.js';
import type { Transaction } from './client.js';
import { insertClaim, type NewClaim, updateExecution, updateUnresolved } from './executions.js';
import { topic } from './notifications.js';
import { outboxInsert } from './outbox.js';
import { findState, lockRunningExecution, lockState } from './request-state.js';
import { at } from './row-types.js';

export interface Moved {
  before: StoredRequest;
  after: StoredRequest;
  now: number;
  view: View;
  changed: boolean;
  /** Thrown by the caller after the commit: what a refusal noticed is kept (ET-13, AG-44). */
  refusal: GatewayError | null;
}

/** Decides under the row's lock; a claim also brings what its execution row keeps for the agent. */
export type Decide = (request: StoredRequest, now: number) => Verdict & { claim?: NewClaim };

/**
 * The only writer of a request's state after its creation: lock the row, load, decide, and write row, decision, execution, audit events and news in the
 * same transaction. A refusal without a change is thrown; 404 for an unknown id.
 */
export async function move(
  tx: Transaction,
  id: string,
  decide: Decide,
  options: { lockExecution?: boolean } = {},
): Promise<Moved> {
  let loaded = await lockState(tx, id);
  if (loaded === undefined) throw notFound('request');
  if (options.lockExecution) {
    await lockRunningExecution(tx, id);
    loaded = (await findState(tx, id)) ?? loaded;
  }
  const { request: before, now } = loaded;
  const { change, refusal, claim } = decide(before, now);
  if (change === null && refusal !== null) throw refusal;
  const after = change === null ? before : apply(before, change, now);
  if (change !== null) await write(tx, before, after, change, now, claim);
  return { before, after, now, view: viewOf(after, now), changed: change !== null, refusal };
}

/** The request as the change leaves it; a change without news (a late result) leaves version and `updated_at` alone. */
function apply(before: StoredRequest, change: Change, now: number): StoredRequest {
  const moved = change.signal === null ? {} : { version: before.version + 1, updatedAt: now };
  const decisions = change.decision === null ? before.decisions : [...before.decisions, change.decision];
  const newest = change.state.execution ?? before.execution;
  const execution: Execution | null =
    newest !== null && change.execution?.id === newest.id ? { ...newest, ...change.execution.set } : newest;
  return { ...before, ...change.state, ...moved, decisions, execution };
}

async function write(
  tx: Transaction,
  before: StoredRequest,
  after: StoredRequest,
  change: Change,
  now: number,
  claim?: NewClaim,
): Promise<void> {
  if (claim !== undefined && after.execution !== null) await insertClaim(tx, after.id, after.execution, claim, now);
  if (change.execution !== null) await updateExecution(tx, change.execution, now);
  if (change.settled.length > 0) await updateUnresolved(tx, before.id, change.settled);
  await writeState(tx, after, change, now);
  tx.wake(topic.request(after.id));
  if (change.signal !== null) tx.wake(topic.outbox);
  if (after.status === 'dispatched') tx.wake(topic.jobs(after.database, after.environment));
  if (after.status === 'running') tx.wake(topic.leases);
}

const stateText = `moved as (
    update requests set version = $2, status = $3, current_step = $4, step_selectors = $5, open_selectors = $6, fence = $7, updated_at = $8, expires_at = $9,
      approved_at = $10, dispatch_by = $11, dispatched_at = $12, dispatch_deadline = $13, resolved_at = $14, claimed_by = $15, cancel_requested_at = $16,
      cancelled_by = $17, cancel_reason = $18, cancelled_while_lost = $19, lost_reason = $20, failure_reason = $21
    where id = $1
  )`;
const stateParameters = 21;

const newsText = outboxInsert({
  request: '$1',
  version: '$2',
  signal: '$23',
  actor: '$24',
  step: '$25',
  view: '$26',
  starts: 'false',
  lingerMs: '$27',
});
const decisionText = (first: number) => `decided as (
    insert into decisions (id, request_id, step, user_id, action, selector, comment, decided_at)
    values (gen_random_uuid(), $1, ${[0, 1, 2, 3, 4, 5].map((n) => `$${first + n}`).join(', ')})
  )`;

/** State, audit events, news and decision in one statement: one round trip under the lock. */
async function writeState(tx: Transaction, after: StoredRequest, change: Change, now: number): Promise<void> {
  const subject = {
    requestId: after.id,
    operation: after.operation,
    database: after.database,
    environment: after.environment,
    detailFingerprint: null,
    detailRaw: null,
  };
  const values: unknown[] = [...stateValues(after), auditRows(change.events, subject)];
  const texts = [stateText, auditInsert(`$${stateParameters + 1}`)];
  if (change.signal !== null) {
    texts.push(newsText);
    values.push(change.signal.name, change.signal.actor, change.signal.step, JSON.stringify(viewOf(after, now)), change.lingerMs);
  }
  if (change.decision !== null) {
    const { step, userId, action, selector, comment, at: decidedAt } = change.decision;
    texts.push(decisionText(values.length + 1));
    values.push(step, userId, action, selector, comment, at(decidedAt));
  }
  await tx.query(`with ${texts.join(', ')} select 1`, values);
}

function stateValues(r: StoredRequest): unknown[] {
  return [
    r.id,
    r.version,
    r.status,
    r.currentStep,
    currentSelectors(r),
    openSelectors(r),
    r.fence,
    at(r.updatedAt),
    at(r.expiresAt),
    at(r.approvedAt),
    at(r.dispatchBy),
    at(r.dispatchedAt),
    at(r.dispatchDeadline),
    at(r.resolvedAt),
    r.claimedBy,
    at(r.cancelRequestedAt),
    r.cancelledBy,
    r.cancelReason,
    r.cancelledWhileLost,
    r.lostReason,
    r.failureReason,
  ];
}
