import { sleep } from '../lib/sleep.js';
import { lifecycle } from './lifecycle.js';
import { startLocalServer } from './local-server.js';
import { create } from './requests.js';
import { percentiles } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const drainLimitMs = 300_000;

/**
 * Creations that wait for approval, `pause` ms apart, with Slack on (`on=0`: off): how long a creation takes its caller, and from each creation to its card. Then
 * `lifecycle`, as what Slack costs reads.
 */
export async function slack(system: BenchSystem, { on = 1, creations = 50, pause = 500, ...options }: BenchOptions) {
  const fake = await startFakeSlack();
  const section = `[slack]\nbot_token = "xoxb-bench"\nsigning_secret = "s"\napi_base_url = "${fake.url}/api/"\n`;
  // A webhook that subscribes to nothing makes a new generation, which shows that the change of the file is in force.
  const marker = '[[webhooks]]\nid = "bench"\nurl = "https://example.com/"\nevents = ["webhook.test"]\n';
  await system.configure({ head: '', tables: on > 0 ? `${marker}${section}` : marker });
  try {
    const { ids, durations } = await createSlowly(system, creations, pause);
    await untilSent(system);
    const { rows } = await system.database.query(
      'select id, extract(epoch from created_at) * 1000 as at from requests where id = any($1::uuid[])',
      [ids],
    );
    const waits = rows.map(({ id, at }) => (fake.postedAt.get(id) ?? Number.NaN) - Number(at));
    const { ms, cpu_ms_per_request: cpu, count } = await lifecycle(system, { ...options });
    const behind = await unsent(system);
    return {
      on,
      creations,
      creation_ms: percentiles(durations),
      ...(on > 0 ? { creation_to_card_ms: percentiles(waits) } : {}),
      count,
      lifecycle_ms: ms,
      cpu_ms_per_request: cpu,
      calls: fake.calls(),
      unsent_at_the_end: behind,
    };
  } finally {
    fake.close();
  }
}

/** Takes every call, and remembers when the first card of a request came. */
async function startFakeSlack() {
  const postedAt = new Map<string, number>();
  let calls = 0;
  const server = await startLocalServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    calls += 1;
    const id = /"value":"([0-9a-f-]{36})"/.exec(Buffer.concat(chunks).toString())?.[1];
    if (id !== undefined && !postedAt.has(id)) postedAt.set(id, Date.now());
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ok: true, channel: 'C1', ts: `1900000000.${String(calls).padStart(6, '0')}` }));
  });
  return { ...server, postedAt, calls: () => calls };
}

async function createSlowly({ alice }: BenchSystem, count: number, pauseMs: number) {
  const ids: string[] = [];
  const durations: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const startedAt = performance.now();
    ids.push(await create(alice, 'production'));
    durations.push(performance.now() - startedAt);
    await sleep(pauseMs);
  }
  return { ids, durations };
}

async function unsent({ database }: BenchSystem): Promise<number> {
  const { rows } = await database.query('select count(*)::int as count from slack_cards where shown < wanted');
  return rows[0].count;
}

async function untilSent(system: BenchSystem): Promise<void> {
  const deadline = Date.now() + drainLimitMs;
  while ((await unsent(system)) > 0) {
    if (Date.now() > deadline) throw new Error('the cards are not sent');
    await sleep(100);
  }
}
