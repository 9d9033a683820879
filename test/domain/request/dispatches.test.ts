import { describe, expect, it } from 'vitest';
import { OPERATIONS, type Operation } from '../../../domain/policies.js';
import { judge } from '../../../domain/request/judge.js';
import { type Execution, isMutating, type Outcome, type StoredRequest } from '../../../domain/request/types.js';
import { user } from '../../support/callers.js';
import { now, requestIn, storedRequest, unresolvedAttempt } from '../../support/stored-request.js';
import { approve, ask, claim, facts, resume, tampered } from './moves.js';

const alice = user('alice');

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
      cancelCause: null,
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
    const partial = { ...failed, attempts: [{ ...failed.execution!, outcome: 'partial' as const, fence: 3 }] };
    expect([
      ask(failed, resume(alice)),
      ask(failed, resume(alice, never)),
      ask(requestIn('executed'), resume(alice, never)),
    ]).toEqual(['dispatched', '409', 'dispatched']);
    expect(judge(partial, resume(alice, never), now).refusal?.hint).toBe(
      'the outcome of attempt 3 cannot be proven; check the database and create a new request',
    );
    const of = (dialect: 'postgresql' | 'mysql' | null, transactional?: boolean): StoredRequest => {
      const detail = JSON.stringify({ migrations: [{ version: '1', sql: 'select 1', transactional }] });
      return { ...partial, operation: 'migrate_up', dialect, detail };
    };
    // Only whole migrations stay of the first two. The last may be of MySQL.
    expect(
      [of('postgresql'), of('postgresql', true), of('postgresql', false), of('mysql'), of(null)].map((one) =>
        ask(one, resume(alice)),
      ),
    ).toEqual(['dispatched', 'dispatched', '409', '409', '409']);
  });

  it('nor a claim begins again what an earlier attempt has reported as partial since the dispatch (C14, AG-44)', () => {
    const lost = { ...requestIn('execution_lost').execution!, outcome: 'partial' as const, marker: 'required' as const };
    const over = { operation: 'execute_dml' as const, fence: 2, unresolved: [unresolvedAttempt(1, true)] };
    const late = (status: 'approved' | 'dispatched', outcome: Outcome) =>
      requestIn(status, { ...over, attempts: [{ ...lost, mutating: true, unresolved: true, outcome }] });
    expect([ask(late('approved', 'partial'), resume(alice)), ask(late('dispatched', 'partial'), claim())]).toEqual([
      '409',
      '409',
    ]);
    expect([ask(late('approved', 'unknown'), resume(alice)), ask(late('dispatched', 'unknown'), claim())]).toEqual([
      'dispatched',
      'running',
    ]);
  });

  it.each([
    // What is applied is skipped.
    ['migrate_up', null, 'dispatched'],
    ['migrate_up', 3, '409'],
    ['migrate_down', 3, '409'],
  ] as const)('of a %s with max_count %s of which migrations have run is %s (MI-I6, RQ-84)', (operation, max_count, expected) => {
    const over = { operation, detail: JSON.stringify({ migrations: [], max_count }) };
    const ended = (outcome: Outcome, more: Partial<Execution> = {}) => {
      const request = requestIn(outcome === 'committed' ? 'executed' : 'failed', over);
      return { ...request, attempts: [{ ...request.execution!, outcome, ...more }] };
    };
    for (const outcome of ['committed', 'already_applied', 'partial'] as const)
      expect(ask(ended(outcome), resume(alice))).toBe(expected);
    // Nothing was done, or the next attempt finds by its markers what was done.
    for (const attempt of [ended('rolled_back'), ended('not_started'), ended('partial', { unresolved: true })])
      expect(ask(attempt, resume(alice))).toBe('dispatched');
  });

  it('needs proof for every earlier attempt (RQ-85, AG-58)', () => {
    const lost = requestIn('execution_lost', { operation: 'execute_dml' });
    const unresolved = [unresolvedAttempt(1, true), unresolvedAttempt(2, false)];
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
    const by = (fences: boolean, marker: boolean) =>
      claim({ agent: { id: 'agent-1', inScope: true, fences, marker, bounds: true, markerForm: 2 } });
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
    const unresolved = { ...dml, unresolved: [unresolvedAttempt(1, true)] };
    expect(all.map((move) => ask(unresolved, move))).toEqual(['running', '409', '409', '409']);
  });
});

describe('an operation', () => {
  const mutating = {
    execute_select: false,
    execute_dml: true,
    migrate_up: true,
    migrate_down: true,
    migrate_repair: true,
    migrate_status: false,
  } satisfies Record<Operation, boolean>;

  it.each(OPERATIONS)('%s is mutating when it can change the target (AG-57, MI-14)', (operation) => {
    const { change } = judge(requestIn('dispatched', { operation }), claim(), now);
    expect(isMutating(operation)).toBe(mutating[operation]);
    expect(change?.state.execution?.mutating).toBe(mutating[operation]);
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
