import { describe, expect, it } from 'vitest';
import { apply } from '../../../db/move.js';
import { type AuditDraft, systemActor } from '../../../domain/audit/draft.js';
import { type Notice, requestNotices, userNotices } from '../../../domain/notifications/notice.js';
import { judge } from '../../../domain/request/judge.js';
import type { Move, Submission } from '../../../domain/request/moves.js';
import type { Outcome, StoredRequest } from '../../../domain/request/types.js';
import { actorOf, user } from '../../support/callers.js';
import { now, requestIn, steps, storedRequest, workflowSnapshot } from '../../support/stored-request.js';
import { approve, cancel, claim, facts, ownerGone, reject, result, resume, tampered } from '../request/moves.js';

const policy = workflowSnapshot({ steps: steps('group:leads', 'group:dbas') });
const member = (id: string, ...groups: string[]) => user(id, { groups, roles: user(id).roles });
const leader = member('otto', 'leads');
const admin = member('dora', 'dbas');

function noticesOf(request: StoredRequest, move: Move, at = now): Notice[] {
  const { change } = judge(request, move, at);
  return change === null ? [] : requestNotices(change.events, apply(request, change, at));
}
const told = (request: StoredRequest, move: Move, at = now) =>
  noticesOf(request, move, at).map(({ event, actor, detail, matchedSelector }) => [event, actor, detail, matchedSelector]);

