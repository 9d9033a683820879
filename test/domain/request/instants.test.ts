import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judge } from '../../../domain/request/judge.js';
import type { Move } from '../../../domain/request/moves.js';
import type { StoredRequest } from '../../../domain/request/types.js';
import { user } from '../../support/callers.js';
import { now, requestIn } from '../../support/stored-request.js';
import { approve, ask, cancel, claim, eventsOf, reject, resume } from './moves.js';

const alice = user('alice');
const bob = user('bob', { groups: ['reviewers'] });
const asked = { cancelRequestedAt: now - 1, cancelledBy: 'alice', cancelReason: 'enough' };
const mutating = { operation: 'execute_dml' } as const;
const clock = (kind: 'pending' | 'approved' | 'dispatch' | 'lease'): Move => ({ kind: 'clock', clock: kind });
const lease: Move = { kind: 'lease', executionId: requestIn('running').execution!.id };
const leaseEnd = now + 60_000;

/** Name, request, move, the instant that decides, what happens one millisecond before it, and at it and later. */
const table: [string, StoredRequest, Move, number, string, string][] = [
  ['approve by expires_at', requestIn('pending', { expiresAt: now }), approve(bob), now, 'approved', '410'],
  ['reject by expires_at', requestIn('pending', { expiresAt: now }), reject(bob), now, 'rejected', '410'],
  ['the own rejection by expires_at', requestIn('pending', { expiresAt: now }), reject(alice), now, 'rejected', '410'],
  ['a pending resume by expires_at', requestIn('pending', { expiresAt: now }), resume(alice), now, '409', '410'],
  ['cancel by expires_at', requestIn('pending', { expiresAt: now }), cancel(alice), now, 'cancelled', 'cancelled'],
  ['the pending timer', requestIn('pending', { expiresAt: now }), clock('pending'), now, 'nothing', 'expired'],
  ['resume by dispatch_by', requestIn('approved', { dispatchBy: now }), resume(alice), now, 'dispatched', '410'],
  ['resume after a run by dispatch_by', requestIn('executed', { dispatchBy: now }), resume(alice), now, 'dispatched', '410'],
  ['the approved timer', requestIn('approved', { dispatchBy: now }), clock('approved'), now, 'nothing', 'expired'],
  ['a claim by the dispatch clock', requestIn('dispatched', { dispatchDeadline: now }), claim(), now, 'running', '409'],
  ['a claim after dispatch_by', requestIn('dispatched', { dispatchBy: now }), claim(), now, 'running', 'running'],
  [
    'the dispatch timer before dispatch_by',
    requestIn('dispatched', { dispatchDeadline: now, dispatchBy: now + 9 }),
    clock('dispatch'),
    now,
    'nothing',
    'approved',
  ],
  [
    'the dispatch timer at dispatch_by',
    requestIn('dispatched', { dispatchDeadline: now - 9, dispatchBy: now }),
    clock('dispatch'),
    now,
    'approved',
    'expired',
  ],
  [
    'the dispatch timer of a migration in line',
    requestIn('dispatched', { dispatchDeadline: null }),
    clock('dispatch'),
    now,
    'nothing',
    'nothing',
  ],
  ['the lease', requestIn('running'), clock('lease'), leaseEnd, 'nothing', 'execution_lost'],
  ['the sweeper', requestIn('running'), lease, leaseEnd, 'nothing', 'execution_lost'],
  ['the lease of a cancelled read', requestIn('running', asked), lease, leaseEnd, 'nothing', 'cancelled'],
  [
    'the lease of a cancelled write',
    requestIn('running', { ...asked, ...mutating }),
    lease,
    leaseEnd,
    'nothing',
    'execution_lost',
  ],
];

