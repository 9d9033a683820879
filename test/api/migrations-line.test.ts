import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { move } from '../../db/move.js';
import { listOverdue } from '../../db/reconcile.js';
import { judge } from '../../domain/request/judge.js';
import { type Answer, startTestApi, type TestApi } from '../support/api.js';
import { type Agent, type AgentCalls, agentCalls, agentToml, coded, idsOf } from './agent-calls.js';
import { done, lineBody, linePairs, lineToml, migrationCalls } from './migration-calls.js';
import { untilWaiting } from './until-waiting.js';

let servers: [TestApi, TestApi];
let calls: AgentCalls;
let line: ReturnType<typeof migrationCalls>;
let free = 10;
/** A pair that no other case uses. */
const nextPair = () => linePairs[free++]!;
beforeAll(async () => {
  const toml = `${agentToml}${lineToml}`;
  const first = await startTestApi({ toml, times: { cancelWaitMs: 20 } });
  servers = [first, await first.another({ times: { cancelWaitMs: 20 } })];
  calls = await agentCalls(first);
  line = migrationCalls(calls);
});
afterAll(async () => {
  await servers?.[1]?.close();
  await servers?.[0]?.close();
});

/** A claim at one of the two servers. It is repeated only where a busy machine gave it no time: a lock that did not come free is a fault of ours. */
async function claimAt(server: number, token: string, id: string): Promise<Answer> {
  const { call, logged } = servers[server % 2]!;
  for (;;) {
    const answer = await call('POST', `/api/agent/jobs/${id}/claim`, { token });
    if (answer.status !== 503) return answer;
    const told = logged.find((line) => line.includes(answer.headers.get('x-request-id')!) && line.includes('"reason"'));
    expect((JSON.parse(told ?? '{}') as { reason?: string }).reason).toMatch(/^(DEADLINE|connection)$/);
  }
}
/** `SVC_TEST_MIGRATION_PAIRS=20` for the whole proof. */
const pairsAtOnce = Math.min(25, Number(process.env.SVC_TEST_MIGRATION_PAIRS ?? 8));
const busy = [409, 'request.conflict'];
const timeOut = (id: string) =>
  servers[0].services.database.transaction((tx) =>
    move(tx, id, (request, now) => judge(request, { kind: 'clock', clock: 'dispatch' }, now)),
  );
/** As if the request had been dispatched, and its pair been busy, so much longer ago. */
const age = (id: string, secs: number) =>
  calls.sql(
    `update requests set dispatched_at = dispatched_at - $2 * interval '1 second', dispatch_deadline = dispatch_deadline - $2 * interval '1 second' where id = $1`,
    [id, secs],
  );

