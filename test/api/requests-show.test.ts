import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { startCallsOnTwo } from './calls-api.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { reach } from './reach-status.js';
import { untilWaiting } from './until-waiting.js';

let api: TestApi;
let other: TestApi;
let calls: GatewayCalls;
let elsewhere: GatewayCalls;
let close: () => Promise<void>;
let alice: string;
let bob: string;
let frank: string;
beforeAll(async () => {
  const people = {
    alice: { roles: ['requester'] },
    bob: { roles: ['requester'], groups: ['dba-team'] },
    frank: { roles: ['shop-operator'] },
  };
  ({
    api,
    calls,
    other,
    elsewhere,
    close,
    tokens: { alice, bob, frank },
  } = await startCallsOnTwo(people, ['shop/production', 'shop/staging']));
});
afterAll(() => close?.());

const keys =
  `id requester database environment operation detail status queue_hint related emergency no_result_store require_approval max_affected_rows search_path reason share_with metadata
  idempotency_key created_at updated_at expires_at approved_at dispatch_by fence resumable resolved_at claimed_by cancel_requested_at cancelled_by cancel_reason
  lost_reason approval_digest approval_progress migrations context decision_trace`.split(/\s+/);

describe('what show answers (section 5)', () => {
  it.each(Object.keys(reach))('has exactly the keys of the table while %s, with and without wait (RQ-40)', async (status) => {
    const id = await reach[status]!(calls, { owner: alice, approver: bob });
    for (const query of ['', '?wait=0']) {
      const { body } = await calls.show(alice, id, query);
      expect([body.status, Object.keys(body).sort()]).toEqual([status, [...keys].sort()]);
      expect(body.claimed_by === null).toBe(status !== 'running');
      expect(body.resolved_at === null).toBe(status === 'pending');
    }
  });

  it('answers a final status at once although wait was asked for', async () => {
    for (const status of ['executed', 'failed', 'rejected', 'cancelled', 'expired', 'execution_lost']) {
      const id = await reach[status]!(calls, { owner: alice, approver: bob });
      const first = (await calls.show(alice, id)).body;
      expect((await calls.show(alice, id, '?wait=120')).body).toEqual(first);
    }
  });

  it('tells the idempotency key to nobody but the owner', async () => {
    const id = await calls.created(alice, { idempotency_key: 'mine', share_with: ['group:readers'] });
    expect((await calls.show(alice, id)).body.idempotency_key).toBe('mine');
    for (const token of [bob, api.tokens.admin]) expect((await calls.show(token, id)).body.idempotency_key).toBeNull();
  });

  it('tells the progress of the steps with comments in time order (RQ-41)', async () => {
    const carla = await api.createUser('carla', { groups: ['leads'] });
    const id = await calls.created(alice, { environment: 'qa', reason: 'r', share_with: ['bob'] });
    await calls.act(carla, id, 'approve', { comment: 'fine' });
    await calls.act(bob, id, 'approve', { comment: '  ' });
    await calls.act(frank, id, 'reject', { comment: 'stop' });
    const { approval_progress: progress, decision_trace: trace } = (await calls.show(alice, id)).body;
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(progress).toEqual({
      current_step: 1,
      total_steps: 2,
      steps: [
        {
          index: 0,
          mode: 'all',
          satisfied: true,
          approvers_required: [
            { selector: 'group:dba-team', min: 1, current: 1 },
            { selector: 'group:leads', min: 1, current: 1 },
          ],
          approvals: [
            { user: 'carla', action: 'approve', selector: 'group:leads', at, comment: 'fine' },
            { user: 'bob', action: 'approve', selector: 'group:dba-team', at, comment: null },
          ],
        },
        {
          index: 1,
          mode: 'any',
          satisfied: false,
          approvers_required: [
            { selector: 'role:shop-operator', min: 1, current: 0 },
            { selector: 'user:erin', min: 1, current: 0 },
          ],
          approvals: [{ user: 'frank', action: 'reject', selector: 'role:shop-operator', at, comment: 'stop' }],
        },
      ],
    });
    expect(trace).toMatchObject({
      version: 1,
      classification: { resolved_operation: 'execute_select' },
      sql_review: { revision: null, digest: expect.stringMatching(/^[0-9a-f]{12}$/) },
      workflow: {
        matched: {
          database: 'shop',
          environment: 'qa',
          step_count: 2,
          revision: 'r1',
          digest: expect.stringMatching(/^[0-9a-f]{12}$/),
        },
      },
      decision: { outcome: 'needs_approval', reasons: ['no_auto_approve_rule'], auto_approve_threshold: null },
    });
  });

  it('says why a dispatched request waits (AG-78)', async () => {
    await calls.poll(['shop/production', 'shop/staging']);
    const unserved = await calls.created(alice, { database: 'ledger', environment: 'staging' });
    expect((await calls.show(alice, unserved)).body.queue_hint).toBe('no_agents');
    const served = await calls.created(alice, { environment: 'staging' });
    expect((await calls.show(alice, served)).body.queue_hint).toBeNull();
    await calls.sql('update agents set draining = true');
    expect((await calls.show(alice, served)).body.queue_hint).toBe('agents_draining');
    await calls.sql('update agents set draining = false, in_flight = max_concurrent');
    expect((await calls.show(alice, served)).body.queue_hint).toBe('agents_saturated');
    await calls.sql(`update agents set last_seen_at = clock_timestamp() - interval '61 seconds'`);
    expect((await calls.show(alice, served)).body.queue_hint).toBe('no_agents');
    await calls.poll(['shop/production', 'shop/staging']);
    expect((await calls.show(alice, served)).body.queue_hint).toBeNull();
  });

  it.each(['', '/executions', '/workflow', '/result/stream', '/result/content'])(
    'answers 404 to unknown ids and to texts that are no ids on %s',
    async (path) => {
      for (const id of [
        '4f0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11',
        'not-a-uuid',
        '4F0C9D0E-6A53-4C0B-9D4A-0F6B7C1F2A11',
        '%F0%9F%9A%AB',
      ]) {
        const answer = await api.call('GET', `/api/requests/${id}${path}`, { token: api.tokens.admin });
        expect([answer.status, answer.body.code, answer.body.error]).toEqual([404, 'request.not_found', 'request not found']);
      }
    },
  );
});

