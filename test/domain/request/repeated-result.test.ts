import { describe, expect, it } from 'vitest';
import { judge } from '../../../domain/request/judge.js';
import type { Execution } from '../../../domain/request/types.js';
import { now, requestIn, storedExecution, unresolvedAttempt } from '../../support/stored-request.js';
import { outcomeOf, result } from './moves.js';
import { store, typesOf, type World } from './world.js';

describe('the same submission again (AG-43, AG-I6)', () => {
  it('changes nothing however often it comes', () => {
    const running = requestIn('running', { operation: 'execute_dml' });
    const world: World = { request: running, executions: [running.execution!], events: [] };
    const after = store(world, judge(running, result(running.execution!, 'committed'), now), now);
    expect(typesOf(after.events)).toEqual(['execution.completed']);
    const again = result(after.request.execution!, 'committed');
    expect(judge(after.request, again, now)).toEqual({ change: null, refusal: null });
    const other = judge(after.request, result(after.request.execution!, 'rolled_back'), now);
    expect([other.change, other.refusal?.code]).toEqual([null, 'execution.conflict']);
  });

  it('is answered alike after a newer dispatch, when it was accepted before it', () => {
    const request = requestIn('dispatched', { fence: 2 });
    const reported = storedExecution({ status: 'completed', outcome: 'committed', submission: 'committed null' });
    expect(outcomeOf(request, judge(request, result(reported, 'committed'), now))).toBe('nothing');
  });
});

describe('the result of an older fence (AG-44)', () => {
  const request = requestIn('running', {
    operation: 'execute_dml',
    fence: 2,
    execution: storedExecution({ id: 'newest', fence: 2, mutating: true }),
  });
  const older: Execution = storedExecution({
    id: 'older',
    mutating: true,
    status: 'failed',
    lost: true,
    unresolved: true,
    marker: 'required',
  });

  it.each([
    ['rolled_back', false],
    ['not_started', false],
    ['partial', undefined],
    ['unknown', undefined],
    ['committed', undefined],
    ['already_applied', undefined],
  ] as const)('is 410, keeps %s on its own execution and changes the fence\'s "unresolved" to %s', (outcome, unresolved) => {
    const { change, refusal } = judge(request, result(older, outcome), now);
    expect(refusal?.code).toBe('execution.gone');
    expect([change?.state, change?.signal, change?.settled, change?.decision]).toEqual([{}, null, [], null]);
    expect(change?.execution).toMatchObject({ id: 'older', end: null, set: { outcome } });
    expect(change?.execution?.set.unresolved).toBe(unresolved);
    expect(change?.execution?.set).not.toHaveProperty('lost');
    expect(change?.events).toMatchObject([{ type: 'execution.late_result', outcome: 'info', metadata: { fence: 1, outcome } }]);
  });

  describe('that was cancelled before anybody claimed it again (RQ-73, AG-63)', () => {
    const unresolved = [unresolvedAttempt(1, true)];
    const cancelled = requestIn('cancelled', { operation: 'execute_dml', fence: 2, execution: older, unresolved });

    it.each(['committed', 'already_applied'] as const)('is 410 with %s too, and makes the request executed', (outcome) => {
      const { change, refusal } = judge(cancelled, result(older, outcome, { kept: 'object' }), now);
      expect(refusal?.code).toBe('execution.gone');
      expect(change).toMatchObject({
        state: { status: 'executed', resolvedAt: now, claimedBy: null, dispatchBy: now + 3_600_000 },
        signal: { name: 'completion', actor: 'agent-1' },
        execution: { id: 'older', set: { status: 'completed', lost: false, unresolved: false, outcome }, end: { kept: 'empty' } },
        settled: [1],
        events: [{ type: 'execution.completed', resourceId: 'older', metadata: { fence: 1, outcome } }],
      });
    });

    it.each([
      ['that says it did nothing', cancelled, result(older, 'rolled_back')],
      ['whose marker is of no attempt', cancelled, result(older, 'already_applied', { appliedFence: 7 })],
      ['of an expired request', { ...cancelled, status: 'expired' as const }, result(older, 'committed')],
      [
        'that a newer attempt has settled',
        { ...cancelled, attempts: [{ ...older, unresolved: false }] },
        result(older, 'committed'),
      ],
    ])('one %s is only noted', (_, stored, move) => {
      const { change } = judge(stored, move, now);
      expect([change?.state, typesOf(change!.events)[0]]).toEqual([{}, 'execution.late_result']);
    });
  });

  it('is noted once; another one for an execution that has its result is 410 without a trace', () => {
    const { change, refusal } = judge(request, result({ ...older, submission: 'x' }, 'rolled_back'), now);
    expect([change, refusal?.code]).toEqual([null, 'execution.gone']);
  });
});

describe('which unresolved fences a result settles (AG-57, AG-59)', () => {
  const unresolved = [1, 2].map((fence) => unresolvedAttempt(fence, true));
  const run = (marker: Execution['marker']) =>
    requestIn('running', {
      operation: 'execute_dml',
      fence: 3,
      unresolved,
      execution: storedExecution({ fence: 3, mutating: true, marker }),
    });

  it.each([
    ['already_applied', 'required', [1, 2]],
    ['committed', 'required', [1, 2]],
    ['rolled_back', 'required', [1, 2]],
    ['partial', 'required', [1, 2]],
    ['not_started', 'required', []],
    ['unknown', 'required', []],
    ['rolled_back', 'none', []],
    ['partial', 'none', []],
  ] as const)('%s of a run with marker %s settles %j', (outcome, marker, settled) => {
    expect(judge(run(marker), result(run(marker).execution!, outcome), now).change?.settled).toEqual(settled);
  });
});
