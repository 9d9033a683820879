import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createStep } from '../../activities/step.js';
import { createSweeper } from '../../worker/sweeper.js';
import { lockWaits } from '../support/active-statement.js';
import type { TestApi } from '../support/api.js';
import { type Agent, type AgentCalls, type Body, basicBody, coded, pollBody, scope, startAgentApi } from './agent-calls.js';

let api: TestApi;
let calls: AgentCalls;
let agent: Agent;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ times: { cancelWaitMs: 20 } }));
  agent = await calls.known();
});
afterAll(() => api?.close());
beforeEach(() => calls.clear());

const write = 'delete from t where id = 1';
const gone = [410, 'execution.gone'];
const conflict = [409, 'request.conflict'];

interface Run {
  id: string;
  executionId: string;
}

async function started(detail = write, by: Agent = agent): Promise<Run> {
  const id = await calls.dispatched(detail);
  return { id, executionId: await by.run(id) };
}

/** The lease of its running execution ends without a result. */
const lose = (id: string) => calls.fireClock(id, 'lease');

/** Lost once, resumed, claimed again: its first execution has an older fence. */
async function ranTwice(detail = write): Promise<Run & { older: string }> {
  const { id, executionId: older } = await started(detail);
  await lose(id);
  expect((await calls.resume(id)).status).toBe(200);
  return { id, older, executionId: await agent.run(id) };
}

const leaseOf = async (executionId: string) => {
  const [row] = await calls.sql<{ lease: number; heard: number; lost: boolean; unresolved: boolean }>(
    `select lease_expires_at as lease, lease_expires_at - lease_secs * interval '1 second' as heard, lost, unresolved from executions where id = $1`,
    [executionId],
  );
  return row!;
};

describe('a heartbeat (section 5)', () => {
  it('of an unknown execution is 404, of another agent 403', async () => {
    const { id, executionId } = await started();
    for (const unknown of [randomUUID(), 'x', id])
      expect(coded(await agent.heartbeat(unknown))).toEqual([404, 'execution.not_found']);
    expect(coded(await (await calls.known()).heartbeat(executionId))).toEqual([403, 'auth.forbidden']);
  });

  it('of an older fence is 410, also while the newer dispatch waits', async () => {
    const { id, executionId } = await started();
    await lose(id);
    await calls.resume(id);
    expect(coded(await agent.heartbeat(executionId))).toEqual(gone);
    const newer = await agent.run(id);
    expect(coded(await agent.heartbeat(executionId))).toEqual(gone);
    expect((await agent.heartbeat(newer)).status).toBe(200);
  });

  it('of an execution that is over, or whose lease is, is 409', async () => {
    const { executionId } = await started();
    await agent.submit(executionId, { success: true });
    const late = await started();
    await calls.sql(`update executions set lease_expires_at = clock_timestamp() - interval '1 ms' where id = $1`, [
      late.executionId,
    ]);
    for (const id of [executionId, late.executionId])
      expect(coded(await agent.heartbeat(id))).toEqual([409, 'execution.conflict']);
    expect(await calls.statusOf(late.id)).toBe('running');
    expect((await agent.submit(late.executionId, { success: true })).body.status).toBe('executed');
  });

  it('extends the lease to a whole one from now and never shortens it (AG-40)', async () => {
    const { executionId } = await started();
    const set = (text: string) =>
      calls.sql(`update executions set lease_expires_at = clock_timestamp() + $2::interval where id = $1`, [executionId, text]);
    await set('5 seconds');
    const short = (await leaseOf(executionId)).lease;
    const answer = await agent.heartbeat(executionId);
    expect(answer.body).toEqual({ cancelled: false, lease_expires_at: expect.any(String) });
    const extended = await leaseOf(executionId);
    expect(new Date(extended.lease).toISOString()).toBe(answer.body.lease_expires_at);
    expect(extended.lease - short).toBeGreaterThan(50_000);
    await set('1 hour');
    const long = (await leaseOf(executionId)).lease;
    expect(Date.parse((await agent.heartbeat(executionId)).body.lease_expires_at)).toBe(long);
  });

  it('tells of a cancel from the next one on, and extends the lease all the same (AG-61, AG-62)', async () => {
    const { id, executionId } = await started();
    expect((await agent.heartbeat(executionId)).body.cancelled).toBe(false);
    for (let time = 0; time < 2; time += 1) {
      expect((await calls.cancel(id)).body).toEqual({ id, status: 'running', cancel_requested: true });
      expect((await agent.heartbeat(executionId)).body.cancelled).toBe(true);
    }
    expect((await leaseOf(executionId)).lease).toBeGreaterThan(Date.now() + 30_000);
    expect((await agent.submit(executionId, { success: false, outcome: 'rolled_back' })).body.status).toBe('cancelled');
  });

  it('needs no body and takes any (AG-02)', async () => {
    const { executionId } = await started();
    expect((await agent.post(`jobs/${executionId}/heartbeat`, { extra: [] })).status).toBe(200);
  });
});

