import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Services } from '../../api/context.js';
import { openEvents } from '../../api/events/stream.js';
import { createEventStreams } from '../../api/events/streams.js';
import type { Caller } from '../../domain/caller.js';
import { refusal } from '../../domain/errors.js';
import { createMetrics } from '../../runtime/metrics.js';
import type { FeedListener } from '../../runtime/request-feed.js';
import { builtinRole, user } from '../support/callers.js';
import { now, storedRequest } from '../support/stored-request.js';

const root = user('root', { roles: [builtinRole('admin')] });

/** A stream of which the test decides what it is told and when it is read. */
function streamOf(caller: Caller, recheck: () => Promise<Caller> = async () => caller, expiresAt: number | null = null) {
  let listener: FeedListener | undefined;
  const wakes: (() => void)[] = [];
  const services = {
    lifecycle: { draining: false, onDrain: () => () => {} },
    config: () => ({ console: { maxStreams: 1 } }),
    generation: () => ({ number: 1 }),
    eventStreams: createEventStreams(createMetrics('0.0.0')),
    notifications: {
      subscribe(_: string, wake: () => void) {
        wakes.push(wake);
        return () => {};
      },
    },
    requestFeed: {
      listen(given: FeedListener) {
        listener = given;
        return () => {};
      },
    },
  } as unknown as Services;
  const gone = new AbortController();
  const reply = openEvents({ caller, expiresAt, recheck, signal: gone.signal }, services, { commentMs: 60_000 });
  if (reply.body.kind !== 'stream') throw new Error('no stream');
  const parts = reply.body.parts[Symbol.asyncIterator]();
  return {
    services,
    gone,
    read: async () => String((await parts.next()).value),
    isOver: async () => (await parts.next()).done === true,
    move: (version: number) => listener?.moved({ request: storedRequest({ version }), now, passed: [] }),
    lose: () => listener?.lost(),
    revoke: () => {
      for (const wake of wakes) wake();
    },
  };
}

const count = (text: string, what: string) => text.split(what).length - 1;

describe('a client that does not read (CO-20)', () => {
  it('gets what waits for it at once, 200 events at most; beyond that it is told to ask for everything', async () => {
    const { read, move } = streamOf(root);
    expect(await read()).toBe('id: 1\nevent: resync\ndata: {}\n\n');
    for (let version = 1; version <= 200; version += 1) move(version);
    const all = await read();
    expect([count(all, 'event: request'), count(all, 'resync')]).toEqual([200, 0]);
    for (let version = 1; version <= 10_000; version += 1) move(version);
    expect(await read()).toBe('id: 202\nevent: resync\ndata: {}\n\n');
    move(10_001);
    expect(await read()).toContain('"version":10001');
  });

  it('is told once that changes were missed, however often', async () => {
    const { read, move, lose } = streamOf(root);
    await read();
    for (let times = 0; times < 5; times += 1) lose();
    move(1);
    expect(await read()).toBe('id: 2\nevent: resync\ndata: {}\n\n');
    move(2);
    expect(await read()).toContain('"version":2');
  });

  it('is told nothing more once its credential may have ended, until that is known', async () => {
    const stream = streamOf(root, () => Promise.reject(refusal('auth.invalid_token', 'invalid token')));
    await stream.read();
    stream.revoke();
    stream.move(1);
    expect(await stream.isOver()).toBe(true);
    expect(stream.services.eventStreams.open).toBe(0);
  });

  it('who has gone before anything was read counts no longer', () => {
    const { services, gone } = streamOf(root);
    expect(services.eventStreams.open).toBe(1);
    gone.abort();
    expect(services.eventStreams.open).toBe(0);
  });
});

describe('a stream that is never silent (CO-20)', () => {
  const ended = () => Promise.reject(refusal('auth.invalid_token', 'invalid token'));
  afterEach(() => {
    vi.useRealTimers();
  });

  it('ends when its credential expires', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    const stream = streamOf(root, ended, Date.now() + 30_000);
    await stream.read();
    stream.move(1);
    expect(await stream.read()).toContain('"version":1');
    vi.advanceTimersByTime(31_000);
    stream.move(2);
    expect(await stream.isOver()).toBe(true);
  });

  it('ends after a revocation of which the news was lost', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    const stream = streamOf(root, ended);
    await stream.read();
    stream.move(1);
    expect(await stream.read()).toContain('"version":1');
    vi.advanceTimersByTime(61_000);
    stream.move(2);
    expect(await stream.isOver()).toBe(true);
  });

  it('goes on while its credential is good, and looks no oftener than a silent one', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    let looks = 0;
    const stream = streamOf(root, async () => {
      looks += 1;
      return root;
    });
    await stream.read();
    for (let version = 1; version <= 130; version += 1) {
      vi.advanceTimersByTime(1000);
      stream.move(version);
      expect(await stream.read()).toContain(`"version":${version},`);
    }
    expect(looks).toBe(2);
  });
});