describe('the notices of a move (NT-1)', () => {
  const pending = storedRequest({ policy });

  it('name the approver and the selector, the step, who approved and who comes next', () => {
    const [first] = noticesOf(pending, approve(leader));
    expect(first).toEqual({
      event: 'step.approved',
      actor: 'otto',
      request: {
        id: pending.id,
        database: 'app',
        environment: 'production',
        operation: 'execute_select',
        requester: 'alice',
        status: 'pending',
        step: { number: 1, total: 2 },
        approvers: ['otto'],
        next: ['group:dbas'],
      },
      detail: null,
      matchedSelector: 'group:leads',
      reason: null,
      error: null,
    });
    const half = apply(pending, judge(pending, approve(leader), now).change!, now);
    const [last, ...rest] = noticesOf(half, approve(admin));
    expect(rest).toEqual([]);
    expect(last).toMatchObject({ event: 'request.approved', actor: 'dora', matchedSelector: 'group:dbas', detail: null });
    expect(last!.request).toMatchObject({ step: { number: 2, total: 2 }, approvers: ['otto', 'dora'], next: [] });
  });

  it('name who rejected, cancelled or resumed, with what they said', () => {
    const [rejected] = noticesOf(pending, reject(leader, 'not on Friday'));
    expect(rejected).toMatchObject({ event: 'request.rejected', actor: 'otto', reason: 'not on Friday', detail: null });
    expect(rejected!.request).toMatchObject({ step: { number: 1, total: 2 }, approvers: [], next: [] });
    expect(told(pending, reject(user('alice')))).toEqual([['request.rejected', 'alice', null, 'requester']]);
    expect(noticesOf(pending, cancel(user('alice'), 'no longer needed'))).toMatchObject([
      { event: 'request.cancelled', actor: 'alice', reason: 'no longer needed', matchedSelector: null },
    ]);
    expect(told(pending, ownerGone())).toEqual([['request.cancelled', 'root', null, null]]);
    expect(noticesOf(requestIn('approved'), resume(user('alice'), { reason: 'go' }))).toMatchObject([
      { event: 'request.dispatched', actor: 'alice', reason: 'go', detail: null },
    ]);
  });

  it('name the system where a clock or the check of a digest moves', () => {
    expect(told(pending, { kind: 'clock', clock: 'pending' }, pending.expiresAt!)).toEqual([
      ['request.expired', 'system', null, null],
    ]);
    const dispatched = requestIn('dispatched');
    expect(told(dispatched, { kind: 'clock', clock: 'dispatch' }, dispatched.dispatchDeadline!)).toEqual([
      ['request.dispatch_timeout', 'system', null, null],
    ]);
    expect(told(pending, approve(leader, tampered))).toEqual([['request.integrity_failed', 'system', null, null]]);
    const running = requestIn('running');
    const { id, leaseExpiresAt } = running.execution!;
    expect(told(running, { kind: 'lease', executionId: id }, leaseExpiresAt)).toEqual([['execution.lost', 'system', null, null]]);
  });

  it('name the agent of a run', () => {
    expect(told(requestIn('dispatched'), claim({ facts }))).toEqual([['execution.started', 'agent-1', null, null]]);
    expect(ended('execute_dml', 'committed')).toEqual([['execution.completed', 'agent-1', null, null]]);
    expect(ended('execute_dml', 'rolled_back')).toEqual([['execution.failed', 'agent-1', null, null]]);
    expect(ended('execute_dml', 'unknown')).toEqual([['execution.lost', 'system', null, null]]);
    const asked = requestIn('running', { cancelRequestedAt: now - 5, cancelledBy: 'alice' });
    expect(told(asked, result(asked.execution!, 'rolled_back'))).toEqual([
      ['execution.cancelled', 'agent-1', null, null],
      ['request.cancelled', 'alice', null, null],
    ]);
  });

  function ended(operation: StoredRequest['operation'], outcome: Outcome, over: Partial<Submission> = {}) {
    const running = requestIn('running', { operation });
    return told(running, result(running.execution!, outcome, over));
  }

  it('say which versions a migration applied or reverted, or how many (MI-44)', () => {
    const completed = (operation: StoredRequest['operation'], done: Record<string, unknown>) =>
      ended(operation, 'committed', { steps: done })[0]![2];
    expect(completed('migrate_up', { applied: ['001', '002'] })).toBe('migrate_up: applied=[001,002]');
    expect(completed('migrate_up', { applied: [] })).toBe('migrate_up: applied=[]');
    expect(completed('migrate_down', { reverted: ['002'] })).toBe('migrate_down: reverted=[002]');
    expect(completed('migrate_up', { applied_count: 900 })).toBe('migrate_up: applied_count=900');
    expect(completed('migrate_down', { reverted_count: 0 })).toBe('migrate_down: reverted_count=0');
    expect(completed('migrate_repair', {})).toBeNull();
    expect(ended('migrate_up', 'partial', { steps: { applied: ['001'] } })).toEqual([
      ['execution.failed', 'agent-1', null, null],
    ]);
  });

  it('say of an error its class, and the first line of its text where the event has the text (AU-53)', () => {
    const errorOf = (auditError: Submission['auditError']) => {
      const running = requestIn('running');
      const errorMessage = 'the stored text is never told';
      return noticesOf(running, result(running.execution!, 'rolled_back', { auditError, errorMessage }))[0]!.error;
    };
    expect(errorOf({ errorClass: '23505', errorMessage: null })).toEqual({ class: '23505', line: null });
    expect(errorOf({ errorClass: 'ERROR', errorMessage: 'ERROR: one\nDETAIL: two' })).toEqual({
      class: 'ERROR',
      line: 'ERROR: one',
    });
    expect(errorOf({ errorClass: '', errorMessage: '' })).toEqual({ class: '', line: '' });
  });

  it('are none for a wish to cancel, a late result and a marker that fits no attempt (NT-3, NT-4)', () => {
    const running = requestIn('running', { operation: 'execute_dml' });
    expect(told(running, cancel(user('alice')))).toEqual([]);
    const second = { ...running, fence: 2, execution: { ...running.execution!, id: 'other', fence: 2 } };
    const late = judge(second, result(running.execution!, 'rolled_back'), now);
    expect(late.change!.events.map(({ type }) => type)).toEqual(['execution.late_result']);
    expect(requestNotices(late.change!.events, second)).toEqual([]);
    const stranger = { fence: 1, execution_id: 'x', step: '', state: 'done' };
    expect(told(running, result(running.execution!, 'rolled_back', { markerMismatches: [stranger] }))).toHaveLength(1);
  });
});

describe('the notices of users (NT-1)', () => {
  it('name the caller, and nothing of the account', () => {
    const draft = (type: AuditDraft['type'], metadata = {}): AuditDraft => ({
      type,
      outcome: 'success',
      actor: actorOf(user('root')),
      resourceType: 'user',
      resourceId: 'alice',
      reason: null,
      metadata,
    });
    const drafts = [
      draft('user.updated', { changes: { roles: [['a'], ['b']] } }),
      draft('group.member_added'),
      draft('token.revoked'),
    ];
    expect(userNotices(drafts)).toEqual([
      { event: 'user.updated', actor: 'root', request: null, detail: null, matchedSelector: null, reason: null, error: null },
    ]);
    expect(userNotices([{ ...draft('request.cancelled'), actor: systemActor }])).toEqual([]);
    expect(requestNotices(drafts, storedRequest())).toEqual([]);
  });
});
