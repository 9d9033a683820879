import { expect, it } from 'vitest';
import { createBell } from '../../lib/bell.js';

it('a ring ends the wait; one that came while nobody waited ends the next wait, once', async () => {
  const bell = createBell();
  const waiting = bell.wait(60_000);
  bell.ring();
  expect(await waiting).toBe(true);
  bell.ring();
  bell.ring();
  expect(await bell.wait(60_000)).toBe(true);
  expect(await bell.wait(1)).toBe(false);
});

it('a wait ends unrung when the time is over or the signal aborts', async () => {
  const bell = createBell();
  const stop = new AbortController();
  expect(await bell.wait(0)).toBe(false);
  const waiting = bell.wait(60_000, stop.signal);
  stop.abort();
  expect(await waiting).toBe(false);
  expect(await bell.wait(60_000, stop.signal)).toBe(false);
});
