import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CancelControl } from '../../agent/cancel-control.js';
import type { GatewayClient } from '../../agent/gateway-client.js';
import { keepAlive } from '../../agent/heartbeat.js';
import { GatewayUnreachable } from '../../agent/http-exchange.js';
import { Lease, moment } from '../../agent/lease.js';
import { createLog } from '../../agent/log.js';
import { defaultTimings } from '../../agent/timings.js';
import { sleep } from '../../lib/sleep.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** How many heartbeats a job sends during its lease if none of them is answered. */
async function sentUnanswered(leaseSecs: number | undefined): Promise<number> {
  const ended = new AbortController();
  const post = vi.fn(
    async (_path: string, _body: object | null, { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal }) => {
      await sleep(timeoutMs, signal);
      throw new GatewayUnreachable('no answer in time');
    },
  );
  const client = { post } as unknown as GatewayClient;
  const lease = new Lease({ lease_secs: leaseSecs }, moment());
  const log = createLog({ level: 'error', format: 'text' }, () => {});
  const job = { executionId: 'one', control: new CancelControl(), lease };
  const beating = keepAlive(job, { client, timings: defaultTimings, log }, ended.signal);
  await vi.advanceTimersByTimeAsync((leaseSecs ?? 60) * 1000);
  ended.abort();
  await beating;
  return post.mock.calls.length;
}

it.each([60, 600, 12])(
  'AP-81: one heartbeat on a connection that is dead does not cost a lease of %s s, nor do two',
  async (secs) => {
    expect(await sentUnanswered(secs)).toBeGreaterThanOrEqual(3);
  },
);

it('AP-81: of a gateway that tells no lease, a heartbeat waits as long as any call', async () => {
  expect(await sentUnanswered(undefined)).toBe(2);
});
