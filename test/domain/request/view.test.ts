import { describe, expect, it } from 'vitest';
import { FINAL, STATUSES, type Status, type StoredRequest } from '../../../domain/request/types.js';
import { type ClockKind, clockOf, viewOf } from '../../../domain/request/view.js';
import { now, requestIn, steps, storedExecution, workflowSnapshot } from '../../support/stored-request.js';

const workflow = workflowSnapshot({
  steps: [
    {
      mode: 'all',
      approvers: [
        { selector: 'group:a', min: 1 },
        { selector: 'user:eve', min: 1 },
      ],
    },
  ],
});

/** The clock that runs in each status and whose turn it is. */
const table: Record<Status, { clock: ClockKind | null; turn: string; final: boolean }> = {
  pending: { clock: 'pending', turn: 'group:a, user:eve', final: false },
  approved: { clock: 'approved', turn: 'requester', final: false },
  dispatched: { clock: 'dispatch', turn: 'agents', final: false },
  running: { clock: 'lease', turn: 'agent-1', final: false },
  executed: { clock: null, turn: 'nobody', final: true },
  failed: { clock: null, turn: 'nobody', final: true },
  rejected: { clock: null, turn: 'nobody', final: true },
  cancelled: { clock: null, turn: 'nobody', final: true },
  expired: { clock: null, turn: 'nobody', final: true },
  execution_lost: { clock: null, turn: 'nobody', final: true },
};

const at = (over: Partial<StoredRequest>, status: Status) => clockOf(requestIn(status, over));

describe('the clock of a request (TT-1 to TT-4, AG-51)', () => {
  it.each(STATUSES)('in %s is the one of its status', (status) => {
    expect(clockOf(requestIn(status))?.kind ?? null).toBe(table[status].clock);
  });

  it('ends at the stored instant, for a lease with a grace within the 5 s of AG-51', () => {
    expect(at({ expiresAt: 11 }, 'pending')).toEqual({ kind: 'pending', at: 11 });
    expect(at({ dispatchBy: 12 }, 'approved')).toEqual({ kind: 'approved', at: 12 });
    expect(at({ dispatchDeadline: 13 }, 'dispatched')).toEqual({ kind: 'dispatch', at: 13 });
    const lease = at({ execution: storedExecution({ leaseExpiresAt: 14 }) }, 'running')!.at;
    expect(lease).toBeGreaterThanOrEqual(14);
    expect(lease).toBeLessThan(14 + 5000);
  });

  it('does not run while a dispatched migration waits for another one, and by no clock of an earlier status (AG-54, TT-7)', () => {
    expect(at({ dispatchDeadline: null, dispatchBy: 1, expiresAt: 1 }, 'dispatched')).toBeNull();
    expect(at({ execution: null, dispatchBy: 1, expiresAt: 1 }, 'running')).toBeNull();
  });
});

describe('the view that a workflow has of a request', () => {
  it.each(STATUSES)('of one in %s says whose turn it is and whether anything is left to happen', (status) => {
    expect(viewOf(requestIn(status, { policy: workflow }), now)).toMatchObject({
      status,
      turn: table[status].turn,
      final: table[status].final,
    });
    expect(FINAL.has(status)).toBe(table[status].final);
  });

  it('counts the clock from the given instant, below zero once it is over', () => {
    const { clock } = viewOf(requestIn('pending', { expiresAt: Date.UTC(2026, 0, 2) }), Date.UTC(2026, 0, 1));
    expect(clock).toEqual({ kind: 'pending', at: '2026-01-02T00:00:00.000Z', inMs: 86_400_000 });
    expect(viewOf(requestIn('pending', { expiresAt: now }), now + 5).clock?.inMs).toBe(-5);
  });

  it('holds no text of users: neither SQL nor reasons nor comments', () => {
    const secret = 'secret text';
    const request = requestIn('running', {
      policy: workflowSnapshot({ steps: steps('group:a') }),
      detail: secret,
      cancelReason: secret,
      lostReason: secret,
      failureReason: secret,
      decisions: [{ step: 0, userId: 'bob', action: 'approve', selector: 'group:a', comment: secret, at: now, tokenId: null }],
    });
    expect(JSON.stringify(viewOf(request, now))).not.toContain(secret);
    expect(Object.keys(viewOf(request, now))).toEqual(['version', 'status', 'turn', 'clock', 'final']);
  });
});
