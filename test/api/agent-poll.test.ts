import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { type AgentCalls, agentToml, type Body, basicBody, coded, idsOf, pollBody, scope, startAgentApi } from './agent-calls.js';

let api: TestApi;
let calls: AgentCalls;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi());
});
afterAll(() => api?.close());
beforeEach(() => calls.clear());

const waiting = async () =>
  (await api.services.metrics.longPolls.get()).values.find(({ labels }) => labels.kind === 'agent')?.value ?? 0;
const recordOf = async (id: string) => (await calls.sql<Body>('select * from agents where id = $1', [id]))[0]!;

describe('who may poll (AG-06 to AG-08)', () => {
  it('agents only, and nothing else of theirs', async () => {
    const agent = await calls.newAgent();
    const paths = ['poll', `jobs/${randomUUID()}/claim`, `jobs/${randomUUID()}/heartbeat`, `jobs/${randomUUID()}/result`];
    for (const path of paths) {
      expect(coded(await api.call('POST', `/api/agent/${path}`, { body: {} }))).toEqual([401, 'auth.missing_token']);
      const byUser = await api.call('POST', `/api/agent/${path}`, { token: calls.requester, body: {} });
      expect([byUser.status, byUser.body.error]).toEqual([403, 'agent token required']);
    }
    for (const path of ['/api/requests', '/api/agents', '/api/me', '/api/nowhere']) {
      const answer = await api.call('GET', path, { token: agent.token });
      expect([path, answer.status, answer.body.error]).toEqual([path, 403, 'agent tokens cannot access this endpoint']);
    }
  });
});

describe('the body of a poll (section 3, section 15)', () => {
  const withScopes = (...scopes: unknown[]) => ({ capabilities: { scopes } });
  it.each<[string, unknown]>([
    ['no capabilities', {}],
    ['capabilities null', { capabilities: null }],
    ['no scopes', { capabilities: {} }],
    ['a scope without environment', withScopes({ database: 'shop' })],
    ['* as environment', withScopes(scope('shop', '*'))],
    ['* as database', withScopes(scope('*', 'staging'))],
    ...['', 'Shop', '1shop', 'a b', '_a', 'a.b', 'a'.repeat(64)].map((name): [string, unknown] => [
      `the name "${name}"`,
      withScopes(scope(name, 'staging')),
    ]),
    ['a marker that is no boolean', withScopes({ ...scope('shop', 'staging'), marker: 1 })],
    ['operations that are no strings', pollBody({}, { operations: [1] })],
    ...['limit', 'explain_limit', 'wait_ms'].flatMap((key) =>
      [-1, 1.5, 'x', true].map((value): [string, unknown] => [`${key} ${value}`, pollBody({ [key]: value })]),
    ),
    ['a status without in_flight', pollBody({ status: { max_concurrent: 3 } })],
    ['a status without max_concurrent', pollBody({ status: { in_flight: 0 } })],
    ['a negative in_flight', pollBody({ status: { in_flight: -1, max_concurrent: 3 } })],
    ['an in_flight no counter holds', pollBody({ status: { in_flight: 2 ** 32, max_concurrent: 3 } })],
    ['a version that is no text', pollBody({ agent_version: 1 })],
  ])('is 400 with %s', async (_, body) => {
    const agent = await calls.newAgent();
    const answer = await agent.poll(body as Body);
    expect(coded(answer)).toEqual([400, 'validation.failed']);
    expect(answer.body.hint).toMatch(/^body/);
    expect(await calls.sql('select 1 from agents where id = $1', [agent.id])).toEqual([]);
  });

  it('is 400, 415 or 413 when it is no JSON, of another type or above 2 MiB', async () => {
    const { token } = await calls.newAgent();
    const send = async (raw: string, type = 'application/json') =>
      coded(await api.call('POST', '/api/agent/poll', { token, raw, headers: { 'content-type': type } }));
    expect(await send('{')).toEqual([400, 'validation.failed']);
    expect(await send('[]')).toEqual([400, 'validation.failed']);
    expect(await send('{}', 'text/plain')).toEqual([415, 'validation.unsupported_media_type']);
    expect(await send(JSON.stringify(pollBody({ pad: 'x'.repeat(2 ** 21) })))).toEqual([413, 'payload.too_large']);
  });

  it('may hold unknown keys, repeated scopes, unknown operations and longest names (AG-03, AG-15)', async () => {
    const agent = await calls.newAgent();
    const longest = `a${'9'.repeat(62)}`;
    const scopes = [scope('shop', 'staging'), scope('shop', 'staging'), scope(longest, 'a-b_c')];
    const answer = await agent.poll({ capabilities: { scopes, operations: ['fly'], extra: 1 }, agent_id: { any: 1 }, other: [] });
    expect([answer.status, answer.body.agent_id]).toEqual([200, agent.id]);
    expect((await recordOf(agent.id)).scopes).toEqual([scope('shop', 'staging'), scope(longest, 'a-b_c')]);
  });

  it('may leave out everything but its scopes, and those may be none', async () => {
    const agent = await calls.newAgent();
    const answer = await agent.poll({ capabilities: { scopes: [] }, status: null, agent_version: null, instance_id: null });
    expect([answer.status, answer.body.jobs]).toEqual([200, []]);
    expect(await recordOf(agent.id)).toMatchObject({ in_flight: 0, max_concurrent: 4, draining: false, operations: [] });
  });
});