describe('one mutating migration at a time on a pair (MI-30, AG-34, AG-35)', () => {
  const ends: Record<string, (agent: Agent, executionId: string, id: string) => Promise<unknown>> = {
    success: (agent, executionId) => agent.submit(executionId, done),
    failure: (agent, executionId) => agent.submit(executionId, { success: false, error_message: 'migration error: no' }),
    'an unknown outcome': (agent, executionId) => agent.submit(executionId, { success: false, outcome: 'unknown' }),
    'a cancel': async (agent, executionId, id) => {
      await calls.cancel(id);
      await agent.submit(executionId, { success: false, error_message: 'migration cancelled', outcome: 'not_started' });
    },
    'the loss of its agent': (_, __, id) => calls.fireClock(id, 'lease'),
  };
  it.each(Object.keys(ends))('AG-34: a second one is 409 while the first runs, and runs when that ends by %s', async (how) => {
    const pair = nextPair();
    const agent = await line.agentOf([pair]);
    const [first, second] = [await line.migration(pair), await line.migration(pair)];
    const executionId = await agent.run(first);
    expect(coded(await agent.claim(second))).toEqual(busy);
    expect([await line.hint(second), (await line.pairOf(pair))?.running]).toEqual(['migration_queued', first]);
    await ends[how]!(agent, executionId, first);
    const after = [await calls.statusOf(first), await line.hint(second), (await line.pairOf(pair))?.running];
    expect(after).toEqual([expect.not.stringMatching('running'), null, null]);
    expect((await agent.claim(second)).status).toBe(200);
  });

  it('AG-35: of two agents at two servers that claim two migrations of one pair one gets its job, in many pairs at once', async () => {
    const pairs = linePairs.slice(30, 30 + pairsAtOnce);
    const agents = await Promise.all([line.agentOf(pairs), line.agentOf(pairs)]);
    const jobs = await Promise.all(pairs.map(async (pair) => [await line.migration(pair), await line.migration(pair)] as const));
    const answers = await Promise.all(
      jobs.map((two, at) => Promise.all(two.map((id, which) => claimAt(at + which, agents[which]!.token, id)))),
    );
    for (const [at, two] of answers.entries()) {
      expect(two.map(({ status }) => status).sort()).toEqual([200, 409]);
      const won = two.findIndex(({ status }) => status === 200);
      expect((await line.pairOf(pairs[at]!))?.running).toBe(jobs[at]![won]);
      expect(await calls.runsOf(jobs[at]![1 - won]!)).toEqual([]);
    }
    const running = await calls.sql(
      `select database, environment from requests where status = 'running' and operation = 'migrate_up' group by 1, 2 having count(*) > 1`,
    );
    expect(running).toEqual([]);
    // Postgres would end one of two that lock in different orders, and the server would run that again unseen.
    expect(await calls.sql('select deadlocks from pg_stat_database where datname = current_database()')).toEqual([
      { deadlocks: 0 },
    ]);
  });

  it('AG-I7: of five migrations that two agents keep claiming none runs beside another, and all of them run', async () => {
    const pair = nextPair();
    const agents = await Promise.all([line.agentOf([pair]), line.agentOf([pair])]);
    const open = new Set(await Promise.all(Array.from({ length: 5 }, () => line.migration(pair))));
    let running = 0;
    const work = async (which: number) => {
      while (open.size > 0) {
        const [id] = await agents[which]!.offered(lineBody([pair], { wait_ms: 200 }));
        const claim = id === undefined ? null : await claimAt(which, agents[which]!.token, id);
        if (id === undefined || claim?.status !== 200) continue;
        running += 1;
        expect(await calls.statusOf(id)).toBe('running');
        expect(running).toBe(1);
        open.delete(id);
        running -= 1;
        await agents[which]!.submit(claim.body.execution_id, done);
      }
    };
    await Promise.all([work(0), work(1)]);
    const ran = await calls.sql<{ count: number }>(
      `select count(*) as count from requests where environment = $1 and status = 'executed'`,
      [pair],
    );
    expect(ran).toEqual([{ count: 5 }]);
  });

  it('AG-34: holds back no status, no read and no write, and no migration of another pair', async () => {
    const [pair, other] = [nextPair(), nextPair()];
    const agent = await line.agentOf([pair, other]);
    await agent.run(await line.migration(pair));
    const status = await line.migration(pair, { operation: 'migrate_status', detail: '' });
    const write = await line.migration(pair, { operation: 'execute_dml', detail: 'delete from t where a = 1' });
    const elsewhere = await line.migration(other);
    expect((await agent.offered(lineBody([pair, other]))).sort()).toEqual([status, write, elsewhere].sort());
    for (const id of [status, write, elsewhere]) expect((await agent.claim(id)).status).toBe(200);
  });

  it('MI-30: counts every mutating kind', async () => {
    const pair = nextPair();
    const agent = await line.agentOf([pair]);
    const operator = await servers[0].createUser('operator', { roles: ['admin'] });
    const repair = await calls.created(operator, {
      database: 'line',
      environment: pair,
      operation: 'migrate_repair',
      detail: '{"action":"remove","version":"1"}',
      emergency: true,
      reason: 'half applied',
    });
    const down = await line.migration(pair, {
      operation: 'migrate_down',
      detail:
        '{"format":"v2","direction":"down","versions":["1"],"migrations":[{"version":"1","sql":"drop table t"}],"dir_sha256":"","max_count":1}',
    });
    const executionId = await agent.run(repair);
    expect(coded(await agent.claim(down))).toEqual(busy);
    await agent.submit(executionId, { success: true, result_data: '{"repaired":"remove","version":"1","changed":false}' });
    expect((await agent.claim(down)).status).toBe(200);
  });
});

