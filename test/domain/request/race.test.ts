import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Move } from '../../../domain/request/moves.js';
import type { Status } from '../../../domain/request/types.js';
import { user } from '../../support/callers.js';
import { now as start, storedRequest } from '../../support/stored-request.js';
import { workflows } from './generated.js';
import { approve, cancel, outcomeOf, reject } from './moves.js';
import { make, typesOf, type World } from './world.js';

describe('one pending request that many decide about at once', () => {
  const approvers = ['bob', 'carl', 'dora', 'eve'].map((id) => user(id, { groups: ['reviewers'] }));
  const expiry: Move = { kind: 'clock', clock: 'pending' };
  const rivals: Move[] = [
    ...approvers.map((who) => approve(who)),
    reject(approvers[0]!),
    reject(user('alice')),
    cancel(user('alice')),
    expiry,
  ];
  /** What a loser of the race is told, by the status that won (RQ-50, RQ-60, RQ-70, section 6). */
  const told = (winner: Status, move: Move) => {
    if (move.kind === 'clock') return 'nothing';
    if (move.kind === 'cancel') return winner === 'approved' ? 'cancelled' : '409';
    return winner === 'expired' ? '410' : '409';
  };

  it('RQ-I3: has exactly one outcome, and every answer agrees with it', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(rivals, { minLength: 2 }), fc.boolean(), (order, late) => {
        const at = start + (late ? 86_400_000 : 0);
        let world: World = { request: storedRequest(), executions: [], events: [] };
        for (const move of order) {
          const { status } = world.request;
          const { world: after, verdict } = make(world, move, at);
          if (status !== 'pending') expect(outcomeOf(world.request, verdict)).toBe(told(status, move));
          if (late && move.kind !== 'cancel' && status === 'pending')
            expect(['410', 'expired']).toContain(outcomeOf(world.request, verdict));
          world = after;
        }
        const moved = typesOf(world.events).filter((type) => type !== 'step.approved');
        const cancelledAfterApproval = moved.join() === 'request.approved,request.cancelled';
        expect(
          moved.length === 1 ||
            cancelledAfterApproval ||
            (late && moved.length === 0) ||
            (!late && order.every((move) => move.kind === 'clock')),
        ).toBe(true);
      }),
    );
  });

  it('RQ-I4: is approved by exactly as many as each step needs', () => {
    fc.assert(
      fc.property(workflows, fc.shuffledSubarray([...approvers, ...approvers]), (workflow, order) => {
        const steps = [{ mode: 'all' as const, approvers: [{ selector: 'group:reviewers', min: 3 }] }];
        let world: World = { request: storedRequest({ policy: { ...workflow, steps } }), executions: [], events: [] };
        for (const who of order) world = make(world, approve(who), start).world;
        const distinct = new Set(order.map(({ id }) => id)).size;
        expect(world.request.decisions.length).toBe(Math.min(distinct, 3));
        expect(world.request.status).toBe(distinct >= 3 ? 'approved' : 'pending');
      }),
    );
  });
});
