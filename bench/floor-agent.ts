import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { createBell } from '../lib/bell.js';
import { createCaller, expectStatus } from './caller.js';

/**
 * The agent of the floor: polls, claims, runs the statement in a read-only transaction of the target and hands in the rows. An
 * error ends it.
 */
const slots = 8;
const pollWaitMs = 20_000;
const gateway = createCaller(process.env.FLOOR_URL!, process.env.FLOOR_TOKEN!);
const target = new pg.Pool({ connectionString: process.env.FLOOR_TARGET, max: slots });
const freed = createBell();
let busy = 0;

for (;;) {
  while (busy >= slots) await freed.wait(pollWaitMs);
  const { jobs } = await post('/api/agent/poll', { limit: slots - busy, wait_ms: pollWaitMs });
  await Promise.all(jobs.map(claim));
}

async function claim(requestId: string): Promise<void> {
  busy += 1;
  const job = await post(`/api/agent/jobs/${requestId}/claim`, { claim_id: randomUUID() });
  // The next poll does not wait for the run.
  void run(job).finally(() => {
    busy -= 1;
    freed.ring();
  });
}

async function run(job: { execution_id: string; fence: number; detail: string }): Promise<void> {
  const startedAt = performance.now();
  const text = `begin read only; ${job.detail}; rollback`;
  // pg answers several statements with one result each, which its types do not know.
  const [, result] = (await target.query({ text, rowMode: 'array' })) as unknown as pg.QueryArrayResult[];
  await post(`/api/agent/jobs/${job.execution_id}/result`, {
    fence: job.fence,
    duration_ms: Math.round(performance.now() - startedAt),
    result_data: JSON.stringify({ columns: result!.fields.map(({ name }) => name), rows: result!.rows }),
  });
}

function post(path: string, body: object) {
  return expectStatus(200, gateway.call('POST', path, body));
}
