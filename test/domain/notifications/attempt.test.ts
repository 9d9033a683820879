import { describe, expect, it } from 'vitest';
import { type Delivery, judgeAttempt, judgeNoRoom } from '../../../domain/notifications/attempt.js';

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

const here = { isConfigured: true, isKnown: true };

describe('an attempt', () => {
  it('begins when it is due, and not before (NT-I4)', () => {
    expect(judgeAttempt(delivery, now, here)).toEqual({ kind: 'begin', attempt: 4 });
    expect(judgeAttempt(delivery, now - 1, here)).toEqual({ kind: 'wait', ms: 1, reason: 'not due yet' });
  });

  it('whose process died is made again, and counts, once no process can still run it (NT-52)', () => {
    const left: Delivery = { ...delivery, status: 'in_progress', nextRetryAt: null, attemptStartedAt: now };
    expect(judgeAttempt(left, now + 10_000, here)).toMatchObject({ kind: 'wait' });
    expect(judgeAttempt(left, now + 60_000, here)).toEqual({ kind: 'begin', attempt: 4 });
  });

  it('is not made by a worker whose file lacks the webhook (CF-31)', () => {
    const notHere = { ...here, isKnown: false };
    expect(judgeAttempt(delivery, now, notHere)).toEqual({ kind: 'elsewhere', ms: 5000 });
    // Another worker may still run the attempt.
    const runs: Delivery = { ...delivery, status: 'in_progress', nextRetryAt: null, attemptStartedAt: now };
    expect(judgeAttempt(runs, now + 14_999, notHere)).toMatchObject({ kind: 'wait', ms: 1 });
    expect(judgeAttempt(runs, now + 15_000, notHere)).toMatchObject({ kind: 'elsewhere' });
  });

  it('is never made for a webhook that is no longer configured, not even by a worker whose file still has it', () => {
    for (const isKnown of [true, false])
      expect(judgeAttempt(delivery, now, { isConfigured: false, isKnown })).toEqual({ kind: 'cancelled' });
    const ended: Delivery = { ...delivery, status: 'delivered' };
    expect(judgeAttempt(ended, now, { isConfigured: false, isKnown: true })).toEqual({ kind: 'ended', status: 'delivered' });
  });

  it('that finds no room waits from its first look on, and no longer than ten attempts take (NT-54)', () => {
    const hour = 3_600_000;
    const first: Delivery = { ...delivery, attempts: 0 };
    expect(judgeNoRoom(first, now, 250)).toEqual({ kind: 'busy', ms: 250, since: now });
    const waits = (hours: number): Delivery => ({ ...first, attemptStartedAt: now - hours * hour });
    expect(judgeNoRoom(waits(4.9), now, 250)).toEqual({ kind: 'busy', ms: 250, since: now - 4.9 * hour });
    expect(judgeNoRoom(waits(5.1), now, 250)).toEqual({ kind: 'dead', error: 'webhook busy' });
    expect(judgeNoRoom({ ...waits(50), nextRetryAt: now - 2 * hour }, now, 250)).toEqual({ kind: 'busy', ms: 250, since: now });
    // The process that made its attempt died, and no other one was there.
    expect(judgeNoRoom({ ...waits(6), nextRetryAt: null }, now, 250)).toEqual({ kind: 'busy', ms: 250, since: now });
  });

  it('is none after the tenth, nor after the end (NT-50)', () => {
    expect(judgeAttempt({ ...delivery, attempts: 10 }, now, here)).toEqual({ kind: 'dead', error: null });
    expect(judgeAttempt({ ...delivery, status: 'delivered' }, now, here)).toEqual({ kind: 'ended', status: 'delivered' });
  });
});
