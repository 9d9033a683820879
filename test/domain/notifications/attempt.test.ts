import { describe, expect, it } from 'vitest';
import { type Delivery, judgeAttempt } from '../../../domain/notifications/attempt.js';

const now = Date.UTC(2031, 1, 3);
const delivery: Delivery = {
  id: '6f1e2d3c-4b5a-4978-8675-645342312011',
  webhookId: 'ops',
  eventType: 'user.created',
  body: '{}',
  status: 'pending',
  attempts: 3,
  nextRetryAt: now,
  attemptStartedAt: null,
};

describe('an attempt', () => {
  it('begins when it is due, and not before (NT-I4)', () => {
    expect(judgeAttempt(delivery, now, true)).toEqual({ kind: 'begin', attempt: 4 });
    expect(judgeAttempt(delivery, now - 1, true)).toEqual({ kind: 'wait', ms: 1, reason: 'not due yet' });
  });

  it('whose process died is made again, and counts, once no process can still run it (NT-52)', () => {
    const left: Delivery = { ...delivery, status: 'in_progress', nextRetryAt: null, attemptStartedAt: now };
    expect(judgeAttempt(left, now + 10_000, true)).toMatchObject({ kind: 'wait' });
    expect(judgeAttempt(left, now + 60_000, true)).toEqual({ kind: 'begin', attempt: 4 });
  });

  it('is not made by a worker whose file lacks the webhook (CF-31)', () => {
    expect(judgeAttempt(delivery, now, false)).toMatchObject({ kind: 'wait', reason: 'this worker does not know the webhook' });
  });

  it('is none after the tenth, nor after the end (NT-50)', () => {
    expect(judgeAttempt({ ...delivery, attempts: 10 }, now, true)).toEqual({ kind: 'dead' });
    expect(judgeAttempt({ ...delivery, status: 'delivered' }, now, true)).toEqual({ kind: 'ended', status: 'delivered' });
  });
});
