import { expectStatus } from './caller.js';
import { footprintOf, forgetPeak, residentKib } from './footprint-of.js';
import { timePages } from './paging.js';
import { hundredths, timed } from './statistics.js';
import { storeAuditEvents } from './stored-audit-events.js';
import type { BenchOptions, BenchSystem } from './system.js';
import { withoutWorker } from './without-worker.js';

/** Each filter of the search, with a value that some events have. */
const searches = {
  all: '',
  actor_id: 'actor_id=bob',
  rare_actor: 'actor_id=admin',
  event_type: 'event_type=execution.failed',
  rare_type: 'event_type=user.created',
  event_category: 'event_category=execution',
  outcome: 'outcome=failure',
  database: 'database=shop-3',
  environment: 'environment=production',
  operation: 'operation=execute_select',
  nothing: 'actor_id=nobody',
  nowhere: 'actor_id=bob&event_type=execution.failed',
} as const;

/**
 * A log of `stored` sealed events: verified by the server `runs` times, then searched, by each filter, `count` times for the first page of 50 and
 * for one at half depth. Their `cpu` is that of server and PostgreSQL.
 */
export async function auditLog(system: BenchSystem, { stored = 100_000, runs = 2, count = 100, warmup = 10 }: BenchOptions) {
  // The worker would seal at the same time.
  return withoutWorker(system, async () => {
    const storedMs = await timed(() => storeAuditEvents(system, stored));
    const verified = [];
    for (let run = 0; run < runs; run += 1) verified.push(await verify(system));
    const found: Record<string, unknown> = {};
    for (const [name, filter] of Object.entries({ ...searches, ...(await ofOneRequest(system)) }))
      found[name] = await pagesOf(system, filter, { count, warmup });
    return { stored, stored_per_second: Math.round((stored / storedMs) * 1000), verify: verified, search: found };
  });
}

/** The whole log as a caller has it verified: time, CPU of server and PostgreSQL, and by how much the server's memory rose at its peak. */
async function verify({ admin, processes, measure }: BenchSystem) {
  const server = processes.find(({ name }) => name.includes('server'))!;
  const postgres = processes.find(({ name }) => /postgres/i.test(name))!;
  const before = { kib: residentKib(server.pid, 'VmRSS'), server: footprintOf(server.pid), postgres: footprintOf(postgres.pid) };
  forgetPeak(server.pid);
  let events = 0;
  const ms = await timed(() =>
    measure(async () => {
      const answer = await expectStatus(200, admin.call('GET', '/api/audit/verify'));
      if (!answer.valid) throw new Error(`the log is not valid: ${answer.reason} at ${answer.first_broken_seq}`);
      events = answer.sealed;
    }),
  );
  const cpu = (now: number, then: number) => hundredths(((now - then) * 1e6) / events);
  return {
    events,
    seconds: hundredths(ms / 1000),
    per_second: Math.round((events / ms) * 1000),
    cpu_us_per_event: {
      server: cpu(footprintOf(server.pid).cpuSeconds, before.server.cpuSeconds),
      postgres: cpu(footprintOf(postgres.pid).cpuSeconds, before.postgres.cpuSeconds),
    },
    growth_mib: hundredths((residentKib(server.pid, 'VmHWM') - before.kib) / 1024),
  };
}

async function ofOneRequest({ database }: BenchSystem): Promise<Record<string, string>> {
  const { rows } = await database.query(
    `select request_id, created_at from audit_events where request_id is not null and seq > (select max(seq) / 2 from audit_events) order by seq limit 1`,
  );
  const { request_id, created_at } = rows[0];
  const day = `${created_at.slice(0, 11)}00:00:00Z`;
  return {
    request_id: `request_id=${request_id}`,
    since: `since=${day}`,
    until: `until=${day}`,
    two: `database=shop-3&event_type=execution.failed&since=${day}`,
  };
}

function pagesOf({ admin, processes }: BenchSystem, filter: string, times: { count: number; warmup: number }) {
  const involved = processes.filter(({ name }) => /server|postgres/i.test(name));
  const cpuSeconds = () => involved.reduce((sum, { pid }) => sum + footprintOf(pid).cpuSeconds, 0);
  return timePages(admin, { path: '/api/audit/events', filter, cpuSeconds, ...times });
}