describe('the record of an agent (AG-12 to AG-16)', () => {
  it('is made by the first poll with one event and replaced by each later one, also by one without jobs', async () => {
    const agent = await calls.newAgent();
    const instance = randomUUID();
    const status = { in_flight: 1, max_concurrent: 3, in_flight_preflight: 2, uptime_secs: 9, draining: false };
    const jobs = Array.from({ length: 120 }, () => ({ request_id: randomUUID(), operation: 'execute_dml', elapsed_secs: 4 }));
    await agent.poll(pollBody({ agent_version: '1.4.0', instance_id: instance, status: { ...status, active_jobs: jobs } }));
    expect(await recordOf(agent.id)).toMatchObject({
      ...status,
      agent_version: '1.4.0',
      instance_id: instance,
      features: ['fence'],
      active_jobs: jobs.slice(0, 100),
    });
    await agent.poll({ capabilities: { scopes: [scope('ledger', 'staging', false)], operations: ['query'] } });
    expect(await recordOf(agent.id)).toMatchObject({
      scopes: [scope('ledger', 'staging', false)],
      operations: ['execute_select'],
      features: [],
      agent_version: null,
      in_flight: 0,
      max_concurrent: 4,
      active_jobs: [],
    });
    const events = await calls.sql(
      `select actor_id, actor_type, outcome from audit_events where event_type = 'agent.registered' and resource_id = $1`,
      [agent.id],
    );
    expect(events).toEqual([{ actor_id: agent.id, actor_type: 'agent', outcome: 'success' }]);
  });

  it('tells of two instances for 60 s, and not of one that polls again (AG-13)', async () => {
    const agent = await calls.newAgent();
    const doubtful = async () =>
      (
        await calls.sql(`select 1 from agents where id = $1 and duplicate_until > clock_timestamp() + interval '50 seconds'`, [
          agent.id,
        ])
      ).length > 0;
    const [one, two] = [randomUUID(), randomUUID()];
    for (const instance of [one, one]) await agent.poll(pollBody({ instance_id: instance }));
    expect(await doubtful()).toBe(false);
    await agent.poll(pollBody({ instance_id: two }));
    expect(await doubtful()).toBe(true);
    await calls.sql(
      `update agents set duplicate_until = null, last_seen_at = last_seen_at - interval '61 seconds' where id = $1`,
      [agent.id],
    );
    await agent.poll(pollBody({ instance_id: one }));
    expect(await doubtful()).toBe(false);
  });

  it('counts a poll that waited as seen at its end too (AG-14)', async () => {
    const agent = await calls.newAgent();
    // Long enough for the update to come before its end.
    const poll = agent.poll(pollBody({ wait_ms: 5000 }));
    await expect.poll(waiting).toBe(1);
    await calls.sql(`update agents set last_seen_at = last_seen_at - interval '1 hour' where id = $1`, [agent.id]);
    expect(idsOf(await poll)).toEqual([]);
    const seen = `select 1 from agents where id = $1 and last_seen_at > clock_timestamp() - interval '1 minute'`;
    await expect.poll(async () => (await calls.sql(seen, [agent.id])).length).toBe(1);
  });

  it('explains in queue_hint why a dispatched request waits (AG-78)', async () => {
    const id = await calls.dispatched('select 1', { database: 'ledger' });
    await calls.sql('delete from agents');
    const hint = async () => (await calls.show(calls.requester, id)).body.queue_hint;
    const agent = await calls.newAgent();
    const at = (over: Body, capabilities: Body = {}) =>
      agent.poll(pollBody({ limit: 0, ...over }, { scopes: [scope('ledger', 'staging')], ...capabilities }));
    expect(await hint()).toBe('no_agents');
    await at({}, { operations: ['execute_dml'] });
    expect(await hint()).toBe('no_agents');
    await at({ status: { in_flight: 0, max_concurrent: 2, draining: true } });
    expect(await hint()).toBe('agents_draining');
    await at({ status: { in_flight: 2, max_concurrent: 2 } });
    expect(await hint()).toBe('agents_saturated');
    await at({ status: { in_flight: 1, max_concurrent: 2 } });
    expect(await hint()).toBeNull();
    await calls.sql(`update agents set last_seen_at = last_seen_at - interval '61 seconds'`);
    expect(await hint()).toBe('no_agents');
  });
});

