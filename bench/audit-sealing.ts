import { sleep } from '../lib/sleep.js';
import { footprintOf } from './footprint-of.js';
import { hundredths, percentiles } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const write = `insert into audit_events (id, event_type, event_category, outcome, actor_id, actor_type, resource_type, resource_id, peer_ip, client_ip,
    client_ip_source, request_id, operation, database_name, environment, metadata_json)
  select gen_random_uuid(), 'request.dispatched', 'approval', 'success', 'alice', 'user', 'request', gen_random_uuid()::text, '10.0.0.4', '10.0.0.4',
    'peer', gen_random_uuid(), 'execute_select', 'shop', 'staging', '{"fence":1,"auth_token_id":"0d5cf0a1-7c8b-4b3a-9d63-5a1f0c2e4b71"}'
  from generate_series(1, $1)`;

/**
 * How the worker seals audit events: a backlog of `backlog` events, then `rate` events a second of `seconds` seconds, four in a
 * transaction as a read has. The age is that of the oldest unsealed event, looked at 20 times a second.
 */
export async function auditSealing(
  system: BenchSystem,
  { backlog = 20_000, rate = 333, seconds = 20 }: BenchOptions,
): Promise<Record<string, unknown>> {
  const { database } = system;
  await untilSealed(system);
  await database.query(write, [backlog]);
  const before = cpuOf(system);
  const startedAt = performance.now();
  await system.measure(() => untilSealed(system));
  const backlogMs = performance.now() - startedAt;
  const between = cpuOf(system);
  const ages: number[] = [];
  const startAt = performance.now();
  for (let written = 0; performance.now() - startAt < seconds * 1000; await sleep(50)) {
    for (const due = ((performance.now() - startAt) / 1000) * rate; written < due; written += 4) await database.query(write, [4]);
    ages.push(await oldestAgeMs(system));
  }
  const after = cpuOf(system);
  const perEvent = (from: Cpu, to: Cpu, count: number) =>
    Object.fromEntries(Object.entries(to).map(([name, used]) => [name, hundredths(((used - (from[name] ?? 0)) * 1000) / count)]));
  return {
    backlog,
    sealed_per_second: hundredths((backlog / backlogMs) * 1000),
    backlog_cpu_ms_per_event: perEvent(before, between, backlog),
    rate,
    steady_cpu_ms_per_event: perEvent(between, after, rate * seconds),
    age_ms: percentiles(ages),
  };
}

type Cpu = Record<string, number>;

/** CPU seconds of the processes that take part in it. */
const cpuOf = ({ processes }: BenchSystem): Cpu =>
  Object.fromEntries(
    processes.flatMap(({ name, pid }) => (/worker|postgres/i.test(name) ? [[name, footprintOf(pid).cpuSeconds]] : [])),
  );

async function oldestAgeMs({ database }: BenchSystem): Promise<number> {
  const { rows } = await database.query(
    `select coalesce(extract(epoch from clock_timestamp() - min(created_at)::timestamptz) * 1000, 0)::float8 as ms from audit_events where seq is null`,
  );
  return rows[0].ms;
}

async function untilSealed({ database }: BenchSystem): Promise<void> {
  const isSealed = async () => (await database.query('select 1 from audit_events where seq is null limit 1')).rows.length === 0;
  while (!(await isSealed())) await sleep(20);
}