describe('the end of a lease (AG-51, AG-52, AG-I8)', () => {
  const sweep = () => createSweeper({ database: api.services.database, onMoved: () => {} }).once();
  const clock = (id: string) => createStep({ database: api.services.database }).step(id, 'lease');
  const endLease = (id: string, by = 'clock_timestamp()') =>
    calls.sql(`update executions set lease_expires_at = ${by} where request_id = $1 and status = 'running'`, [id]);

  it('is not before its instant, whoever looks', async () => {
    const { id } = await started();
    await endLease(id, `clock_timestamp() + interval '30 seconds'`);
    await Promise.all([sweep(), clock(id)]);
    expect(await calls.statusOf(id)).toBe('running');
  });

  it('is noted once by sweepers and clocks at once, and shown with its reason', async () => {
    const { id, executionId } = await started();
    await endLease(id);
    await Promise.all([clock(id), clock(id), sweep(), sweep()]);
    await sweep();
    const reason = `lost: no heartbeat since ${new Date((await leaseOf(executionId)).heard).toISOString()}`;
    expect((await calls.show(calls.requester, id)).body).toMatchObject({ status: 'execution_lost', lost_reason: reason });
    expect(await calls.runsOf(id)).toMatchObject([{ status: 'failed', error_message: reason, outcome: null }]);
    expect(await calls.events(id, 'execution.lost')).toMatchObject([
      { actor_type: 'system', outcome: 'failure', metadata: { fence: 1, cause: 'lease_end' } },
    ]);
  });

  it('and a heartbeat at once: either the run goes on or it is lost, never both', async () => {
    for (let round = 0; round < 6; round += 1) {
      const { id, executionId } = await started();
      await endLease(id, `clock_timestamp() + interval '2 milliseconds'`);
      const [beat] = await Promise.all([agent.heartbeat(executionId), sweep(), sweep()]);
      await sweep();
      expect([beat.status, await calls.statusOf(id)]).toEqual(beat.status === 200 ? [200, 'running'] : [409, 'execution_lost']);
    }
  });

  it('and a result at once: the result decides in the end, with at most one loss before', async () => {
    for (let round = 0; round < 4; round += 1) {
      const { id, executionId } = await started();
      await endLease(id);
      const [result] = await Promise.all([agent.submit(executionId, { success: true }), sweep(), clock(id)]);
      expect([result.status, await calls.statusOf(id)]).toEqual([200, 'executed']);
      expect(await calls.events(id, 'execution.completed')).toHaveLength(1);
      expect((await calls.events(id, 'execution.lost')).length).toBeLessThanOrEqual(1);
    }
  });

  it('cancels a read whose cancel was asked for, and loses a write (AG-52)', async () => {
    for (const [detail, status, events] of [
      ['select 1', 'cancelled', ['execution.lost', 'request.cancelled']],
      [write, 'execution_lost', ['execution.lost']],
    ] as const) {
      const { id } = await started(detail);
      await calls.cancel(id);
      await lose(id);
      expect(await calls.statusOf(id)).toBe(status);
      expect((await calls.eventTypes(id)).slice(-events.length)).toEqual(events);
    }
  });

  it('leaves the result of the newest fence welcome, and a further cancel possible (AG-45, AG-64)', async () => {
    const { id, executionId } = await started();
    await lose(id);
    expect((await calls.cancel(id)).body.status).toBe('cancelled');
    expect((await agent.submit(executionId, { success: true, rows_affected: 1 })).body.status).toBe('executed');
    expect((await agent.submit(executionId, { success: true, rows_affected: 1 })).status).toBe(200);
    expect((await calls.content(calls.requester, id)).body).toMatchObject({ success: true, rows_affected: 1 });
  });

  it('starts nothing again by itself (AG-53)', async () => {
    const { id } = await started();
    await lose(id);
    expect(await agent.offered()).toEqual([]);
    expect(coded(await agent.claim(id))).toEqual(conflict);
  });
});