describe('the jobs of a poll (AG-17 to AG-19)', () => {
  it('are whole, and the answer has every key (section 3)', async () => {
    const agent = await calls.newAgent();
    const id = await calls.dispatched('select  1 -- as it is');
    const { body, headers } = await agent.poll();
    expect(headers.get('x-svc-version')).toBe(body.server_version);
    expect(body).toEqual({
      jobs: [
        {
          id,
          created_by: 'rita',
          operation: 'execute_select',
          environment: 'staging',
          database: 'shop',
          detail: 'select  1 -- as it is',
          fence: 1,
        },
      ],
      dry_run_jobs: [
        {
          id: expect.any(String),
          request_id: id,
          database: 'shop',
          environment: 'staging',
          sql: expect.stringContaining('select  1'),
        },
      ],
      claims: [],
      preflight_jobs: [],
      cancelled: [],
      schema_sync: [],
      refused_scopes: [],
      server_version: expect.any(String),
      min_agent_version: '1.2.0',
      upgrade_required: false,
      agent_id: agent.id,
      server_time: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
    });
  });

  it('come oldest dispatch first, then by id, at most limit and at most 20; 10 without limit', async () => {
    const agent = await calls.newAgent();
    const ids = await Promise.all(Array.from({ length: 23 }, () => calls.dispatched()));
    const [last, ...same] = ids.toSorted();
    await calls.sql(`update requests set dispatched_at = '2031-01-01' where id = any($1)`, [same]);
    await calls.sql(`update requests set dispatched_at = '2031-01-02' where id = $1`, [last]);
    const oldest = ids.at(7)!;
    await calls.sql(`update requests set dispatched_at = '2030-01-01' where id = $1`, [oldest]);
    const order = [oldest, ...same.filter((id) => id !== oldest), last].filter((id, at, all) => all.indexOf(id) === at);
    for (const [limit, count] of [
      [undefined, 10],
      [1, 1],
      [20, 20],
      [21, 20],
      [4_000_000_000, 20],
      [0, 0],
    ] as const)
      expect(await agent.offered(pollBody(limit === undefined ? {} : { limit }))).toEqual(order.slice(0, count));
  });

  it('are offered to every matching agent until one claims, and to no agent of another scope (AG-18, AG-I10)', async () => {
    const [one, two] = [await calls.known(), await calls.known()];
    const id = await calls.dispatched();
    await calls.dispatched('select 1', { database: 'ledger' });
    for (const agent of [one, two, two]) expect(await agent.offered()).toEqual([id]);
    const elsewhere = [scope('shop', 'production'), scope('shop', 'nowhere'), scope('staging', 'shop')];
    expect(await two.offered(pollBody({}, { scopes: elsewhere }))).toEqual([]);
    expect(await one.claim(id).then(coded)).toEqual([200, undefined]);
    for (const agent of [one, two]) expect(await agent.offered()).toEqual([]);
  });

  it('are of the named operations and their aliases; unknown names alone match nothing', async () => {
    const agent = await calls.newAgent();
    const read = await calls.dispatched();
    const write = await calls.dispatched('delete from t where id = 1');
    const offered = (operations: string[]) => agent.offered(pollBody({}, { operations }));
    expect(await offered([])).toEqual([read, write]);
    expect(await offered(['execute_dml', 'fly'])).toEqual([write]);
    for (const name of ['execute_select', 'execute_query', 'execute', 'query']) expect(await offered([name])).toEqual([read]);
    expect(await offered(['fly'])).toEqual([]);
  });

  it('are none while the agent drains, must upgrade, or when nobody could claim them (AG-19, AG-26, AG-I9)', async () => {
    const agent = await calls.newAgent();
    const id = await calls.dispatched();
    const draining = { in_flight: 0, max_concurrent: 1, draining: true };
    expect(await agent.offered(pollBody({ status: draining, wait_ms: 30_000 }))).toEqual([]);
    await calls.sql(`update users set status = 'suspended' where id = 'rita'`);
    expect(await agent.offered()).toEqual([]);
    await calls.sql(`update users set status = 'active' where id = 'rita'`);
    await calls.sql(`update requests set dispatch_deadline = clock_timestamp() - interval '1 ms' where id = $1`, [id]);
    expect(await agent.offered()).toEqual([]);
  });

  it.each([
    ['1.1.9', true],
    ['1.2.0-rc.1', true],
    ['0.99.99', true],
    ['1.2.0', false],
    ['1.10.0', false],
    ['1.2.0+build', false],
    ['banana', false],
    ['1.1', false],
    [null, false],
  ])('of an agent of version %s: upgrade required %s (AG-26)', async (version, required) => {
    const agent = await calls.newAgent();
    const id = await calls.dispatched();
    const { body } = await agent.poll(pollBody({ agent_version: version, wait_ms: 30_000 }));
    expect([body.upgrade_required, body.jobs.length]).toEqual(required ? [true, 0] : [false, 1]);
    expect(await calls.statusOf(id)).toBe('dispatched');
  });

  it('reach a basic agent, which names neither fence nor wait', async () => {
    const agent = await calls.newAgent();
    const id = await calls.dispatched();
    expect(await agent.offered(basicBody)).toEqual([id]);
  });
});

