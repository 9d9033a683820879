import { describe, expect, it } from 'vitest';
import { judge } from '../../../domain/request/judge.js';
import { STATUSES, type Status } from '../../../domain/request/types.js';
import { user } from '../../support/callers.js';
import { now, requestIn, storedExecution } from '../../support/stored-request.js';
import { ask, cancel, eventsOf, ownerGone, result } from './moves.js';
import { make, type World } from './world.js';

/** What becomes of a request in each status. */
const ends: Record<Status, string> = {
  pending: 'cancelled',
  approved: 'cancelled',
  dispatched: 'cancelled',
  running: 'running',
  execution_lost: 'cancelled',
  executed: 'nothing',
  failed: 'nothing',
  rejected: 'nothing',
  cancelled: 'nothing',
  expired: 'nothing',
};

const causes = [
  ['user_suspended', 'user suspended'],
  ['user_deleted', 'user deleted'],
] as const;

const running = (over: Parameters<typeof requestIn>[1] = {}): World => {
  const request = requestIn('running', { operation: 'execute_dml', ...over });
  return { request, executions: [request.execution!], events: [] };
};

describe('the requests of a user who is suspended or deleted (ST-19)', () => {
  it.each(STATUSES)('%s: cancelled unless it has ended, never refused', (status) => {
    for (const [cause] of causes) expect(ask(requestIn(status), ownerGone(cause))).toBe(ends[status]);
  });

  it.each(causes)('%s: says so in reason and event, by whoever did it', (cause, reason) => {
    const { change } = judge(requestIn('pending'), ownerGone(cause), now);
    expect(change?.state).toMatchObject({ cancelledBy: 'root', cancelReason: reason, cancelCause: cause, resolvedAt: now });
    expect(change?.events).toMatchObject([{ type: 'request.cancelled', reason, actor: { id: 'root' }, metadata: { cause } }]);
    expect(change?.signal).toEqual({ name: 'cancellation', actor: 'root', step: null });
  });

  it('asks a running one to stop, once, and its end tells why (C5, AG-45)', () => {
    const asked = make(running(), ownerGone(), now);
    expect(eventsOf(asked.verdict)).toEqual([]);
    expect(asked.world.request).toMatchObject({ status: 'running', cancelRequestedAt: now, cancelCause: 'user_suspended' });
    expect(judge(asked.world.request, ownerGone('user_deleted'), now)).toEqual({ change: null, refusal: null });
    const ended = make(asked.world, result(storedExecution(), 'rolled_back', { cancelled: true }), now + 1);
    expect(ended.verdict.change?.events.at(-1)).toMatchObject({
      type: 'request.cancelled',
      reason: 'user suspended',
      actor: { id: 'root', type: 'user' },
      metadata: { cause: 'user_suspended' },
    });
  });

  it('reports work that committed before the wish arrived as executed (RQ-73)', () => {
    const asked = make(running(), ownerGone(), now);
    expect(ask(asked.world.request, result(storedExecution(), 'committed'))).toBe('executed');
  });

  it('tells the same when the lease of a cancelled read ends (AG-52)', () => {
    const lease = storedExecution({ leaseExpiresAt: now });
    const asked = make(running({ operation: 'execute_select', execution: lease }), ownerGone('user_deleted'), now);
    const { change } = judge(asked.world.request, { kind: 'lease', executionId: lease.id }, now);
    expect(change?.state).toMatchObject({ status: 'cancelled', cancelCause: 'user_deleted', cancelReason: 'user deleted' });
    expect(change?.events.at(-1)).toMatchObject({ type: 'request.cancelled', metadata: { cause: 'user_deleted' } });
  });

  it('leaves the wish of the owner as it was', () => {
    const asked = make(running(), cancel(user('alice'), 'changed my mind'), now);
    expect(judge(asked.world.request, ownerGone(), now).change).toBeNull();
    expect(asked.world.request).toMatchObject({ cancelReason: 'changed my mind', cancelCause: 'requested' });
  });
});
