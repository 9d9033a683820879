import { expect, it } from 'vitest';
import { createPermits } from '../../lib/permits.js';

it('gives permits in order, and none to a waiter that has gone', async () => {
  const permits = createPermits(1);
  const away = new AbortController();
  expect(await permits.take()).toBe(true);
  const [first, second] = [permits.take(away.signal), permits.take()];
  away.abort();
  expect(await first).toBe(false);
  permits.give();
  expect(await second).toBe(true);
  expect(await permits.take(away.signal)).toBe(false);
});
