import { randomUUID } from 'node:crypto';
import type { ApprovalMacs } from '../crypto/approval-macs.js';
import type { AuditSubject } from '../domain/audit/draft.js';
import type { Outgoing } from '../domain/notifications/outgoing.js';
import { currentSelectors, openSelectors } from '../domain/request/approval.js';
import type { Decision, StoredRequest } from '../domain/request/types.js';
import type { Change } from '../domain/request/verdict.js';
import { viewOf } from '../domain/request/view.js';
import { auditInsert, auditRows } from './audit.js';
import type { Recorder, SingleWrite } from './client.js';
import { dryRunEnd } from './dry-run-jobs.js';
import { claimInsert, executionUpdates, type NewClaim } from './execution-writes.js';
import { dispatchBusy, endsRun, pairUpdate } from './migration-pairs.js';
import { type MoveStatement, writing } from './move-statement.js';
import { topic } from './notifications.js';
import { outboxInsert } from './outbox.js';
import { outgoingInsert } from './outgoing.js';
import { type Parameters, parameters } from './parameters.js';
import { at } from './row-types.js';
import { decisionCode, stateCode } from './vouching.js';

/** What a decided move writes. */
export interface Written {
  before: StoredRequest;
  after: StoredRequest;
  change: Change;
  claim: NewClaim | null;
  now: number;
  refused: boolean;
  /** Parts of the caller's own, which depend on `allowed` too. */
  more: ((statement: MoveStatement) => string[]) | undefined;
  /** What goes out, if that is not what the events and the state after them say. */
  outgoing?: Outgoing;
}

/** Everything a move writes, in one statement. `allowed` makes the part of that name. `topics` are to be notified once it is committed. */
export function movingStatement(
  written: Written,
  { macs, outgoingOf }: Recorder,
  allowed: (p: Parameters) => string,
): SingleWrite {
  const p = parameters();
  const { before, after, change, now, refused } = written;
  const guard = allowed(p);
  const eventId = randomUUID();
  const statement: MoveStatement = { p, request: '(select id from allowed)', before, after, now, refused };
  const parts = [guard, ...partsOf(statement, { ...written, eventId }, macs), ...(written.more?.(statement) ?? [])];
  const { outgoing = outgoingOf(change.events, { request: after, detail: null }) } = written;
  const told = outgoingInsert(p, outgoing, 'allowed');
  const text = writing([...parts, ...told.parts]);
  return { text, values: p.values, topics: [...topicsOf(written), ...told.topics], eventId };
}

function partsOf(
  statement: MoveStatement,
  { change, claim, eventId }: Written & { eventId: string },
  macs: ApprovalMacs,
): string[] {
  const { p, request, before, after } = statement;
  const { execution, signal, decision } = change;
  const parts = [
    stateUpdate(statement, macs),
    auditInsert(p.add(auditRows(change.events, subjectOf(after), eventId)), 'allowed'),
  ];
  if (claim !== null && after.execution !== null) parts.push(claimInsert(statement, after.execution, claim));
  if (execution !== null) parts.push(executionUpdates(statement, change));
  if (signal !== null) parts.push(newsInsert(statement, signal, change.lingerMs));
  if (decision !== null) parts.push(decisionInsert(p, decision, decisionCode(after, decision, macs)));
  return [...parts, ...dryRunEnd(p, request, before.status, after.status), ...pairUpdate(statement)];
}

function topicsOf({ before, after, change }: Pick<Written, 'before' | 'after' | 'change'>): string[] {
  const { signal, lingerMs } = change;
  const topics = waitersOf(after);
  // Lingering news is found by the publisher's own look; most of it is overtaken before.
  if ((signal !== null && lingerMs === 0) || endsRun(before, after)) topics.push(topic.outbox);
  if (after.status === 'dispatched' || endsRun(before, after)) topics.push(topic.jobs(after.database, after.environment));
  return [...topics, ...cancelTopics(after)];
}

/** The topic of the agent that runs a request whose cancel was asked for. */
export const cancelTopics = ({ status, cancelRequestedAt, claimedBy }: StoredRequest): string[] =>
  status === 'running' && cancelRequestedAt !== null && claimedBy !== null ? [topic.cancels(claimedBy)] : [];

/** The topics of those who wait for the request or its outcome. */
export function waitersOf({ id, status }: StoredRequest): string[] {
  return status === 'dispatched' || status === 'running' ? [topic.request(id)] : [topic.request(id), topic.outcome(id)];
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

function newsInsert({ p, after, now }: MoveStatement, signal: NonNullable<Change['signal']>, lingerMs: number): string {
  return outboxInsert({
    version: p.add(after.version),
    signal: p.add(signal.name),
    actor: p.add(signal.actor),
    step: p.add(signal.step),
    view: p.add(JSON.stringify(viewOf(after, now))),
    starts: 'false',
    lingerMs: p.add(lingerMs),
  });
}

function decisionInsert(p: Parameters, decision: Decision, mac: string): string {
  const { step, userId, action, selector, comment, at: decidedAt, tokenId } = decision;
  const values = [step, userId, action, selector, comment, at(decidedAt), tokenId, mac].map(p.add).join(', ');
  return `decided as (insert into decisions (id, request_id, step, user_id, action, selector, comment, decided_at, token_id, mac)
    select gen_random_uuid(), id, ${values} from allowed)`;
}

function stateUpdate({ p, request, before, after }: MoveStatement, macs: ApprovalMacs): string {
  const { dispatch_deadline: deadline, ...columns } = stateColumns(after, macs);
  // A request that stays dispatched keeps the stored one: what was read counts the wait of a migration in line, or is null while that lasts (AG-54).
  const stays = before.status === 'dispatched' && after.status === 'dispatched';
  const written = stays ? columns : { ...columns, dispatch_deadline: deadline };
  const sets = Object.entries(written).map(([column, value]) => `${column} = ${p.add(value)}`);
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
