import { sleep } from '../lib/sleep.js';
import { lifecycle } from './lifecycle.js';
import { startLocalServer } from './local-server.js';
import { percentiles } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const drainLimitMs = 300_000;

/**
 * `lifecycle` with three webhooks that are told every event, from each change to its receiver in ms; then a burst of deliveries, stored at once,
 * until the receiver has all of them.
 */
export async function webhooks(system: BenchSystem, { hooks = 3, burst = hooks > 0 ? 1000 : 0, ...options }: BenchOptions) {
  const { database } = system;
  const receivedAt = new Map<string, number>();
  const receiver = await startLocalServer((request, response) => {
    receivedAt.set(String(request.headers['webhook-id']).slice(3), Date.now());
    request.resume().on('end', () => response.end());
  });
  const tables = Array.from(
    { length: hooks },
    (_, n) => `[[webhooks]]\nid = "bench-${n}"\nurl = "${receiver.url}/"\nsecret = "0123456789abcdef"\n`,
  );
  if (hooks > 0) await system.configure({ head: 'allow_private_networks = true', tables: tables.join('\n') });
  try {
    const { ms, cpu_ms_per_request: cpu, count } = await lifecycle(system, options);
    const backlog = await undelivered(system);
    await untilDelivered(system);
    const { rows } = await database.query('select id, extract(epoch from created_at) * 1000 as at from webhook_deliveries');
    const waits = rows.map(({ id, at }) => (receivedAt.get(id) ?? Number.NaN) - Number(at));
    return {
      hooks,
      count,
      lifecycle_ms: ms,
      cpu_ms_per_request: cpu,
      deliveries: rows.length,
      undelivered_at_the_end: backlog,
      change_to_receiver_ms: percentiles(waits),
      burst,
      deliveries_per_second: await deliveriesPerSecond(system, hooks, burst),
    };
  } finally {
    receiver.close();
  }
}

/** Of a burst that is stored at once. */
async function deliveriesPerSecond(system: BenchSystem, hooks: number, burst: number): Promise<number> {
  const startedAt = performance.now();
  await system.database.query(
    `insert into webhook_deliveries (id, webhook_id, event_type, body)
     select gen_random_uuid(), 'bench-' || n % $2::int, 'webhook.test', '{}' from generate_series(1, $1::int) n`,
    [burst, hooks],
  );
  await untilDelivered(system);
  return Math.round(burst / ((performance.now() - startedAt) / 1000));
}

async function undelivered({ database }: BenchSystem): Promise<number> {
  const { rows } = await database.query('select count(*)::int as count from webhook_deliveries where finished_at is null');
  return rows[0].count;
}

async function untilDelivered(system: BenchSystem): Promise<void> {
  const deadline = Date.now() + drainLimitMs;
  while ((await undelivered(system)) > 0) {
    if (Date.now() > deadline) throw new Error('the deliveries do not end');
    await sleep(100);
  }
}