describe('what a poll offers of migrations (AG-17)', () => {
  it('only the oldest of a pair, until it was offered for 10 s without a claim', async () => {
    const pair = nextPair();
    const agent = await line.agentOf([pair]);
    const ids = [await line.migration(pair), await line.migration(pair), await line.migration(pair)];
    const body = lineBody([pair]);
    expect([await agent.offered(body), await agent.offered(body)]).toEqual([[ids[0]], [ids[0]]]);
    const offeredLonger = (id: string | undefined) =>
      calls.sql(`update requests set offered_at = offered_at - interval '10 seconds' where id = $1`, [id]);
    await offeredLonger(ids[0]);
    expect(await agent.offered(body)).toEqual(ids.slice(0, 2));
    await offeredLonger(ids[1]);
    expect(await agent.offered(body)).toEqual(ids);
    // MI-I10: what is merely offered blocks no claim.
    expect((await agent.claim(ids[2]!)).status).toBe(200);
    expect(await agent.offered(body)).toEqual([]);
  });

  it('a new dispatch holds back again, and what an agent may not claim holds back nothing of it', async () => {
    const pair = nextPair();
    const ups = await line.agentOf([pair], { operations: ['migrate_up'] });
    const down = await line.migration(pair, {
      operation: 'migrate_down',
      detail:
        '{"format":"v2","direction":"down","versions":["1"],"migrations":[{"version":"1","sql":"drop table t"}],"dir_sha256":"","max_count":1}',
    });
    const up = await line.migration(pair);
    expect(await ups.offered(lineBody([pair], {}, { operations: ['migrate_up'] }))).toEqual([up]);
    const all = await line.agentOf([pair]);
    expect(await all.offered(lineBody([pair]))).toEqual([down]);
    await calls.sql(`update requests set offered_at = offered_at - interval '11 seconds' where id = $1`, [down]);
    expect(await all.offered(lineBody([pair]))).toEqual([down, up]);
    await calls.fireClock(down, 'dispatch');
    expect((await calls.resume(down)).status).toBe(200);
    expect(await all.offered(lineBody([pair]))).toEqual([up]);
  });

  it('with other jobs in the order of their dispatch, cut to the limit', async () => {
    const pair = nextPair();
    const agent = await line.agentOf([pair]);
    const read = (detail: string) => line.migration(pair, { operation: 'execute_select', detail });
    const ids = [await read('select 1'), await line.migration(pair), await line.migration(pair), await read('select 2')];
    expect(await agent.offered(lineBody([pair]))).toEqual([ids[0], ids[1], ids[3]]);
    expect(await agent.offered(lineBody([pair], { limit: 2 }))).toEqual([ids[0], ids[1]]);
  });

  it('AG-57: none with an unresolved attempt to an agent without markers', async () => {
    const pair = nextPair();
    const agent = await line.agentOf([pair]);
    const lost = await line.migration(pair);
    await agent.run(lost);
    await calls.fireClock(lost, 'lease');
    expect((await calls.resume(lost)).status).toBe(200);
    const next = await line.migration(pair);
    const plain = lineBody([pair], {}, { features: [] });
    expect(await (await calls.known({ ...plain, limit: 0 })).offered(plain)).toEqual([next]);
    expect(await agent.offered(lineBody([pair]))).toEqual([lost]);
  });

  it.each([0, 1])('AG-I7: the next one reaches a waiting poll at server %i when the one that ran has ended', async (server) => {
    const pair = nextPair();
    const agent = await line.agentOf([pair]);
    const [first, second] = [await line.migration(pair), await line.migration(pair)];
    const executionId = await agent.run(first);
    const where = servers[server]!;
    const body = lineBody([pair], { wait_ms: 25_000 });
    const waiting = await untilWaiting(where, () => where.call('POST', '/api/agent/poll', { token: agent.token, body }));
    await agent.submit(executionId, done);
    expect(idsOf(await waiting.answer)).toEqual([second]);
  });
});