describe('a result of an older fence (AG-44)', () => {
  it.each([
    ['rolled_back', []],
    ['not_started', []],
    ['committed', [1]],
    ['partial', [1]],
    ['unknown', [1]],
  ])(
    'with %s is 410, is kept on its execution with an event, and leaves the fences %j unresolved',
    async (outcome, unresolved) => {
      const { id, older, executionId } = await ranTwice();
      const row = () => calls.sql('select status, version, fence, claimed_by from requests where id = $1', [id]);
      const before = await row();
      const body = { success: outcome === 'committed', outcome, fence: 1 };
      expect(coded(await agent.submit(older, body))).toEqual(gone);
      expect(await row()).toEqual(before);
      expect(await calls.events(id, 'execution.late_result')).toMatchObject([
        { outcome: 'info', metadata: { fence: 1, outcome } },
      ]);
      expect(await calls.runsOf(id)).toMatchObject([
        { id: executionId, status: 'running', outcome: null },
        { id: older, status: 'failed', outcome },
      ]);
      expect(await unresolvedOf(id)).toEqual(unresolved);
      await agent.submit(older, body);
      expect(coded(await agent.submit(older, { success: true, rows_affected: 5 }))).toEqual(gone);
      expect(await calls.events(id, 'execution.late_result')).toHaveLength(1);
      expect((await agent.submit(executionId, { success: true, fence: 2 })).body.status).toBe('executed');
    },
  );

  it('is noted once when it comes several times at once, before and after the newer claim', async () => {
    const body = { success: false, outcome: 'rolled_back' };
    const claimed = await ranTwice();
    const waits = await started();
    await lose(waits.id);
    await calls.resume(waits.id);
    for (const [id, executionId] of [
      [claimed.id, claimed.older],
      [waits.id, waits.executionId],
    ] as const) {
      const all = await whileLocked(id, 4, () => agent.submit(executionId, body));
      expect(all.map(({ status }) => status)).toContain(410);
      expect(await calls.events(id, 'execution.late_result')).toHaveLength(1);
    }
    expect(await calls.statusOf(waits.id)).toBe('dispatched');
  });

  it('with the fence of the newest is 400, and its data is nowhere to be read', async () => {
    const { id, older, executionId } = await ranTwice('select 1');
    expect((await agent.submit(older, { success: true, fence: 2 })).status).toBe(400);
    expect(coded(await agent.submit(older, { success: true, result_data: '"old"' }))).toEqual(gone);
    await agent.submit(executionId, { success: true, result_data: '"new"' });
    expect((await calls.content(calls.requester, id)).body.result_data).toBe('new');
    expect((await calls.content(calls.requester, id, `?execution_id=${older}`)).text).not.toContain('old');
  });

  it('that is too large is 410 too: the fence comes before the size (AG-42)', async () => {
    const { id, older } = await ranTwice();
    expect(coded(await agent.submit(older, { success: true, result_data: JSON.stringify('x'.repeat(20_000)) }))).toEqual(gone);
    expect(await calls.statusOf(id)).toBe('running');
  });
});

/** Makes calls that all have to wait for the request's row, and lets them go when each has come that far. */
async function whileLocked<T>(id: string, count: number, call: () => Promise<T>): Promise<T[]> {
  const { database } = api.services;
  const under = await database.transaction(async (tx) => {
    await tx.query('select 1 from requests where id = $1 for update', [id]);
    const waiting = Array.from({ length: count }, call);
    await expect.poll(async () => (await database.query(lockWaits)).length).toBe(count);
    return { waiting };
  });
  return Promise.all(under.waiting);
}

const unresolvedOf = async (id: string) =>
  (
    await calls.sql<{ fence: number }>('select fence from executions where request_id = $1 and unresolved order by fence', [id])
  ).map(({ fence }) => fence);

