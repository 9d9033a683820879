import { describe, expect, it } from 'vitest';
import type { Notifications } from '../../db/notifications.js';
import { refusal } from '../../domain/errors.js';
import { keepDoing } from '../../worker/job.js';

/** Notifications of one process, by hand. */
function createBell() {
  const waiting = new Set<() => void>();
  const notifications: Notifications = {
    subscribe: (_, wake) => {
      waiting.add(wake);
      return () => waiting.delete(wake);
    },
    hears: () => true,
    watchRequests: () => () => {},
    publish: () => {},
    close: async () => {},
  };
  const ring = () => {
    for (const wake of [...waiting]) wake();
  };
  return { notifications, ring, listeners: () => waiting.size };
}

const hour = 3_600_000;

describe('background work', () => {
  it('looks again at once when it is woken, also while it works', async () => {
    const { notifications, ring, listeners } = createBell();
    const stop = new AbortController();
    let rounds = 0;
    const once = async () => {
      rounds += 1;
      if (rounds === 1) ring();
      if (rounds === 2) setImmediate(ring);
      if (rounds === 3) stop.abort();
      return hour;
    };
    await keepDoing({ name: 'x', wakeOn: 'outbox', once }, { notifications, signal: stop.signal, onFailure: () => {} });
    expect(rounds).toBe(3);
    expect(listeners()).toBe(0);
  });

  it('goes on after a failure, reports it, and tells an unreachable database from a bug (OP-80)', async () => {
    const { notifications } = createBell();
    const stop = new AbortController();
    const told: [string, boolean][] = [];
    const errors = [new Error('bug'), refusal('service.unavailable', 'away')];
    const once = async () => {
      const error = errors.shift();
      if (error) throw error;
      stop.abort();
      return hour;
    };
    const onFailure = (name: string, _: unknown, unexpected: boolean) => told.push([name, unexpected]);
    await keepDoing({ name: 'x', once }, { notifications, signal: stop.signal, onFailure });
    expect(told).toEqual([
      ['x', true],
      ['x', false],
    ]);
  });

  it('ends its pause when it is stopped, and finishes what it began', async () => {
    const { notifications } = createBell();
    const stop = new AbortController();
    let finished = false;
    const finish = async () => {
      finished = true;
    };
    const job = { name: 'x', once: async () => hour, finish };
    const running = keepDoing(job, { notifications, signal: stop.signal, onFailure: () => {} });
    setImmediate(() => stop.abort());
    await running;
    expect(finished).toBe(true);
  });
});
