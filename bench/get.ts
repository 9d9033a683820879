import { expectStatus } from './caller.js';
import { awaitResult, create } from './requests.js';
import { percentiles, timed } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

/** `GET /api/requests/{id}` of an executed request, one call at a time. */
export async function get({ alice, measure }: BenchSystem, { count = 5000, warmup = 2000 }: BenchOptions) {
  const id = await create(alice, 'staging');
  await awaitResult(alice, id);
  const look = () => expectStatus(200, alice.call('GET', `/api/requests/${id}`));
  for (let left = warmup; left > 0; left -= 1) await look();
  const durations: number[] = [];
  await measure(async () => {
    while (durations.length < count) durations.push(await timed(look));
  });
  return { count, ms: percentiles(durations) };
}
