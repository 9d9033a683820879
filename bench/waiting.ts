import { sleep } from '../lib/sleep.js';
import { untilNoBacklog } from './backlog.js';
import { type Caller, createCaller, expectStatus } from './caller.js';
import { footprintOf } from './footprint-of.js';
import { create } from './requests.js';
import { hundredths, percentiles, wallClockMs } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const waitSecs = 100;

/**
 * `pollers` callers each wait for a change of a request of their own, and `agents` agents wait for jobs. Measures what that costs
 * the server, how many connections to PostgreSQL it holds, and how long after a rejection the waiter has its answer.
 */
export async function waiting(system: BenchSystem, { pollers = 2000, agents = 200, seconds = 60, woken = 100 }: BenchOptions) {
  const { alice, bob, admin, database } = system;
  const server = system.processes.find(({ name }) => name.includes('server'));
  if (server === undefined) throw new Error('no process is the server');
  const before = footprintOf(server.pid);
  const ids = await createPending(alice, pollers);
  await untilSettled(system);
  const agentCallers = await connectAgents(system, admin, agents);
  const isOver = { value: false };
  const polls = agentCallers.map((agent) => pollUntil(agent, isOver));
  const answeredAt = new Map<string, number>();
  const waits = ids.map((id) => waitFor(alice, id, isOver, answeredAt));
  await sleep(waitSecs * 1000);
  const started = footprintOf(server.pid);
  await system.measure(() => sleep(seconds * 1000));
  const rested = footprintOf(server.pid);
  const { rows } = await database.query('select count(*)::int as count from pg_stat_activity where datname = current_database()');
  const delays: number[] = [];
  for (const id of ids.slice(0, woken)) {
    await expectStatus(200, bob.call('POST', `/api/requests/${id}/reject`, {}));
    const [ended] = (
      await database.query('select extract(epoch from resolved_at) * 1000 as at from requests where id = $1', [id])
    ).rows;
    while (!answeredAt.has(id)) await sleep(1);
    delays.push(answeredAt.get(id)! - Number(ended.at));
  }
  isOver.value = true;
  for (const caller of agentCallers) caller.close();
  alice.close();
  await Promise.allSettled([...polls, ...waits]);
  return {
    pollers,
    agents,
    seconds,
    server_cpu_seconds_per_minute: hundredths(((rested.cpuSeconds - started.cpuSeconds) * 60) / seconds),
    server_mib: { before: before.memoryMib, waiting: rested.memoryMib },
    database_connections: rows[0].count,
    answered_after_rejection_ms: percentiles(delays),
  };
}

async function createPending(alice: Caller, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let left = count; left > 0; left -= 1) ids.push(await create(alice, 'production'));
  return ids;
}

async function connectAgents(system: BenchSystem, admin: Caller, count: number): Promise<Caller[]> {
  const callers: Caller[] = [];
  for (let n = 0; n < count; n += 1) {
    const body = { subject_id: `bench-agent-${n}`, subject_type: 'agent', scope_ceiling: null };
    callers.push(createCaller(system.serverUrl, (await expectStatus(201, admin.call('POST', '/api/tokens', body))).token));
  }
  return callers;
}

/** Drops plans that nobody has made yet and waits until all workflows are told, so that only waiting is measured. */
async function untilSettled(system: BenchSystem): Promise<void> {
  await system.database.query("delete from dry_run_jobs where state = 'pending'");
  await untilNoBacklog(system);
}

/** Asks for jobs of a pair without requests. */
async function pollUntil(agent: Caller, isOver: { value: boolean }): Promise<void> {
  const capabilities = {
    scopes: [{ database: 'shop', environment: 'staging' }],
    operations: ['migrate_status'],
    features: ['fence'],
  };
  while (!isOver.value)
    await expectStatus(200, agent.call('POST', '/api/agent/poll', { capabilities, limit: 1, wait_ms: 20_000 }));
}

async function waitFor(alice: Caller, id: string, isOver: { value: boolean }, answeredAt: Map<string, number>): Promise<void> {
  // The first wait has a random length, so that the callers ask again evenly.
  for (let secs = Math.ceil(Math.random() * waitSecs); !isOver.value; secs = waitSecs) {
    const { status } = await expectStatus(200, alice.call('GET', `/api/requests/${id}?wait=${secs}`));
    if (status === 'pending') continue;
    answeredAt.set(id, wallClockMs());
    return;
  }
}
