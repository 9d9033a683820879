import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Connection } from '@temporalio/client';
import { waitFor } from '../dev/wait-for.js';
import { sleep } from '../lib/sleep.js';
import { requestWorkflow } from '../workflows/messages.js';
import { type Caller, expectStatus } from './caller.js';
import { closedLoop } from './closed-loop.js';
import { storeCopies, untilSealed } from './copied-requests.js';
import { usageDuring, watchedProcesses } from './footprint-of.js';
import { create, runSelect } from './requests.js';
import { hundredths, percentiles, timed } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const lookMs = 500;
const followWaitMs = 60_000;
const tables = ['requests', 'executions', 'results', 'audit_events'] as const;

/**
 * `stored` requests in all, of which `waiting` wait for approval, each with its workflow, and `old` are past their retention. Tells how long calls and reads take, memory,
 * sizes and vacuum, how many reads 8 callers get per second, and the same calls while the old ones are purged.
 */
export async function growth(
  system: BenchSystem,
  { stored = 1_000_000, waiting = 100_000, old = 100_000, count = 300, warmup = 30, temporal_pid = 0 }: BenchOptions,
) {
  const processes = watchedProcesses(system.processes, temporal_pid);
  await setPurge(system, "interval '7 days'");
  await callsUntil(system, (done) => done >= warmup);
  const few = await usageDuring(processes, () => callsUntil(system, (done) => done >= count));
  const storedMs = await timed(() => storeCopies(system, { ended: stored - waiting - old, old, waiting }));
  await proveCopies(system);
  const sealedMs = await timed(() => untilSealed(system));
  const vacuum_seconds = await vacuum(system);
  const sizes_mib = await sizes(system);
  await callsUntil(system, (done) => done >= warmup);
  const many = await usageDuring(processes, () => callsUntil(system, (done) => done >= count));
  return {
    stored,
    waiting,
    old,
    count,
    stored_after_seconds: hundredths(storedMs / 1000),
    sealed_after_seconds: hundredths(sealedMs / 1000),
    open_workflows: await openWorkflows(system),
    before: { calls: few.result, processes: few.usage },
    after: { calls: many.result, processes: many.usage },
    sizes_mib,
    vacuum_seconds,
    closed_loop: await closedLoop(system, { warmup }),
    purge: await duringPurge(system),
    vacuum_seconds_after_purge: await vacuum(system),
  };
}

/** Throws unless a copy behaves like a request that was made: it can be approved, and its workflow follows. */
async function proveCopies({ database, bob, admin }: BenchSystem): Promise<void> {
  const { rows } = await database.query(
    `select id from requests where status = 'pending' and requester = 'alice' order by created_at limit 1`,
  );
  const path = `/api/requests/${rows[0].id}`;
  await expectStatus(200, bob.call('POST', `${path}/approve`, {}));
  const isFollowed = async () => {
    const { in_step } = await expectStatus(200, admin.call('GET', `${path}/workflow`));
    return in_step;
  };
  await waitFor('the workflow of a copy', isFollowed, { ms: followWaitMs });
}

/** One of each, in turn, until it is over: percentiles in milliseconds. */
async function callsUntil({ alice, bob }: BenchSystem, isOver: (done: number) => boolean | Promise<boolean>) {
  const measured: Record<string, number[]> = { create: [], approve: [], show: [], list: [], inbox: [], read: [] };
  const look = (caller: Caller, path: string) => timed(() => expectStatus(200, caller.call('GET', `/api/requests${path}`)));
  let done = 0;
  for (; !(await isOver(done)); done += 1) {
    let id = '';
    measured.create!.push(
      await timed(async () => {
        id = await create(alice, 'production');
      }),
    );
    measured.approve!.push(await timed(() => expectStatus(200, bob.call('POST', `/api/requests/${id}/approve`, {}))));
    measured.show!.push(await look(alice, `/${id}`));
    measured.list!.push(await look(alice, '?limit=50'));
    measured.inbox!.push(await look(bob, '?limit=50&pending_for_me=true'));
    measured.read!.push(await timed(() => runSelect(alice)));
  }
  const ms = Object.fromEntries(Object.entries(measured).map(([name, durations]) => [name, percentiles(durations)]));
  return { rounds: done, ms };
}

async function duringPurge(system: BenchSystem) {
  const before = await countOld(system);
  await setPurge(system, "interval '0'");
  while ((await countOld(system)) === before && before > 0) await sleep(lookMs);
  const startedAt = performance.now();
  let left = before;
  const watch = async () => {
    for (; left > 0; left = await countOld(system)) await sleep(lookMs);
  };
  const watched = watch().then(() => performance.now() - startedAt);
  watched.catch(() => {});
  const { ms, rounds } = await callsUntil(system, () => left === 0);
  const seconds = hundredths((await watched) / 1000);
  return { purged: before, seconds, per_second: hundredths(before / seconds), rounds, ms };
}

/** When the purge begins next; the job looks once a minute. */
const setPurge = ({ database }: BenchSystem, after: string) =>
  database.query(
    `insert into background_state (name, content, updated_at) values ('purge', jsonb_build_object('next_at', clock_timestamp() + ${after}), clock_timestamp())
     on conflict (name) do update set content = excluded.content`,
  );

async function countOld({ database }: BenchSystem): Promise<number> {
  const { rows } = await database.query(
    `select count(*)::int as count from requests where updated_at < now() - interval '90 days'`,
  );
  return rows[0].count;
}

async function vacuum({ database }: BenchSystem): Promise<Record<string, number>> {
  const seconds: Record<string, number> = {};
  for (const table of tables)
    seconds[table] = hundredths((await timed(() => database.query(`vacuum (analyze) ${table}`))) / 1000);
  return seconds;
}

async function sizes({ database, logFolder }: BenchSystem) {
  const mib = (bytes: number) => Math.round(bytes / 1024 / 1024);
  const { rows } = await database.query(
    `select relname, pg_table_size(oid)::float8 as rows, pg_indexes_size(oid)::float8 as indexes from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace order by pg_total_relation_size(oid) desc limit 8`,
  );
  const ofTables = rows.map(({ relname, rows: table, indexes }) => [relname, { table: mib(table), indexes: mib(indexes) }]);
  const temporal = process.env.TEMPORAL_ADDRESS ? null : mib(statSync(join(dirname(logFolder), 'temporal.db')).size);
  return { ...Object.fromEntries(ofTables), temporal };
}

/** By Temporal's index, in the namespace that `[temporal]` has by default. */
async function openWorkflows({ temporalAddress }: BenchSystem): Promise<number> {
  const temporal = await Connection.connect({ address: temporalAddress });
  try {
    const query = `WorkflowType = '${requestWorkflow}' AND ExecutionStatus = 'Running'`;
    const { count } = await temporal.workflowService.countWorkflowExecutions({ namespace: 'default', query });
    return Number(count);
  } finally {
    await temporal.close();
  }
}
