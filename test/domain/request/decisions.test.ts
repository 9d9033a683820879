import { describe, expect, it } from 'vitest';
import { judge } from '../../../domain/request/judge.js';
import { actorOf, approval, now, requestIn, steps, storedRequest, user, workflowSnapshot } from '../../support/stored-request.js';
import { approve, ask, cancel, claim, facts, reject, resume, tampered } from './moves.js';

const workflow = workflowSnapshot({ steps: steps('group:first', 'group:second') });
const pending = storedRequest({ workflow });
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
    });
    const metadata = { step_number: 1, total_steps: 2, matched_selector: 'group:first', approval_comment: 'ok' };
    expect(change?.events).toMatchObject([
      { type: 'step.approved', outcome: 'success', actor: actorOf(bob), reason: null, metadata },
    ]);
    expect(JSON.stringify(change?.events[0]?.metadata)).toBe(JSON.stringify(metadata));
    expect(change?.signal).toEqual({ name: 'approval', actor: 'bob', step: 0 });
  });

  it('that is the last one approves and starts the clock of TT-2, and never dispatches (ST-5)', () => {
    const last = storedRequest({ workflow, currentStep: 1, decisions: [approval(0, 'dora', 'group:first')] });
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
    const request = storedRequest({ workflow: both, decisions: [approval(0, 'dora', 'group:first')] });
    expect(judge(request, approve(bob), now).change?.decision?.selector).toBe('group:second');
    expect(
      judge(storedRequest({ workflow: both }), approve(bob, { selector: 'group:second' }), now).change?.decision?.selector,
    ).toBe('group:second');
    expect(judge(storedRequest({ workflow: both }), approve(bob), now).refusal?.hint).toBe(
      'say which: group:first, group:second',
    );
    expect(ask(request, approve(user('sue', { groups: ['first'] })))).toBe('409');
    expect(ask(request, approve(bob, { selector: 'group:first' }))).toBe('409');
  });

  it('is refused to the owner and to who has approved an earlier step, unless the workflow allows it (AV-12, AV-13)', () => {
    const own = user('alice', { groups: ['first'] });
    const second = { currentStep: 1, decisions: [approval(0, 'bob', 'group:first')] };
    expect(ask(pending, approve(own))).toBe('403');
    expect(ask({ ...pending, workflow: { ...workflow, allowSelfApprove: true } }, approve(own))).toBe('pending');
    expect(ask({ ...pending, workflow: { ...workflow, allowSelfApprove: true } }, approve(alice))).toBe('403');
    expect(ask({ ...pending, ...second }, approve(bob))).toBe('409');
    expect(ask({ ...pending, ...second, workflow: { ...workflow, allowSameApproverAcrossSteps: true } }, approve(bob))).toBe(
      'approved',
    );
    const gone = user('bob', { groups: ['first'] });
    expect(ask({ ...pending, ...second, workflow: { ...workflow, allowSameApproverAcrossSteps: true } }, approve(gone))).toBe(
      '409',
    );
  });

  it('stays valid when its giver has lost the group (AV-14)', () => {
    const request = storedRequest({ workflow, currentStep: 1, decisions: [approval(0, 'left', 'group:first')] });
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
    const { change } = judge(storedRequest({ workflow: { ...workflow, steps: [any] } }), reject(bob, 'no'), now);
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

describe('a resume', () => {
  it('is a new dispatch: the next fence, a fresh clock, nothing left of an earlier cancel or loss (RQ-87, ST-9)', () => {
    const lost = requestIn('execution_lost', { fence: 4, cancelRequestedAt: now - 9, cancelledBy: 'root', cancelReason: 'x' });
    const { change } = judge(lost, resume(alice, { reason: 'once more' }), now);
    expect(change?.state).toEqual({
      status: 'dispatched',
      fence: 5,
      dispatchedAt: now,
      dispatchDeadline: now + 300_000,
      claimedBy: null,
      cancelRequestedAt: null,
      cancelledBy: null,
      cancelReason: null,
      lostReason: null,
    });
    expect(change?.events).toMatchObject([{ type: 'request.dispatched', reason: 'once more', metadata: { fence: 5 } }]);
  });

  it('counts finished executions against the policy of now (RQ-83)', () => {
    const many = (finishedExecutions: number) => requestIn('executed', { finishedExecutions });
    expect([1, 2, 3, 4].map((done) => ask(many(done), resume(alice)))).toEqual(['dispatched', 'dispatched', '409', '409']);
  });

  it('repeats a failed request by policy, and never a change of which a part is applied (RQ-84)', () => {
    const never = { policy: { maxExecutions: 9, retryOnFailure: false } };
    const failed = requestIn('failed', { operation: 'execute_dml' });
    const partial = { ...failed, execution: { ...failed.execution!, outcome: 'partial' as const, fence: 3 } };
    expect([
      ask(failed, resume(alice)),
      ask(failed, resume(alice, never)),
      ask(requestIn('executed'), resume(alice, never)),
    ]).toEqual(['dispatched', '409', 'dispatched']);
    expect(judge(partial, resume(alice, never), now).refusal?.hint).toBe(
      'the outcome of attempt 3 cannot be proven; check the database and create a new request',
    );
    expect(ask({ ...partial, operation: 'migrate_up' }, resume(alice))).toBe('dispatched');
  });

  it('needs proof for every earlier attempt (RQ-85, AG-58)', () => {
    const lost = requestIn('execution_lost', { operation: 'execute_dml' });
    const unresolved = [
      { fence: 1, provable: true },
      { fence: 2, provable: false },
    ];
    expect(ask(lost, resume(alice))).toBe('dispatched');
    expect(judge({ ...lost, unresolved }, resume(alice), now).refusal?.hint).toContain('attempt 2 cannot be proven');
    expect(ask(requestIn('execution_lost'), resume(alice))).toBe('dispatched');
  });
});

describe('a claim', () => {
  it('starts an execution of the current fence with its lease and window (ST-10, AG-35, AG-37)', () => {
    const { change } = judge(requestIn('dispatched', { fence: 6 }), claim(), now);
    expect(change?.state).toMatchObject({ status: 'running', claimedBy: 'agent-1', dispatchDeadline: null });
    expect(change?.state.execution).toMatchObject({
      fence: 6,
      agentId: 'agent-1',
      status: 'running',
      leaseExpiresAt: now + 60_000,
      windowSecs: 3600,
      submission: null,
    });
    expect(change?.events).toMatchObject([
      { type: 'execution.started', resourceType: 'execution', metadata: { fence: 6, agent_id: 'agent-1' } },
    ]);
  });

  it('requires a marker for a change by an agent that can write one, and needs such an agent after a lost one (AG-33, AG-57)', () => {
    const dml = requestIn('dispatched', { operation: 'execute_dml' });
    const by = (fences: boolean, marker: boolean) => claim({ agent: { id: 'agent-1', inScope: true, fences, marker } });
    const all = [by(true, true), by(true, false), by(false, true), by(false, false)];
    expect(all.map((move) => judge(dml, move, now).change?.state.execution?.marker)).toEqual([
      'required',
      'none',
      'none',
      'none',
    ]);
    expect(judge(requestIn('dispatched'), all[0]!, now).change?.state.execution).toMatchObject({
      marker: 'none',
      mutating: false,
    });
    const unresolved = { ...dml, unresolved: [{ fence: 1, provable: true }] };
    expect(all.map((move) => ask(unresolved, move))).toEqual(['running', '409', '409', '409']);
  });
});

describe('a digest that no longer fits (ET-13, ST-23)', () => {
  const approver = user('bob', { groups: ['reviewers'] });
  const broken = { facts: { ...facts, ...tampered } };

  it.each([
    ['approve', requestIn('pending'), approve(approver, tampered)],
    ['resume', requestIn('approved'), resume(alice, broken)],
    ['claim', requestIn('dispatched'), claim(broken)],
  ] as const)('noticed by %s ends the request as failed, without an execution, and is 409', (noticedBy, request, move) => {
    const { change, refusal } = judge(request, move, now);
    expect(refusal?.code).toBe('request.conflict');
    expect(change?.state).toEqual({
      status: 'failed',
      failureReason: 'approved content changed',
      resolvedAt: now,
      dispatchBy: null,
      dispatchDeadline: null,
    });
    const metadata = { noticed_by: noticedBy, expected_digest: 'a'.repeat(64), found_digest: 'b'.repeat(64) };
    expect(change?.events).toMatchObject([
      { type: 'request.integrity_failed', outcome: 'failure', actor: { type: 'system' }, metadata },
    ]);
    expect([change?.decision, change?.execution]).toEqual([null, null]);
  });

  it('keeps the request from ever running, also when its content fits again (ST-23, RQ-I2)', () => {
    const ended = judge(requestIn('pending'), approve(approver, tampered), now).change!.state;
    const { change, refusal } = judge(storedRequest(ended), resume(alice), now);
    expect([change, refusal?.code, refusal?.message]).toEqual([null, 'request.conflict', 'approved content changed']);
  });

  it.each(['executed', 'failed', 'execution_lost'] as const)(
    'leaves a request that is %s as it is, with the event and no news',
    (status) => {
      const { change, refusal } = judge(requestIn(status), resume(alice, broken), now);
      expect([change?.state, change?.signal, refusal?.code]).toEqual([{}, null, 'request.conflict']);
      expect(change?.events).toMatchObject([{ type: 'request.integrity_failed' }]);
    },
  );
});
