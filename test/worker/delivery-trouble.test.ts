import { ApplicationFailure } from '@temporalio/common';
import { expect, it } from 'vitest';
import { createDeliver } from '../../activities/deliver.js';
import type { Database } from '../../db/client.js';

it('a delivery that cannot be read leaves the database alone for half a minute, and comes back within the minute (NT-56)', async () => {
  const reasons: unknown[] = [];
  const { deliver } = createDeliver({
    database: { transaction: () => Promise.reject(new Error('too slow')) } as unknown as Database,
    isKnown: () => true,
    send: () => Promise.reject(new Error('nothing is sent')),
    nextAttemptMs: () => null,
    onFailure: (error) => reasons.push(error),
  });
  for (let count = 0; count < 20; count += 1) {
    const failure = await deliver('6f1e2d3c-4b5a-4978-8675-645342312011').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ApplicationFailure);
    const { nextRetryDelay, message } = failure as ApplicationFailure;
    expect(nextRetryDelay).toBeGreaterThanOrEqual(30_000);
    expect(nextRetryDelay).toBeLessThanOrEqual(60_000);
    expect(message).not.toContain('too slow');
  }
  expect(reasons).toHaveLength(20);
});