/** Every wait is longer than a test may take: what ends it is what the test does. */
describe('waiting for a status (long poll of section 8)', () => {
  it('is woken by a move on another process (HT-100)', async () => {
    const id = await calls.created(alice);
    const { answer } = await untilWaiting(api, () => calls.show(alice, id, '?wait=120'));
    await elsewhere.act(bob, id, 'approve');
    expect((await answer).body).toMatchObject({ status: 'approved' });
  });

  it('is woken by a move whose sender never notified (HT-102)', async () => {
    const id = await calls.created(alice);
    const { answer } = await untilWaiting(api, () => calls.show(alice, id, '?wait=120'));
    await calls.sql(
      `update requests set status = 'cancelled', resolved_at = clock_timestamp(), updated_at = clock_timestamp(), version = version + 1 where id = $1`,
      [id],
    );
    expect((await answer).body).toMatchObject({ status: 'cancelled' });
  });

  it('answers at once when the status is not the one that the caller saw last', async () => {
    const id = await calls.created(alice);
    await elsewhere.act(bob, id, 'approve');
    expect((await calls.show(alice, id, '?wait=120&seen=pending')).body).toMatchObject({ status: 'approved' });
    const { answer } = await untilWaiting(api, () => calls.show(alice, id, '?wait=120&seen=approved'));
    await elsewhere.act(alice, id, 'cancel');
    expect((await answer).body).toMatchObject({ status: 'cancelled' });
    expect((await calls.show(alice, id, '?wait=120&seen=approvd')).body).toMatchObject({
      error: expect.stringContaining('did you mean approved?'),
      hint: 'query.seen',
    });
  });

  it('answers the current state when the time is up', async () => {
    const id = await calls.created(alice);
    const answer = await calls.show(alice, id, '?wait=1');
    expect([answer.status, answer.body.status]).toEqual([200, 'pending']);
  });

  it.each(['revoked', 'suspended'])(
    'answers 401 at once when its token is %s during the wait, on any server (IM-72)',
    async (how) => {
      const admin = api.tokens.admin;
      for (const server of [api, other]) {
        const name = `${how}-${server === api ? 'here' : 'there'}`;
        const token = await api.createUser(name, { roles: ['shop-operator'] });
        const id = await calls.created(alice);
        const { answer } = await untilWaiting(server, () => server.call('GET', `/api/requests/${id}?wait=120`, { token }));
        const [found] = await calls.sql<{ id: string }>(`select id from tokens where subject_id = '${name}'`);
        const ended =
          how === 'revoked'
            ? await api.call('DELETE', `/api/tokens/${found!.id}`, { token: admin })
            : await api.call('POST', `/api/users/${name}/suspend`, { token: admin, body: { reason: 'left' } });
        expect(ended.status).toBe(200);
        expect(await answer).toMatchObject({ status: 401, body: { code: 'auth.invalid_token' } });
      }
    },
  );

  it.each(['abc', '-1', '', '1.5', '1&wait=2'])('refuses wait=%s', async (wait) => {
    const id = await calls.created(alice);
    const answer = await calls.show(alice, id, `?wait=${wait}`);
    expect([answer.status, answer.body.hint]).toEqual([400, 'query.wait']);
  });

  it('does not end for an approval that leaves the status', async () => {
    const id = await calls.created(alice, { environment: 'qa', reason: 'r' });
    const { answer } = await untilWaiting(api, () => calls.show(alice, id, '?wait=120'));
    await elsewhere.act(bob, id, 'approve');
    await elsewhere.act(alice, id, 'reject');
    const { body } = await answer;
    expect([body.status, body.approval_progress.steps[0].approvals.length]).toEqual(['rejected', 2]);
  });

  it('checks the token again before it answers (HT-103)', async () => {
    const temporary = await api.createUser('temporary', { roles: ['requester'] });
    const id = await calls.created(temporary);
    const { answer } = await untilWaiting(api, () => calls.show(temporary, id, '?wait=120'));
    await calls.sql(`update tokens set revoked_at = clock_timestamp() where subject_id = 'temporary'`);
    await elsewhere.act(bob, id, 'approve');
    const { status, body } = await answer;
    expect([status, body.code]).toEqual([401, 'auth.invalid_token']);
  });

  it('checks the relation again before it answers (HT-103): an approver of an ended step gets 403', async () => {
    const id = await calls.created(alice);
    const { answer } = await untilWaiting(api, () => calls.show(bob, id, '?wait=120'));
    await elsewhere.act(alice, id, 'cancel');
    expect((await answer).body).toEqual({ error: 'forbidden', code: 'auth.forbidden', hint: expect.any(String) });
  });

  it('opens no database connection for 200 waiters (HT-101, HT-I8)', async () => {
    const id = await calls.created(alice);
    const connections = async () =>
      (
        await calls.sql<{ count: number }>('select count(*) as count from pg_stat_activity where datname = current_database()')
      )[0]!.count;
    const waiters = Array.from({ length: 200 }, () => calls.show(alice, id, '?wait=120'));
    const free = await calls.list(alice, '?limit=1');
    expect(free.status).toBe(200);
    expect(await connections()).toBeLessThanOrEqual(2 * (10 + 2) + 2);
    await elsewhere.act(bob, id, 'approve');
    const statuses = (await Promise.all(waiters)).map(({ body }) => body.status);
    expect(new Set(statuses)).toEqual(new Set(['approved']));
  });

  it('ends for a client that goes away and writes nothing (HT-104)', async () => {
    const id = await calls.created(alice);
    const gone = new AbortController();
    const { answer } = await untilWaiting(api, () =>
      calls.show(alice, id, '?wait=60', gone.signal).catch((error: Error) => error.name),
    );
    const before = await calls.sql('select * from requests where id = $1', [id]);
    gone.abort();
    expect(await answer).toBe('AbortError');
    expect(await calls.sql('select * from requests where id = $1', [id])).toEqual(before);
  });

  it('ends with the current state when its process drains (HT-105)', async () => {
    const third = await api.another();
    const id = await calls.created(alice);
    const { answer } = await untilWaiting(third, () => gatewayCalls(third).show(alice, id, '?wait=60'));
    await third.close();
    const { status, body } = await answer;
    expect([status, body.status]).toEqual([200, 'pending']);
  });
});

