import { expect, it } from 'vitest';
import { longestTimerMs, sleep } from '../../lib/sleep.js';

it('ends when the time is over', async () => {
  await sleep(1);
  await sleep(1, new AbortController().signal);
});

it('ends at once, without an error, when its signal aborts or has aborted', async () => {
  const stop = new AbortController();
  const sleeping = sleep(longestTimerMs, stop.signal);
  stop.abort();
  await sleeping;
  await sleep(longestTimerMs, stop.signal);
});

it('is not woken by a wait that is longer than a timer can hold', async () => {
  const stop = new AbortController();
  let isOver = false;
  const sleeping = sleep(Number.POSITIVE_INFINITY, stop.signal).then(() => {
    isOver = true;
  });
  await sleep(20);
  expect(isOver).toBe(false);
  stop.abort();
  await sleeping;
});