describe('an instant that is reached counts as passed (TT-6)', () => {
  it.each(table)('%s', (_, request, move, instant, before, from) => {
    expect([-1, 0, 1].map((ms) => ask(request, move, instant + ms))).toEqual([before, from, from]);
  });

  it('never lets an overdue request be approved, rejected or dispatched, however late its timer is (RQ-I12)', () => {
    const late = fc.integer({ min: 0, max: 10 ** 11 });
    fc.assert(
      fc.property(late, (ms) => {
        expect(ask(requestIn('pending', { expiresAt: now }), approve(bob), now + ms)).toBe('410');
        expect(ask(requestIn('pending', { expiresAt: now }), reject(alice), now + ms)).toBe('410');
        expect(ask(requestIn('approved', { dispatchBy: now }), resume(alice), now + ms)).toBe('410');
        expect(ask(requestIn('dispatched', { dispatchDeadline: now }), claim(), now + ms)).toBe('409');
      }),
    );
  });
});

describe('what the end of a clock writes', () => {
  it('expires a pending or approved request with the phase (ST-7, ST-8)', () => {
    for (const phase of ['pending', 'approved'] as const) {
      const { change } = judge(requestIn(phase, { expiresAt: now, dispatchBy: now }), clock(phase), now);
      expect(change?.events).toMatchObject([
        { type: 'request.expired', outcome: 'info', actor: { id: 'system' }, metadata: { phase } },
      ]);
      expect(change?.state).toEqual({ status: 'expired', resolvedAt: now });
    }
  });

  it('gives a dispatch back without touching dispatch_by, and says so when that is over too (ST-11, TT-7)', () => {
    const back = judge(requestIn('dispatched', { dispatchDeadline: now }), clock('dispatch'), now);
    expect(eventsOf(back)).toEqual(['request.dispatch_timeout']);
    expect(back.change?.state).toEqual({ status: 'approved', resolvedAt: now, dispatchDeadline: null });
    const over = judge(requestIn('dispatched', { dispatchDeadline: now, dispatchBy: now }), clock('dispatch'), now);
    expect(over.change?.events).toMatchObject([
      { type: 'request.dispatch_timeout', outcome: 'failure' },
      { type: 'request.expired', metadata: { phase: 'approved' } },
    ]);
  });

  it('loses a run with its reason, its window and, for a write, an unresolved fence (ST-14, AG-51, AG-57, TT-3)', () => {
    for (const operation of ['execute_select', 'execute_dml'] as const) {
      const { change } = judge(requestIn('running', { operation }), lease, leaseEnd);
      // The stored lease began a minute before its end, with the last heartbeat.
      const reason = `lost: no heartbeat since ${new Date(now).toISOString()}`;
      expect(change?.state).toEqual({
        status: 'execution_lost',
        resolvedAt: leaseEnd,
        claimedBy: null,
        lostReason: reason,
        dispatchBy: leaseEnd + 3_600_000,
      });
      expect(change?.execution).toMatchObject({
        set: { status: 'failed', lost: true, unresolved: operation === 'execute_dml' },
        end: { success: false, errorMessage: reason },
      });
      expect(change?.events).toMatchObject([
        { type: 'execution.lost', outcome: 'failure', actor: { id: 'system' }, metadata: { fence: 1, cause: 'lease_end' } },
      ]);
    }
  });

  it('cancels a read whose cancel was asked for, in the name of who asked (AG-52)', () => {
    const { change } = judge(requestIn('running', asked), lease, leaseEnd);
    expect(change?.state).toMatchObject({
      status: 'cancelled',
      cancelledBy: 'alice',
      cancelReason: 'enough',
      cancelledWhileLost: false,
      claimedBy: null,
    });
    expect(change?.events).toMatchObject([
      { type: 'execution.lost' },
      { type: 'request.cancelled', actor: { id: 'alice', type: 'user', peerIp: null }, reason: 'enough' },
    ]);
  });

  it('ends no lease twice', () => {
    const running = requestIn('running');
    expect(ask({ ...running, execution: { ...running.execution!, status: 'failed' } }, lease, leaseEnd)).toBe('nothing');
  });
});