describe('a poll that waits (AG-23 to AG-25)', () => {
  const patient = (over: Body = {}) => pollBody({ wait_ms: 30_000, ...over });

  it('answers at once what is there, and after its time with empty lists', async () => {
    const agent = await calls.newAgent();
    expect(idsOf(await agent.poll(pollBody({ wait_ms: 20 })))).toEqual([]);
    const id = await calls.dispatched();
    expect(idsOf(await agent.poll(patient()))).toEqual([id]);
  });

  it('is woken by a dispatch on any server process, at creation and by resume', async () => {
    const agent = await calls.newAgent();
    const other = await startTestApi({ toml: agentToml, database: api.database });
    try {
      const first = agent.poll(patient());
      await expect.poll(waiting).toBe(1);
      const body = { database: 'shop', environment: 'staging', detail: 'select 1' };
      const { id } = (await other.call('POST', '/api/requests', { token: calls.requester, body })).body;
      expect(idsOf(await first)).toEqual([id]);
      await agent.submit(await agent.run(id), { success: true });
      const second = agent.poll(patient());
      await expect.poll(waiting).toBe(1);
      await other.call('POST', `/api/requests/${id}/resume`, { token: calls.requester });
      expect((await second).body.jobs).toMatchObject([{ id, fence: 2 }]);
    } finally {
      await other.close();
    }
  });

  it('right after one that found nothing hears of what came between them, on any server process', async () => {
    const agent = await calls.newAgent();
    const other = await startTestApi({ toml: agentToml, database: api.database });
    try {
      expect(idsOf(await agent.poll(pollBody({ wait_ms: 1000 })))).toEqual([]);
      const body = { database: 'shop', environment: 'staging', detail: 'select 1' };
      const { id } = (await other.call('POST', '/api/requests', { token: calls.requester, body })).body;
      expect(idsOf(await agent.poll(patient()))).toEqual([id]);
    } finally {
      await other.close();
    }
  });

  it('looks for itself where it does not wait long enough for news, also right after one that found nothing', async () => {
    const agent = await calls.newAgent();
    const id = await calls.dispatched();
    await calls.sql(`update users set status = 'suspended' where id = 'rita'`);
    const brief = pollBody({ wait_ms: 1000, explain_limit: 0 });
    expect(idsOf(await agent.poll(brief))).toEqual([]);
    await calls.sql(`update users set status = 'active' where id = 'rita'`);
    expect(idsOf(await agent.poll({ ...brief, wait_ms: 50 }))).toEqual([id]);
  });

  it('sleeps on when the dispatch is for other agents', async () => {
    const agent = await calls.newAgent();
    const poll = agent.poll(patient());
    await expect.poll(waiting).toBe(1);
    await calls.dispatched('select 1', { database: 'ledger' });
    const id = await calls.dispatched();
    expect(idsOf(await poll)).toEqual([id]);
  });

  it('ends with empty lists when it is the oldest of five of a token (AG-24)', async () => {
    const [agent, other] = [await calls.newAgent(), await calls.newAgent()];
    const gone = new AbortController();
    const untouched = other.poll(patient(), gone.signal).catch(() => 'gone');
    await expect.poll(waiting).toBe(1);
    const polls = [];
    for (let count = 1; count <= 4; count += 1) {
      polls.push(agent.poll(patient()));
      await expect.poll(waiting).toBe(count + 1);
    }
    expect(await agent.offered(), 'a poll that does not wait takes no place').toEqual([]);
    // A wake-up for nothing, as when the listener connects again, makes all look: for a moment none waits.
    await expect.poll(waiting).toBe(5);
    polls.push(agent.poll(patient()));
    expect(idsOf(await polls[0]!)).toEqual([]);
    await expect.poll(waiting).toBe(5);
    gone.abort();
    expect(await untouched).toBe('gone');
    const id = await calls.dispatched();
    for (const poll of polls.slice(1)) expect(idsOf(await poll)).toEqual([id]);
  });

  it('holds no connection of the database, and its place only while its client is there', async () => {
    const agents = await Promise.all([1, 2, 3, 4].map(() => calls.newAgent()));
    const gone = new AbortController();
    const polls = agents.flatMap((agent) => [1, 2, 3, 4].map(() => agent.poll(patient(), gone.signal).catch(() => 'gone')));
    await expect.poll(waiting).toBe(16);
    const { pool } = api.services.database;
    await expect.poll(() => [pool.totalCount - pool.idleCount, pool.waitingCount]).toEqual([0, 0]);
    expect((await api.call('GET', '/api/me', { token: calls.requester })).status).toBe(200);
    gone.abort();
    expect(new Set(await Promise.all(polls))).toEqual(new Set(['gone']));
    await expect.poll(waiting).toBe(0);
  });

  it('is 401 at once when its token is revoked meanwhile (IM-72)', async () => {
    const agent = await calls.newAgent();
    const poll = agent.poll(patient());
    await expect.poll(waiting).toBe(1);
    expect((await api.call('DELETE', `/api/tokens/${agent.tokenId}`, { token: api.tokens.admin })).status).toBeLessThan(300);
    expect(coded(await poll)).toEqual([401, 'auth.invalid_token']);
  });
});

