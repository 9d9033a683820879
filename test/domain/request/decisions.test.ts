import { describe, expect, it } from 'vitest';
import { judge } from '../../../domain/request/judge.js';
import { actorOf, user } from '../../support/callers.js';
import { approval, now, requestIn, steps, storedRequest, workflowSnapshot } from '../../support/stored-request.js';
import { approve, ask, cancel, ownerGone, reject } from './moves.js';

const workflow = workflowSnapshot({ steps: steps('group:first', 'group:second') });
const pending = storedRequest({ policy: workflow });
const bob = user('bob', { groups: ['first', 'second'] });
const alice = user('alice');

describe('an approval', () => {
  it('that leaves more to approve is a decision and a step.approved (ST-4)', () => {
    const { change } = judge(pending, approve(bob, { comment: 'ok' }), now);
    expect(change?.state).toEqual({ currentStep: 1 });
    expect(change?.decision).toEqual({
      step: 0,
      userId: 'bob',
      action: 'approve',
      selector: 'group:first',
      comment: 'ok',
      at: now,
      tokenId: bob.tokenId,
    });
    const metadata = { step_number: 1, total_steps: 2, matched_selector: 'group:first', approval_comment: 'ok' };
    expect(change?.events).toMatchObject([
      { type: 'step.approved', outcome: 'success', actor: actorOf(bob), reason: null, metadata },
    ]);
    expect(JSON.stringify(change?.events[0]?.metadata)).toBe(JSON.stringify(metadata));
    expect(change?.signal).toEqual({ name: 'approval', actor: 'bob', step: 0 });
  });

  it('that is the last one approves and starts the clock of TT-2, and never dispatches (ST-5)', () => {
    const last = storedRequest({ policy: workflow, currentStep: 1, decisions: [approval(0, 'dora', 'group:first')] });
    const { change } = judge(last, approve(bob), now);
    expect(change?.state).toEqual({
      status: 'approved',
      currentStep: 2,
      approvedAt: now,
      resolvedAt: now,
      dispatchBy: now + 7_200_000,
    });
    expect(change?.events).toMatchObject([{ type: 'request.approved', metadata: { matched_selector: 'group:second' } }]);
    expect(change?.events[0]?.metadata).toEqual({ matched_selector: 'group:second' });
  });

  it('of a step that is not the open one decides nothing (RQ-58)', () => {
    const free = { ...workflow, allowSameApproverAcrossSteps: true };
    const second = (...by: string[]) =>
      storedRequest({ policy: free, currentStep: 1, decisions: by.map((who) => approval(0, who, 'group:first')) });
    const refusalOf = (who: string, expectedStep: number) => {
      const { refusal, change } = judge(second(who), approve(bob, { expectedStep }), now);
      return [refusal?.code, refusal?.reason, change];
    };
    expect(refusalOf('bob', 0)).toEqual(['request.conflict', 'already_approved', null]);
    expect(refusalOf('dora', 0)).toEqual(['request.conflict', 'content_changed', null]);
    expect(refusalOf('dora', 2)).toEqual(['request.conflict', 'content_changed', null]);
    expect(judge(second('bob'), approve(bob, { expectedStep: 1 }), now).change?.state.status).toBe('approved');
  });

  it('counts for the only selector of the caller that is still open (RQ-55)', () => {
    const both = {
      ...workflow,
      steps: [
        {
          mode: 'all' as const,
          approvers: [
            { selector: 'group:first', min: 1 },
            { selector: 'group:second', min: 1 },
          ],
        },
      ],
    };
    const request = storedRequest({ policy: both, decisions: [approval(0, 'dora', 'group:first')] });
    expect(judge(request, approve(bob), now).change?.decision?.selector).toBe('group:second');
    expect(
      judge(storedRequest({ policy: both }), approve(bob, { selector: 'group:second' }), now).change?.decision?.selector,
    ).toBe('group:second');
    expect(judge(storedRequest({ policy: both }), approve(bob), now).refusal?.hint).toBe('say which: group:first, group:second');
    expect(ask(request, approve(user('sue', { groups: ['first'] })))).toBe('409');
    expect(ask(request, approve(bob, { selector: 'group:first' }))).toBe('409');
  });

  it('is refused to the owner and to who has approved an earlier step, unless the workflow allows it (AV-12, AV-13)', () => {
    const own = user('alice', { groups: ['first'] });
    const second = { currentStep: 1, decisions: [approval(0, 'bob', 'group:first')] };
    expect(ask(pending, approve(own))).toBe('403');
    expect(ask({ ...pending, policy: { ...workflow, allowSelfApprove: true } }, approve(own))).toBe('pending');
    expect(ask({ ...pending, policy: { ...workflow, allowSelfApprove: true } }, approve(alice))).toBe('403');
    expect(ask({ ...pending, ...second }, approve(bob))).toBe('409');
    expect(ask({ ...pending, ...second, policy: { ...workflow, allowSameApproverAcrossSteps: true } }, approve(bob))).toBe(
      'approved',
    );
    const gone = user('bob', { groups: ['first'] });
    expect(ask({ ...pending, ...second, policy: { ...workflow, allowSameApproverAcrossSteps: true } }, approve(gone))).toBe(
      '409',
    );
  });

  it('stays valid when its giver has lost the group (AV-14)', () => {
    const request = storedRequest({ policy: workflow, currentStep: 1, decisions: [approval(0, 'left', 'group:first')] });
    expect(ask(request, approve(bob))).toBe('approved');
  });
});