describe('executions of a request', () => {
  it('are listed newest first with what their agents reported', async () => {
    const id = await calls.created(alice, { environment: 'staging', detail: 'update t set a = 1 where id = 1' });
    const runs: string[] = [];
    for (const [index, result] of [
      { success: false, error_message: '40001: conflict', duration_ms: 7, outcome: 'rolled_back' },
      { success: true, rows_affected: 1, duration_ms: 9, result_data: '{"rows_affected":1}' },
    ].entries()) {
      if (index > 0) expect((await calls.act(alice, id, 'resume')).status).toBe(200);
      const { executionId } = await calls.claimed(id);
      runs.unshift(executionId);
      await calls.submit(executionId, result);
    }
    const { executions } = (await calls.executions(alice, id)).body;
    expect(executions.map((run: { id: string }) => run.id)).toEqual(runs);
    const common = {
      agent_id: expect.any(String),
      applied_fence: null,
      created_at: expect.any(String),
      finished_at: expect.any(String),
    };
    expect(executions).toEqual([
      {
        ...common,
        id: runs[0],
        status: 'completed',
        fence: 2,
        started_at: executions[0].created_at,
        error_message: null,
        rows_affected: 1,
        duration_ms: 9,
        outcome: 'committed',
        has_stored_result: true,
      },
      {
        ...common,
        id: runs[1],
        status: 'failed',
        fence: 1,
        started_at: executions[1].created_at,
        error_message: '40001: conflict',
        rows_affected: null,
        duration_ms: 7,
        outcome: 'rolled_back',
        has_stored_result: true,
      },
    ]);
    expect((await calls.executions(alice, id, '?limit=1')).body.executions).toHaveLength(1);
    expect((await calls.executions(alice, id, '?limit=0')).body.executions).toEqual([]);
    expect((await calls.executions(alice, id, '?limit=-1')).body.hint).toBe('query.limit');
  });

  it('show a running one without an end and a lost one as failed', async () => {
    const id = await calls.created(alice, { environment: 'staging' });
    expect((await calls.executions(alice, id)).body.executions).toEqual([]);
    await calls.claimed(id);
    const [running] = (await calls.executions(alice, id)).body.executions;
    expect(running).toMatchObject({ finished_at: null, outcome: null, error_message: null, has_stored_result: false });
    expect(['claimed', 'running']).toContain(running.status);
    await calls.fireClock(id, 'lease');
    const [lost] = (await calls.executions(alice, id)).body.executions;
    expect(lost).toMatchObject({
      status: 'failed',
      error_message: expect.stringMatching(/^lost: no heartbeat since /),
      outcome: null,
    });
  });

  it('open to those who may show the request, and to nobody else', async () => {
    const { id } = await calls.run(alice, {}, { success: true });
    expect((await calls.executions(frank, id)).status).toBe(200);
    expect((await calls.executions(bob, id)).body).toEqual({
      error: 'forbidden',
      code: 'auth.forbidden',
      hint: expect.any(String),
    });
  });
});
