import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readAhead } from '../../api/http/ahead.js';
import { longPoll } from '../../api/http/long-poll.js';
import { answerWithin, outsideDatabaseWork } from '../../db/call-limit.js';
import { topic } from '../../db/notifications.js';
import type { Caller } from '../../domain/caller.js';
import { createLifecycle } from '../../runtime/lifecycle.js';

const caller: Caller = { kind: 'agent', id: 'a1', tokenId: 't1', agentScopes: null };

/** A notification hub and a call that a test drives by hand. */
function bench(isRevoked = () => false) {
  const rechecks: Caller[] = [];
  const heard = new Map<string, Set<() => void>>();
  const { lifecycle, drain } = createLifecycle();
  const client = new AbortController();
  const waits: Promise<unknown>[] = [];
  let onWait = () => {};
  return {
    services: {
      lifecycle,
      notifications: {
        subscribe: (name: string, wake: () => void) => {
          heard.set(name, (heard.get(name) ?? new Set()).add(wake));
          return () => heard.get(name)?.delete(wake);
        },
        hears: () => true,
        watchRequests: () => () => {},
        publish: () => {},
        close: async () => {},
      },
    },
    call: {
      caller,
      recheck: async () => {
        rechecks.push(caller);
        if (isRevoked()) throw new Error('revoked');
        return caller;
      },
      signal: client.signal,
      whileWaiting: <T>(wait: () => Promise<T>) => {
        const waiting = wait();
        waits.push(waiting);
        onWait();
        return waiting;
      },
    },
    wake: (name: string) => {
      for (const ring of heard.get(name) ?? []) ring();
    },
    listeners: () => [...heard.values()].reduce((sum, rings) => sum + rings.size, 0),
    /** Runs `act` as soon as the next wait has begun. */
    whenWaiting: (act: () => void) => {
      onWait = () => {
        onWait = () => {};
        act();
      };
    },
    rechecks,
    waited: () => waits.length,
    leave: () => client.abort(),
    drain,
  };
}

const long = 60_000;

describe('a long poll (section 8 of the HTTP rules)', () => {
  it('answers at once what is there', async () => {
    const { call, services, waited, listeners } = bench();
    expect(await longPoll(call, services, { topics: ['a'], ms: long }, async () => 'found')).toBe('found');
    expect([waited(), listeners()]).toEqual([0, 0]);
  });

  it('ends with the credential of its caller, and goes on when that still holds (IM-72)', async () => {
    const token = topic.credentials('a1');
    const { call, services, rechecks, wake, whenWaiting, listeners } = bench(() => rechecks.length > 1);
    let looks = 0;
    whenWaiting(() => wake(token));
    const poll = longPoll(call, services, { topics: ['a'], ms: long }, async () => {
      looks += 1;
      if (looks === 2) wake(token);
      return null;
    });
    await expect(poll).rejects.toThrow('revoked');
    expect([looks, rechecks.length, listeners()]).toEqual([2, 2, 0]);
  });

  it('looks again at each wake-up and lets go of its topics', async () => {
    const { call, services, wake, whenWaiting, listeners } = bench();
    const looks: number[] = [];
    const look = async () => {
      looks.push(looks.length);
      whenWaiting(() => wake('b'));
      return looks.length === 3 ? 'found' : null;
    };
    expect(await longPoll(call, services, { topics: ['a', 'b'], ms: long }, look)).toBe('found');
    expect([looks.length, listeners()]).toEqual([3, 0]);
  });

  it('misses no wake-up that comes while it looks', async () => {
    const { call, services, wake } = bench();
    let looks = 0;
    const look = async () => {
      looks += 1;
      if (looks === 1) wake('a');
      return looks === 2 ? 'found' : null;
    };
    expect(await longPoll(call, services, { topics: ['a'], ms: long }, look)).toBe('found');
  });

  it('gives up when the time is over, without a look that nothing asked for', async () => {
    const { call, services } = bench();
    let looks = 0;
    const look = async () => {
      looks += 1;
      return null;
    };
    expect(await longPoll(call, services, { topics: [], ms: 5 }, look)).toBeNull();
    expect(looks).toBe(1);
  });

  it('ends at once when the process drains or the client goes, without another look (HT-104, HT-105)', async () => {
    for (const end of ['drain', 'leave'] as const) {
      const { call, services, whenWaiting, listeners, ...acts } = bench();
      let looks = 0;
      whenWaiting(acts[end]);
      const look = async () => {
        looks += 1;
        return null;
      };
      expect(await longPoll(call, services, { topics: ['a'], ms: long }, look)).toBeNull();
      expect([looks, listeners()]).toEqual([1, 0]);
    }
  });

  it('gives back a place among those who look that comes when its call has been answered (HT-131)', async () => {
    const crowd = (gate: Promise<void>) => {
      let looking = 0;
      const polls = Array.from({ length: 5 }, () => {
        const { call, services, wake, whenWaiting } = bench();
        const look = async (woken: boolean) => {
          if (!woken) {
            whenWaiting(() => wake('a'));
            return null;
          }
          looking += 1;
          await gate;
          return 'found';
        };
        return longPoll(call, services, { topics: ['a'], ms: long }, look);
      });
      return { looking: () => looking, ended: Promise.all(polls) };
    };
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const first = crowd(opened);
    await expect.poll(first.looking).toBe(5);
    const { call, services, wake, whenWaiting } = bench();
    const impatient = {
      ...call,
      whileWaiting: <T>(wait: () => Promise<T>, onLate?: (value: T) => void) =>
        call.whileWaiting(() => outsideDatabaseWork(wait, onLate)),
    };
    const look = async () => {
      whenWaiting(() => wake('a'));
      return null;
    };
    const late = answerWithin(30, () => longPoll(impatient, services, { topics: ['a'], ms: long }, look));
    await expect(late).rejects.toMatchObject({ code: 'service.unavailable' });
    open();
    await first.ended;
    let openAgain = () => {};
    const second = crowd(
      new Promise<void>((resolve) => {
        openAgain = resolve;
      }),
    );
    await expect.poll(second.looking).toBe(5);
    openAgain();
    await second.ended;
  });

  it('passes on what a look throws', async () => {
    const { call, services, listeners } = bench();
    const look = () => Promise.reject(new Error('database'));
    await expect(longPoll(call, services, { topics: ['a'], ms: long }, look)).rejects.toThrow('database');
    expect(listeners()).toBe(0);
  });

  it('hears what was told after its first read was sent, before the wait began', async () => {
    const { services, call, wake, listeners } = bench();
    const id = randomUUID();
    const stored = ['running', 'executed'];
    const reads = readAhead(async () => stored.shift(), topic.outcome);
    const ahead = reads.of(id, services.notifications);
    await ahead.send({} as never);
    wake(topic.outcome(id));
    const options = { topics: [topic.outcome(id)], ms: 1000 };
    const look = async () => {
      const status = await reads.take({ ahead }, {} as never, id);
      return status === 'running' ? null : status;
    };
    expect(await longPoll(call, services, options, look)).toBe('executed');
    ahead.close();
    expect(listeners()).toBe(0);
  });
});