describe('a rejection', () => {
  it('ends the request at any step, with the first matching selector in workflow order (ST-6, RQ-61)', () => {
    const any = {
      mode: 'any' as const,
      approvers: [
        { selector: 'group:x', min: 2 },
        { selector: 'group:second', min: 1 },
        { selector: 'group:first', min: 1 },
      ],
    };
    const { change } = judge(storedRequest({ policy: { ...workflow, steps: [any] } }), reject(bob, 'no'), now);
    expect(change?.state).toEqual({ status: 'rejected', resolvedAt: now });
    expect(change?.decision).toMatchObject({ step: 0, action: 'reject', selector: 'group:second', comment: 'no' });
    const metadata = { step_number: 1, total_steps: 1, matched_selector: 'group:second' };
    expect(change?.events).toMatchObject([{ type: 'request.rejected', outcome: 'denied', reason: 'no', metadata }]);
  });

  it('by the owner needs no selector, and one by an approver is no second approval (RQ-60, RQ-61)', () => {
    expect(judge(pending, reject(user('alice', { groups: ['first'] })), now).change?.decision?.selector).toBe('requester');
    const second = { ...pending, currentStep: 1, decisions: [approval(0, 'bob', 'group:first')] };
    expect(ask(second, reject(bob))).toBe('rejected');
  });
});

describe('a cancel', () => {
  it.each(['pending', 'approved', 'dispatched', 'execution_lost'] as const)(
    'of a request that is %s holds at once (RQ-71, ST-16)',
    (status) => {
      const { change } = judge(requestIn(status), cancel(alice, 'no need'), now);
      expect(change?.state).toMatchObject({
        status: 'cancelled',
        resolvedAt: now,
        cancelRequestedAt: now,
        cancelledBy: 'alice',
        cancelReason: 'no need',
        dispatchDeadline: null,
        cancelledWhileLost: status === 'execution_lost',
      });
      expect(change?.events).toMatchObject([
        { type: 'request.cancelled', actor: { id: 'alice' }, reason: 'no need', metadata: { cause: 'requested' } },
      ]);
    },
  );

  it.each(['approved', 'dispatched'] as const)(
    'of a request that is %s and whose lost attempt has reported a success since makes it executed (ST-24, RQ-73)',
    (status) => {
      const lost = requestIn('execution_lost', { operation: 'execute_dml' });
      const execution = { ...lost.execution!, outcome: 'committed', submission: 'late' } as const;
      const request = requestIn(status, { operation: 'execute_dml', fence: 2, execution, unresolved: lost.unresolved });
      for (const move of [cancel(alice), ownerGone()]) {
        const { change, refusal } = judge(request, move, now);
        expect([refusal, change?.settled]).toEqual([null, [1]]);
        expect(change).toMatchObject({
          state: { status: 'executed', resolvedAt: now, dispatchBy: now + 3_600_000, dispatchDeadline: null },
          execution: { id: execution.id, set: { status: 'completed', lost: false, unresolved: false }, end: { success: true } },
          events: [
            {
              type: 'execution.completed',
              actor: { id: 'agent-1', type: 'agent', tokenId: null },
              metadata: { fence: 1, outcome: 'committed' },
            },
          ],
        });
      }
      const open = { ...execution, outcome: null, submission: null };
      expect(ask({ ...request, execution: open, attempts: [open] }, cancel(alice))).toBe('cancelled');
    },
  );

  it('of a running request is a wish that is written once and is no event (RQ-72, AG-61)', () => {
    const first = judge(requestIn('running'), cancel(alice, 'stop'), now);
    expect(first.change).toMatchObject({
      state: { cancelRequestedAt: now, cancelledBy: 'alice', cancelReason: 'stop' },
      events: [],
    });
    const asked = requestIn('running', first.change?.state);
    expect(judge(asked, cancel(user('alice'), 'again'), now + 1)).toEqual({ change: null, refusal: null });
  });

  it('asked for before the run was lost keeps its instant when it is repeated (RQ-72)', () => {
    const lost = requestIn('execution_lost', { cancelRequestedAt: now - 9, cancelledBy: 'root' });
    expect(judge(lost, cancel(alice), now).change?.state).toMatchObject({ cancelRequestedAt: now - 9, cancelledBy: 'alice' });
  });
});