describe('the dispatch clock of a migration in line (AG-54)', () => {
  it('stands still while another one runs, and goes on with what was left', async () => {
    const pair = nextPair();
    const agent = await line.agentOf([pair]);
    const [first, second] = [await line.migration(pair), await line.migration(pair)];
    const executionId = await agent.run(first);
    await age(second, 290);
    const deadline = async () => (await calls.show(calls.requester, second)).body.status;
    // The pair has been busy for 200 s of the 290 s since the dispatch.
    await calls.sql(`update migration_pairs set running_since = running_since - interval '200 seconds' where environment = $1`, [
      pair,
    ]);
    await age(second, 100);
    expect((await timeOut(second)).view.clock).toBeNull();
    expect(await deadline()).toBe('dispatched');
    expect(await calls.sql('select 1 from outbox where request_id = $1 and view is null', [second])).toEqual([]);
    await agent.submit(executionId, done);
    expect(await calls.sql('select 1 as told from outbox where request_id = $1 and view is null', [second])).toEqual([
      { told: 1 },
    ]);
    const { view, changed } = await timeOut(second);
    expect([changed, view.status, view.clock?.kind]).toEqual([false, 'dispatched', 'dispatch']);
    // 300 + 200 s after the dispatch less 390 s that have passed.
    expect(view.clock!.inMs).toBeGreaterThan(100_000);
    expect(view.clock!.inMs).toBeLessThan(111_000);
    await age(second, 120);
    expect((await timeOut(second)).view.status).toBe('approved');
    expect(await calls.eventTypes(second)).toContain('request.dispatch_timeout');
  });

  it('counts what the pair is busy for from the dispatch on only, and nothing of earlier runs', async () => {
    const pair = nextPair();
    const agent = await line.agentOf([pair]);
    const executionId = await agent.run(await line.migration(pair));
    await calls.sql(`update migration_pairs set running_since = running_since - interval '1000 seconds' where environment = $1`, [
      pair,
    ]);
    const second = await line.migration(pair);
    await agent.submit(executionId, done);
    expect((await line.pairOf(pair))!.busy_ms).toBeGreaterThanOrEqual(1_000_000);
    const { view } = await timeOut(second);
    expect(view.clock!.inMs).toBeLessThan(330_000);
    const resumed = await line.migration(pair);
    await calls.fireClock(resumed, 'dispatch');
    expect((await calls.resume(resumed)).status).toBe(200);
    expect((await timeOut(resumed)).view.clock!.inMs).toBeLessThanOrEqual(300_000);
  });

  it.each(['while it waits', 'after the wait'])('is not touched by what a lost attempt reports %s (AG-44)', async (when) => {
    const pair = nextPair();
    const agent = await line.agentOf([pair]);
    const lost = await line.migration(pair);
    const older = await agent.run(lost);
    await calls.fireClock(lost, 'lease');
    const executionId = await agent.run(await line.migration(pair));
    expect((await calls.resume(lost)).status).toBe(200);
    await calls.sql(`update migration_pairs set running_since = running_since - interval '200 seconds' where environment = $1`, [
      pair,
    ]);
    const report = async () => {
      const failure = { success: false, outcome: 'rolled_back', error_message: 'connection lost' };
      expect(coded(await agent.submit(older, failure))).toEqual([410, 'execution.gone']);
    };
    if (when === 'while it waits') await report();
    await agent.submit(executionId, done);
    if (when === 'after the wait') await report();
    // Its 300 s, and the 200 s for which the pair was busy.
    const { view } = await timeOut(lost);
    expect(view.clock!.inMs).toBeGreaterThan(400_000);
    expect(view.clock!.inMs).toBeLessThan(501_000);
    expect(await agent.offered(lineBody([pair]))).toEqual([lost]);
    expect((await agent.claim(lost)).status).toBe(200);
  });

  it('that is over refuses the claim, and is found by the reconciler only then', async () => {
    const pair = nextPair();
    const agent = await line.agentOf([pair]);
    const [first, second] = [await line.migration(pair), await line.migration(pair)];
    const executionId = await agent.run(first);
    await age(second, 301);
    const overdue = async () => (await listOverdue(servers[0].services.database, 0, 1000)).some(({ id }) => id === second);
    expect(await overdue()).toBe(false);
    await agent.submit(executionId, done);
    await age(second, 60);
    expect([await overdue(), await agent.offered(lineBody([pair]))]).toEqual([true, []]);
    expect(coded(await agent.claim(second))).toEqual(busy);
    expect((await timeOut(second)).view.status).toBe('approved');
  });
});

describe('the terms of a claimed migration (AG-37)', () => {
  it.each([
    ['migration_lease_duration_secs', 'line-0', 'migrate_up', 0, 5],
    ['migration_statement_timeout_secs', 'line-1', 'migrate_up', 100, 130],
    ['the lease before the timeout', 'line-2', 'migrate_up', 100, 700],
    ['the longest lease that the file may name', 'line-59', 'migrate_up', 0, 2_147_483_647],
    ['0 as no limit, whatever other statements have', 'line-3', 'migrate_up', 0, 600],
    ['the defaults', 'line-4', 'migrate_up', 0, 600],
    ['those of a query for a status', 'line-3', 'migrate_status', 200, 230],
  ])('are by %s', async (_, pair, operation, timeoutSecs, leaseSecs) => {
    const agent = await line.agentOf([pair]);
    const id = await line.migration(pair, operation === 'migrate_status' ? { operation, detail: '{}' } : { operation });
    const { body } = await agent.claim(id);
    expect([body.statement_timeout_secs, body.lease_secs, body.unresolved_fences]).toEqual([timeoutSecs, leaseSecs, []]);
    expect(body.marker).toBe(operation === 'migrate_status' ? 'none' : 'required');
    const left = Date.parse(body.lease_expires_at) - Date.parse(body.server_time);
    expect(left).toBe(leaseSecs * 1000);
    expect((await agent.submit(body.execution_id, done)).status).toBe(200);
  });
});