describe('attempts whose outcome nobody knows (AG-56 to AG-60)', () => {
  const unknown = { success: false, outcome: 'unknown', error_message: 'connection lost in commit' };
  const blind: [string, Body][] = [
    ['without fence', pollBody({}, { features: [] })],
    ['without marker', pollBody({}, { scopes: [scope('shop', 'staging', false)] })],
    ['basic', basicBody],
  ];

  it.each<[string, (run: Run, by: Agent) => Promise<unknown>]>([
    ['lost', ({ id }) => lose(id)],
    ['reported unknown', ({ executionId }, by) => by.submit(executionId, unknown)],
  ])('a write %s under a marker may be resumed, and goes only to agents that look for markers', async (_, end) => {
    const run = await started();
    await end(run, agent);
    expect((await calls.resume(run.id)).status).toBe(200);
    for (const [, body] of blind) {
      const other = await calls.known(body);
      expect(await other.offered(body)).toEqual([]);
      expect(coded(await other.claim(run.id))).toEqual(conflict);
    }
    expect(await agent.offered()).toEqual([run.id]);
    const { body } = await agent.claim(run.id);
    expect(body).toMatchObject({ fence: 2, unresolved_fences: [1], marker: 'required' });
    expect(JSON.parse(body.execution_token)).toMatchObject({ fence: 2, unresolved_fences: '1', marker: 'required' });
    const [attempt] = await calls.sql<{ at: Date }>(
      'select created_at as at from executions where request_id = $1 and fence = 1',
      [run.id],
    );
    expect(body.unresolved_executions).toMatchObject([{ fence: 1, claimed_at: new Date(attempt!.at).toISOString() }]);
    const found = { success: true, outcome: 'already_applied', applied_fence: 1, fence: 2 };
    expect((await agent.submit(body.execution_id, found)).body.status).toBe('executed');
    expect(await unresolvedOf(run.id)).toEqual([]);
    expect(await calls.runsOf(run.id)).toMatchObject([{ fence: 2, outcome: 'already_applied', applied_fence: 1 }, { fence: 1 }]);
  });

  it('several are named to the next claim in order, and one success settles them all', async () => {
    const { id } = await started();
    await lose(id);
    for (const fence of [2, 3]) {
      await calls.resume(id);
      const { body } = await agent.claim(id);
      expect(body.unresolved_fences).toEqual(fence === 2 ? [1] : [1, 2]);
      if (fence === 2) await agent.submit(body.execution_id, unknown);
      else await agent.submit(body.execution_id, { success: true });
    }
    expect(await unresolvedOf(id)).toEqual([]);
  });

  it('a run that began under markers and rolled back proves that no earlier one is applied', async () => {
    const { id } = await started();
    await lose(id);
    await calls.resume(id);
    await agent.submit(await agent.run(id), { success: false, outcome: 'rolled_back' });
    expect(await unresolvedOf(id)).toEqual([]);
    expect((await calls.resume(id)).status).toBe(200);
    expect((await agent.claim(id)).body.unresolved_fences).toEqual([]);
  });

  it.each(blind)('a write lost by an agent %s can never be proven: no resume (AG-58)', async (_, body) => {
    const other = await calls.known(body);
    const { id, executionId } = await started(write, other);
    await lose(id);
    const answer = await calls.resume(id);
    expect(coded(answer)).toEqual(conflict);
    expect(answer.body.hint).toBe('the outcome of attempt 1 cannot be proven; check the database and create a new request');
    expect((await other.submit(executionId, { success: false, outcome: 'rolled_back' })).body.status).toBe('failed');
    expect((await calls.resume(id)).status).toBe(200);
  });

  it('a write that ended partial is not run again either (AG-58, C14)', async () => {
    const { id, executionId } = await started();
    await agent.submit(executionId, { success: false, outcome: 'partial' });
    const answer = await calls.resume(id);
    expect([...coded(answer), answer.body.hint]).toEqual([...conflict, expect.stringContaining('attempt 1')]);
  });

  it('a write of which a lost attempt reports a part after the next dispatch is not begun again, nor resumed (AG-44, C14)', async () => {
    const { id, executionId } = await started();
    await lose(id);
    expect((await calls.resume(id)).status).toBe(200);
    expect(coded(await agent.submit(executionId, { success: false, outcome: 'partial' }))).toEqual(gone);
    expect(coded(await agent.claim(id))).toEqual(conflict);
    await calls.fireClock(id, 'dispatch');
    expect((await calls.resume(id)).body.hint).toContain('attempt 1');
  });

  it('a lost read may always be resumed, goes to any agent and names no fences', async () => {
    const basic = await calls.known(basicBody);
    const { id } = await started('select 1', basic);
    await lose(id);
    expect((await calls.resume(id)).status).toBe(200);
    expect(await basic.offered(basicBody)).toEqual([id]);
    expect((await basic.claim(id)).body).toMatchObject({ fence: 2, unresolved_fences: [], marker: 'none' });
  });
});

it('a basic agent, without fence, wait or claim id, runs a job from poll to result as the protocol began (AG-60)', async () => {
  const basic = await calls.newAgent();
  for (const [detail, result] of [
    ['select 1', { success: true, result_data: '{"rows":[[1]]}', rows_affected: 1, duration_ms: 2 }],
    [write, { success: true, rows_affected: 1 }],
    [write, { success: false, error_message: 'no' }],
  ] as const) {
    const id = await calls.dispatched(detail);
    const [job] = (await basic.poll(basicBody)).body.jobs;
    expect(job).toMatchObject({ id, detail, fence: 1 });
    const { body } = await basic.claim(job.id);
    expect(body).toMatchObject({ request_id: id, detail, marker: 'none', unresolved_fences: [] });
    expect((await basic.heartbeat(body.execution_id)).body.cancelled).toBe(false);
    const status = result.success ? 'executed' : 'failed';
    expect((await basic.submit(body.execution_id, result)).body).toEqual({ request_id: id, status });
    expect(await calls.statusOf(id)).toBe(status);
  }
});

it('any accepted result survives: it is committed before its answer (AG-I5)', async () => {
  const { id, executionId } = await started('select 1');
  await agent.submit(executionId, { success: true, result_data: '[1]' });
  const other = await api.another();
  try {
    const shown = await other.call('GET', `/api/requests/${id}/result/content`, { token: calls.requester });
    expect(shown.body).toMatchObject({ execution_id: executionId, result_data: [1] });
  } finally {
    await other.close();
  }
});
