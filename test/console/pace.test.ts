import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createPace } from '../../console/state/pace.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Looks whose answers take so long; counts those that were begun and those that were answered. */
function paced(tookMs: number) {
  let begun = 0;
  let answered = 0;
  let answer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    begun += 1;
    // The page drops the answer of the look before.
    clearTimeout(answer);
    pace.began();
    answer = setTimeout(() => {
      answered += 1;
      pace.ended();
    }, tookMs);
  };
  const pace = createPace(look);
  return { pace, begun: () => begun, answered: () => answered };
}

const changes = async (pace: ReturnType<typeof createPace>, ms: number) => {
  for (let at = 0; at < ms; at += 10) {
    pace.changed(false);
    await vi.advanceTimersByTimeAsync(10);
  }
};

test('a change is looked at soon, and changes that come together by one look', async () => {
  const { pace, begun } = paced(50);
  pace.changed(false);
  pace.changed(false);
  await vi.advanceTimersByTimeAsync(200);
  expect(begun()).toBe(1);
  await vi.advanceTimersByTimeAsync(5000);
  expect(begun()).toBe(1);
});

test('changes that go on and on are looked at more than once a second, and not for each of them', async () => {
  const { pace, answered } = paced(50);
  await changes(pace, 10_000);
  expect(answered()).toBeGreaterThanOrEqual(10);
  expect(answered()).toBeLessThan(20);
});

test('an answer that is slower than the changes comes all the same, and a last look follows the last change', async () => {
  const { pace, begun, answered } = paced(3000);
  await changes(pace, 10_000);
  expect(answered()).toBe(3);
  const before = begun();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(begun()).toBeLessThanOrEqual(before + 1);
  expect(answered()).toBe(begun());
});

test('after the server was away, a look that waits for an answer is given up for another', async () => {
  const { pace, begun } = paced(30_000);
  pace.changed(false);
  await vi.advanceTimersByTimeAsync(1000);
  pace.changed(true);
  await vi.advanceTimersByTimeAsync(1000);
  expect(begun()).toBe(2);
});

test('nothing is looked at any longer once the page is left', async () => {
  const { pace, begun } = paced(50);
  pace.changed(false);
  pace.stop();
  await vi.advanceTimersByTimeAsync(5000);
  expect(begun()).toBe(0);
});