describe('the end of a migration (MI-40, MI-44)', () => {
  const ended = async (result: object, type: string) => {
    const pair = 'line-5';
    const agent = await line.agentOf([pair]);
    const id = await line.migration(pair);
    expect((await agent.submit(await agent.run(id), result)).status).toBe(200);
    const [run] = await calls.runsOf(id);
    return [(await calls.events(id, type))[0]?.metadata, run?.outcome, await calls.statusOf(id)];
  };
  const versions = (count: number) => Array.from({ length: count }, (_, at) => String(20310101000000 + at));

  it('tells of the versions in its event, of a long list their number', async () => {
    const up = { success: true, result_data: JSON.stringify({ applied: versions(2), out_of_order: versions(1) }) };
    expect(await ended(up, 'execution.completed')).toEqual([
      expect.objectContaining({ applied: versions(2) }),
      'committed',
      'executed',
    ]);
    const down = { success: true, result_data: JSON.stringify({ reverted: [] }) };
    expect((await ended(down, 'execution.completed'))[0]).toMatchObject({ reverted: [] });
    const many = { success: true, result_data: JSON.stringify({ applied: versions(300) }) };
    const [told] = await ended(many, 'execution.completed');
    expect(told).toMatchObject({ applied_count: 300 });
    expect(told).not.toHaveProperty('applied');
  });

  it('is partial when its data names steps done before the failure, and never tells SQL', async () => {
    const data = { applied_before_failure: ['1', 'drop table secret'], failed_version: '3', error: 'syntax error' };
    const failed = { success: false, error_message: 'migration error: syntax error', result_data: JSON.stringify(data) };
    const [told, ...rest] = await ended(failed, 'execution.failed');
    expect(rest).toEqual(['partial', 'failed']);
    expect(told).toMatchObject({ outcome: 'partial', error_class: 'migration error', applied: ['1', '<invalid:17>'] });
    const none = { ...failed, result_data: JSON.stringify({ ...data, applied_before_failure: [] }) };
    const [quiet, ...before] = await ended(none, 'execution.failed');
    expect([before, quiet]).toEqual([['rolled_back', 'failed'], expect.not.objectContaining({ applied: expect.anything() })]);
  });

  it('RS-13: keeps the data of a partial end that names no step done before, and of one that only counts them', async () => {
    const pair = 'line-5';
    const agent = await line.agentOf([pair]);
    const failure = { success: false, outcome: 'partial', error_message: 'version 1: no such table; statement 2 of 3 failed' };
    for (const data of [
      { applied_before_failure: [], failed_version: '1', error: failure.error_message },
      { applied_before_failure_count: 9000, failed_version: '9001', error: failure.error_message },
    ]) {
      const id = await line.migration(pair);
      await agent.submit(await agent.run(id), { ...failure, result_data: JSON.stringify(data) });
      expect((await calls.content(calls.requester, id)).body).toMatchObject({ success: false, result_data: data });
    }
    const id = await line.migration(pair);
    const data = JSON.stringify({ applied_before_failure: [], failed_version: '1', error: 'x' });
    await agent.submit(await agent.run(id), { success: false, outcome: 'rolled_back', error_message: 'x', result_data: data });
    expect((await calls.content(calls.requester, id)).body.result_data).toBeNull();
  });

  it('after a cancel is failed when a part is applied, else cancelled (section 6)', async () => {
    const agent = await line.agentOf(['line-5']);
    for (const [applied, status] of [
      [['1'], 'failed'],
      [[], 'cancelled'],
    ] as const) {
      const id = await line.migration('line-5');
      const executionId = await agent.run(id);
      expect((await calls.cancel(id)).status).toBe(202);
      const data = { applied_before_failure: applied, failed_version: '2', error: 'migration cancelled' };
      await agent.submit(executionId, {
        success: false,
        error_message: 'migration cancelled',
        result_data: JSON.stringify(data),
      });
      expect(await calls.statusOf(id)).toBe(status);
    }
  });
});