it('a server that drains offers nothing, claims nothing, and still takes reports, heartbeats and results (AG-25, AG-27, AG-41, AG-55)', async () => {
  const agent = await calls.known();
  const [running, offered] = [await calls.dispatched(), await calls.dispatched()];
  const executionId = await agent.run(running);
  const other = await startTestApi({ toml: agentToml, database: api.database, drainSecs: 2 });
  const at = (path: string, body?: Body) => other.call('POST', `/api/agent/${path}`, { token: agent.token, body });
  const waits = at('poll', pollBody({ wait_ms: 30_000 }, { scopes: [scope('ledger', 'staging')] }));
  await expect.poll(async () => (await other.services.metrics.longPolls.get()).values.map(({ value }) => value)).toContain(1);
  other.drain();
  expect(idsOf(await waits)).toEqual([]);
  expect(idsOf(await at('poll', pollBody({ agent_version: '9.0.0', wait_ms: 30_000 })))).toEqual([]);
  expect((await recordOf(agent.id)).agent_version).toBe('9.0.0');
  for (const id of [offered, randomUUID()]) expect(coded(await at(`jobs/${id}/claim`))).toEqual([503, 'service.draining']);
  expect((await at(`jobs/${executionId}/heartbeat`)).body.cancelled).toBe(false);
  expect((await at(`jobs/${executionId}/result`, { success: true })).body).toEqual({ request_id: running, status: 'executed' });
  await other.close();
  expect(await agent.offered(), 'another process serves the job').toEqual([offered]);
});
