import { expectStatus } from './caller.js';
import { awaitResult, create } from './requests.js';
import { percentiles, timed, wallClockMs } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const detail = 'select extract(epoch from clock_timestamp())::text as at';

/** Approves and resumes one request at a time, and measures how long after the resume its statement runs in the target. */
export async function decision({ alice, bob, measure }: BenchSystem, { count = 500, warmup = 100 }: BenchOptions) {
  const approve: number[] = [];
  const resume: number[] = [];
  const started: number[] = [];
  const once = async () => {
    const id = await create(alice, 'production', detail);
    approve.push(await timed(() => expectStatus(200, bob.call('POST', `/api/requests/${id}/approve`, {}))));
    const sentAt = wallClockMs();
    resume.push(await timed(() => expectStatus(200, alice.call('POST', `/api/requests/${id}/resume`))));
    const { result_data: result } = await awaitResult(alice, id);
    started.push(Number(result.rows[0].at) * 1000 - sentAt);
  };
  for (let left = warmup; left > 0; left -= 1) await once();
  for (const durations of [approve, resume, started]) durations.length = 0;
  await measure(async () => {
    while (started.length < count) await once();
  });
  return {
    count,
    approve_ms: percentiles(approve),
    resume_ms: percentiles(resume),
    resume_to_started_ms: percentiles(started),
  };
}
