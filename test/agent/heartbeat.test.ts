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

/** What a job knows after heartbeats that were answered so. */
async function answered(status: number, body: unknown) {
  const ended = new AbortController();
  const client = { post: async () => ({ status, body, retryAfterMs: null }) } as unknown as GatewayClient;
  const job = { executionId: 'one', control: new CancelControl(), lease: new Lease({ lease_secs: 60 }, moment()) };
  const log = createLog({ level: 'error', format: 'text' }, () => {});
  const beating = keepAlive(job, { client, timings: defaultTimings, log }, ended.signal);
  await vi.advanceTimersByTimeAsync(59_000);
  const heldBefore = job.lease.holds;
  await vi.advanceTimersByTimeAsync(2000);
  ended.abort();
  await beating;
  return { heldBefore, held: job.lease.holds, cancelled: job.control.requested };
}

it('AP-81: only the gateway itself extends a lease, ends it, or cancels a run', async () => {
  const page = '<h1>We are back soon</h1>';
  const nothing = { heldBefore: true, held: false, cancelled: false };
  for (const [status, body] of [
    [200, page],
    [200, null],
    [409, page],
    [410, null],
  ] as const)
    expect(await answered(status, body), `${status}`).toEqual(nothing);
  expect(await answered(200, { cancelled: false })).toEqual({ heldBefore: true, held: true, cancelled: false });
  const over = { heldBefore: false, held: false };
  expect(await answered(409, { code: 'execution.conflict' })).toEqual({ ...over, cancelled: false });
  expect(await answered(410, { code: 'execution.gone' })).toEqual({ ...over, cancelled: true });
});
