import pg from 'pg';
import { expectStatus } from './caller.js';
import { create } from './requests.js';
import { percentiles, timed } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const detail = 'select pg_sleep(60) as cancelled';

/** Cancels a running statement, one at a time: until the call is answered, and until the target no longer runs it. */
export async function cancel({ alice, bob, postgres, measure }: BenchSystem, { count = 50, warmup = 5 }: BenchOptions) {
  const target = new pg.Client({ connectionString: postgres.url('postgres') });
  await target.connect();
  const running = `select 1 from pg_stat_activity where state = 'active' and query like $1 and pid <> pg_backend_pid()`;
  const isRunning = async () => (await target.query(running, [`%${detail}%`])).rows.length > 0;
  const [answered, ended]: number[][] = [[], []];
  const once = async () => {
    const id = await create(alice, 'production', detail);
    await expectStatus(200, bob.call('POST', `/api/requests/${id}/approve`, {}));
    await expectStatus(200, alice.call('POST', `/api/requests/${id}/resume`));
    while (!(await isRunning()));
    const until = async () => {
      while (await isRunning());
    };
    const call = () => expectStatus(200, alice.call('POST', `/api/requests/${id}/cancel`, {}));
    const [answer, end] = await Promise.all([timed(call), timed(until)]);
    answered!.push(answer);
    ended!.push(end);
  };
  try {
    for (let left = warmup; left > 0; left -= 1) await once();
    for (const durations of [answered!, ended!]) durations.length = 0;
    await measure(async () => {
      while (ended!.length < count) await once();
    });
  } finally {
    await target.end();
  }
  return { count, answered_ms: percentiles(answered!), ended_in_target_ms: percentiles(ended!) };
}
