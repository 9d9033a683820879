import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { allRoutes, defaultTimes } from '../../api/routes.js';
import { keyIdOf } from '../../crypto/ed25519.js';
import { approvalDigest } from '../../crypto/execution-token.js';
import { verifyExecutionToken } from '../../crypto/verify-execution-token.js';
import type { Loose, TestApi } from '../support/api.js';
import { type AgentCalls, basicBody, coded, pollBody, scope, startAgentApi } from './agent-calls.js';

let api: TestApi;
let calls: AgentCalls;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ times: { cancelWaitMs: 20 } }));
});
afterAll(() => api?.close());
beforeEach(() => calls.clear());

const write = 'delete from t where id = 1';
const conflict = [409, 'request.conflict'];
const forbidden = [403, 'auth.forbidden'];

describe('the checks of a claim in their order (AG-27 to AG-35)', () => {
  it('an agent that has never polled is 404, before anything about the request', async () => {
    const agent = await calls.newAgent();
    const id = await calls.dispatched();
    for (const known of [id, randomUUID()]) expect(coded(await agent.claim(known))).toEqual([404, 'agent.not_found']);
    expect(await calls.statusOf(id)).toBe('dispatched');
  });

  it('an unknown request is 404, also one whose id is no UUID (AG-09)', async () => {
    const agent = await calls.known();
    for (const id of [randomUUID(), 'x', '%20', `${randomUUID()}x`])
      expect(coded(await agent.claim(id))).toEqual([404, 'request.not_found']);
  });

  it('a foreign pair or operation is 403 whatever the status, also of an agent that had the pair before', async () => {
    const agent = await calls.known(pollBody({ limit: 0 }, { operations: ['execute_dml'] }));
    const [read, dml] = [await calls.dispatched(), await calls.dispatched(write)];
    const elsewhere = await calls.dispatched(write, { database: 'ledger' });
    await calls.cancel(elsewhere);
    for (const id of [read, elsewhere]) expect(coded(await agent.claim(id))).toEqual(forbidden);
    await agent.poll(pollBody({ limit: 0 }, { scopes: [] }));
    expect(coded(await agent.claim(dml))).toEqual(forbidden);
    expect(await calls.statusOf(dml)).toBe('dispatched');
  });

  it('a claim_id that is no UUID is 400, as is a body that is no object', async () => {
    const agent = await calls.known();
    const id = await calls.dispatched();
    for (const claimId of ['', 'x', `${randomUUID()} `, 1, null, {}])
      expect(coded(await agent.claim(id, { claim_id: claimId }))).toEqual([400, 'validation.failed']);
    for (const raw of ['[]', '{', '"x"', 'null']) {
      const headers = { 'content-type': 'application/json' };
      const answer = await api.call('POST', `/api/agent/jobs/${id}/claim`, { token: agent.token, raw, headers });
      expect(coded(answer)).toEqual([400, 'validation.failed']);
    }
    expect(await calls.statusOf(id)).toBe('dispatched');
  });

  it.each<[string, (id: string) => Promise<unknown>]>([
    ['whose request is cancelled', (id) => calls.cancel(id)],
    ['whose owner is suspended', () => calls.sql(`update users set status = 'suspended' where id = 'rita'`)],
    [
      'whose dispatch clock has run out, though no timer has fired (TT-6)',
      (id) => calls.sql(`update requests set dispatch_deadline = clock_timestamp() - interval '1 ms' where id = $1`, [id]),
    ],
    ['whose dialect has changed (SQL-1)', (id) => calls.sql(`update requests set dialect = 'mysql' where id = $1`, [id])],
    ['whose pair is not registered any more', (id) => calls.sql(`update requests set environment = 'gone' where id = $1`, [id])],
  ])('a job %s is 409 and stays as it is (AG-32)', async (_, spoil) => {
    const agent = await calls.known(pollBody({ limit: 0 }, { scopes: [scope('shop', 'staging'), scope('shop', 'gone')] }));
    const id = await calls.dispatched();
    await spoil(id);
    const rows = () => calls.sql('select status, version from requests where id = $1', [id]);
    const before = await rows();
    expect(coded(await agent.claim(id))).toEqual(conflict);
    expect(await rows()).toEqual(before);
    expect(await calls.sql('select 1 from executions where request_id = $1', [id])).toEqual([]);
    await calls.sql(`update users set status = 'active' where id = 'rita'`);
  });

  it('content that is not the approved one is 409, and the request ends failed (ET-13, ST-23)', async () => {
    const agent = await calls.known();
    const id = await calls.dispatched(write);
    await calls.sql(`update requests set detail = 'delete from t' where id = $1`, [id]);
    const answer = await agent.claim(id);
    expect([...coded(answer), answer.body.error]).toEqual([...conflict, 'approved content changed']);
    expect(await calls.statusOf(id)).toBe('failed');
    expect(await calls.events(id, 'request.integrity_failed')).toMatchObject([{ metadata: { noticed_by: 'claim' } }]);
    expect(await calls.events(id, 'execution.started')).toEqual([]);
  });
});

describe('the answer of a claim (section 4)', () => {
  it('has every key, and the execution is stored and audited with it (AG-35, HT-132)', async () => {
    const agent = await calls.known();
    const id = await calls.dispatched(write);
    const { status, body } = await agent.claim(id);
    expect([status, body]).toEqual([
      200,
      {
        execution_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        request_id: id,
        operation: 'execute_dml',
        database: 'shop',
        environment: 'staging',
        detail: write,
        execution_token: expect.any(String),
        statement_timeout_secs: 30,
        max_rows: null,
        lease_expires_at: expect.any(String),
        lease_secs: 60,
        execution_plan: null,
        execution_plan_json: null,
        fence: 1,
        unresolved_fences: [],
        marker: 'required',
        unresolved_executions: [],
        approval_digest: approvalDigest({ ...content(body), detail: write }),
        policy_revision: expect.stringMatching(/^r\d+$/),
        max_result_bytes: 20_000,
        max_affected_rows: null,
        search_path: null,
        server_time: expect.any(String),
      },
    ]);
    expect(Date.parse(body.lease_expires_at) - Date.parse(body.server_time)).toBe(60_000);
    expect((await calls.show(calls.requester, id)).body).toMatchObject({ status: 'running', claimed_by: agent.id });
    expect(await calls.runsOf(id)).toMatchObject([{ id: body.execution_id, status: 'running', agent_id: agent.id, fence: 1 }]);
    expect(await calls.events(id, 'execution.started')).toMatchObject([
      { actor_type: 'agent', outcome: 'success', metadata: { fence: 1, agent_id: agent.id } },
    ]);
  });

  it('has exactly the fields that the document names, though it is sent as it was stored (AG-39)', async () => {
    const agent = await calls.known();
    const { body } = await agent.claim(await calls.dispatched(write));
    const claim = allRoutes(() => Promise.reject(new Error('not asked')), defaultTimes).find(
      ({ operationId }) => operationId === 'claimJob',
    );
    expect(claim?.response.parse(body)).toEqual(body);
  });

  it('carries a token that verifies with the published key and only for this claim and agent (C16)', async () => {
    const agent = await calls.known();
    const published = (await api.call('GET', '/api/public-key', { token: agent.token })).body;
    expect(keyIdOf(published.public_key)).toBe(published.key_id);
    const { body } = await agent.claim(await calls.dispatched(write));
    const terms = termsOf(body);
    const verifier = {
      keys: new Map<string, string>([[published.key_id, published.public_key]]),
      agentId: agent.id,
      now: new Date(body.server_time),
      hasExecutionPlan: false,
    };
    const verify = (over: object, by: object = {}) =>
      verifyExecutionToken(body.execution_token, { ...terms, ...over }, { ...verifier, ...by });
    expect(verify({})).toEqual({ ok: true, expiresAt: Date.parse(body.server_time) + 300_000 });
    for (const over of [
      { detail: `${write} ` },
      { fence: 2 },
      { maxResultBytes: 1 },
      { maxAffectedRows: 1 },
      { maxAffectedRows: undefined },
      { searchPath: ['public'] },
      { searchPath: undefined },
      { requestId: randomUUID() },
    ])
      expect(verify(over).ok).toBe(false);
    expect(verify({}, { agentId: 'agent-other' })).toMatchObject({ ok: false, why: 'agent_id mismatch' });
    expect(JSON.parse(body.execution_token)).toMatchObject({ requester_subject_id: 'rita', requester_role: 'requester' });
    const [agentRow] = await calls.sql<{ key_id: string }>('select key_id from agents where id = $1', [agent.id]);
    expect(agentRow?.key_id, 'the agent record holds the key fetched last (AG-12)').toBe(published.key_id);
  });

  it.each([
    ['staging', 30, 60, null],
    ['slow', 45, 75, 7],
    ['capped', 5, 60, null],
    ['brief', 90, 120, null],
  ])(
    'in %s gives %i s per statement, a lease of %i s and max_rows %s (AG-37, AG-38)',
    async (environment, secs, lease, maxRows) => {
      const agent = await calls.known(pollBody({ limit: 0 }, { scopes: [scope('shop', environment)] }));
      const { body } = await agent.claim(await calls.dispatched('select 1', { environment }));
      expect(body).toMatchObject({ statement_timeout_secs: secs, lease_secs: lease, max_rows: maxRows });
      expect(Date.parse(body.lease_expires_at) - Date.parse(body.server_time)).toBe(lease * 1000);
    },
  );

  it.each([
    ['a read', 'select 1', pollBody(), 'none'],
    ['a write by an agent with fence and marker', write, pollBody(), 'required'],
    ['a write by an agent without fence', write, pollBody({}, { features: [] }), 'none'],
    ['a write by an agent without marker', write, pollBody({}, { scopes: [scope('shop', 'staging', false)] }), 'none'],
    ['a write by a basic agent', write, basicBody, 'none'],
  ])('of %s says marker %#', async (_, detail, body, marker) => {
    const agent = await calls.known(body);
    expect((await agent.claim(await calls.dispatched(detail))).body.marker).toBe(marker);
  });
});

describe('a claim that is repeated (AG-31, AG-36)', () => {
  it('with its claim_id gets the same answer byte for byte while it runs, then 409', async () => {
    const agent = await calls.known();
    const id = await calls.dispatched();
    const claimId = { claim_id: randomUUID() };
    const first = await agent.claim(id, claimId);
    expect(first.status).toBe(200);
    await agent.heartbeat(first.body.execution_id);
    for (let time = 0; time < 2; time += 1) expect((await agent.claim(id, claimId)).text).toBe(first.text);
    expect(await calls.runsOf(id)).toHaveLength(1);
    expect(await calls.events(id, 'execution.started')).toHaveLength(1);
    await agent.submit(first.body.execution_id, { success: true });
    expect(coded(await agent.claim(id, claimId))).toEqual(conflict);
    await calls.resume(id);
    expect(coded(await agent.claim(id, claimId)), 'the id of an ended claim starts no second run').toEqual(conflict);
  });

  it('gets the same answer when both are under way at once', async () => {
    const agent = await calls.known();
    for (let round = 0; round < 5; round += 1) {
      const id = await calls.dispatched();
      const claimId = { claim_id: randomUUID() };
      const answers = await Promise.all(Array.from({ length: 8 }, () => agent.claim(id, claimId)));
      expect(answers.map(coded)).toEqual(answers.map(() => [200, undefined]));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(await calls.runsOf(id)).toHaveLength(1);
    }
  });

  it('without claim_id is 409, as is another claim_id', async () => {
    const agent = await calls.known();
    const id = await calls.dispatched();
    const { body } = await agent.claim(id);
    expect(body.request_id).toBe(id);
    expect(coded(await agent.claim(id))).toEqual(conflict);
    expect(coded(await agent.claim(id, { claim_id: randomUUID() }))).toEqual(conflict);
  });

  it('with the claim_id of another request is 400, one after the other and at once', async () => {
    const agent = await calls.known();
    const [one, two] = [await calls.dispatched(), await calls.dispatched()];
    const claimId = { claim_id: randomUUID() };
    await agent.claim(one, claimId);
    expect(coded(await agent.claim(two, claimId))).toEqual([400, 'validation.failed']);
    for (let round = 0; round < 5; round += 1) {
      const pair = [await calls.dispatched(), await calls.dispatched()];
      const same = { claim_id: randomUUID() };
      const statuses = (await Promise.all(pair.map((id) => agent.claim(id, same)))).map(({ status }) => status);
      expect(statuses.toSorted()).toEqual([200, 400]);
    }
    expect(await calls.statusOf(two)).toBe('dispatched');
  });

  it('by another agent never gets the answer', async () => {
    const [one, two] = [await calls.known(), await calls.known()];
    const id = await calls.dispatched();
    const claimId = { claim_id: randomUUID() };
    await one.claim(id, claimId);
    const answer = await two.claim(id, claimId);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.text).not.toContain('execution_token');
  });

  it('is 403 once the agent has given up the pair: the scope is checked first (AG-30)', async () => {
    const agent = await calls.known();
    const id = await calls.dispatched();
    const claimId = { claim_id: randomUUID() };
    await agent.claim(id, claimId);
    await agent.poll(pollBody({ limit: 0 }, { scopes: [] }));
    expect(coded(await agent.claim(id, claimId))).toEqual(forbidden);
  });
});

describe('claims at once', () => {
  it('of 20 agents end with exactly one 200, the others 409 (AG-I1)', async () => {
    const agents = await Promise.all(Array.from({ length: 20 }, () => calls.known()));
    for (const detail of ['select 1', write]) {
      const id = await calls.dispatched(detail);
      const answers = await Promise.all(agents.map((agent) => agent.claim(id, { claim_id: randomUUID() })));
      const won = answers.findIndex(({ status }) => status === 200);
      expect(answers.filter((_, index) => index !== won).map(coded)).toEqual(Array(19).fill(conflict));
      expect(await calls.runsOf(id)).toMatchObject([{ agent_id: agents[won]?.id, fence: 1, status: 'running' }]);
      expect(await calls.events(id, 'execution.started')).toHaveLength(1);
    }
  });

  it('and a cancel or the dispatch clock: whichever commits first decides (AG-54, AG-61)', async () => {
    const agent = await calls.known();
    for (let round = 0; round < 6; round += 1) {
      const id = await calls.dispatched();
      const other = round % 2 === 0 ? calls.cancel(id).then(() => {}) : calls.fireClock(id, 'dispatch');
      const [claim] = await Promise.all([agent.claim(id), other]);
      const expected = round % 2 === 0 ? 'cancelled' : 'approved';
      expect([claim.status, await calls.statusOf(id)]).toEqual(claim.status === 200 ? [200, 'running'] : [409, expected]);
      expect(await calls.runsOf(id)).toHaveLength(claim.status === 200 ? 1 : 0);
    }
  });

  it('raise the fence with each dispatch and never use one twice (AG-I2)', async () => {
    const agents = await Promise.all([calls.known(), calls.known(), calls.known()]);
    const id = await calls.dispatched();
    for (let fence = 1; fence <= 4; fence += 1) {
      const answers = await Promise.all(agents.map((agent) => agent.claim(id)));
      const won = answers.findIndex(({ status }) => status === 200);
      const { execution_id: executionId } = answers[won]!.body;
      expect(answers[won]!.body.fence).toBe(fence);
      await agents[won]!.submit(executionId, { success: fence % 2 === 0, fence });
      expect((await calls.resume(id)).status).toBe(200);
    }
    expect((await calls.runsOf(id)).map(({ fence }) => fence)).toEqual([4, 3, 2, 1]);
  });
});

it('polls, heartbeats and failed claims change no status (AG-I11)', async () => {
  const [agent, other] = [await calls.known(), await calls.known(pollBody({ limit: 0 }, { scopes: [] }))];
  const [waits, runs, done] = [await calls.dispatched(), await calls.dispatched(write), await calls.dispatched()];
  const execution = await agent.run(runs);
  await agent.submit(await agent.run(done), { success: true });
  const rows = () =>
    calls.sql('select id, status, version, fence from requests where id = any($1) order by id', [[waits, runs, done]]);
  const before = await rows();
  for (const one of [agent, other]) {
    await one.poll(one === agent ? pollBody() : pollBody({}, { scopes: [] }));
    await one.heartbeat(execution);
    for (const id of [runs, done]) expect((await one.claim(id)).status).toBeGreaterThanOrEqual(403);
  }
  expect((await other.claim(waits)).status).toBe(403);
  expect(await rows()).toEqual(before);
});

const content = (body: Record<string, string>) => ({
  operation: body.operation!,
  database: body.database!,
  environment: body.environment!,
  policyRevision: body.policy_revision!,
});

const termsOf = (body: Loose) => ({
  requestId: body.request_id,
  operation: body.operation,
  environment: body.environment,
  database: body.database,
  detail: body.detail,
  executionId: body.execution_id,
  fence: body.fence,
  unresolvedFences: body.unresolved_fences,
  unresolvedExecutions: body.unresolved_executions.map(({ fence, execution_id }: { fence: number; execution_id: string }) => ({
    fence,
    executionId: execution_id,
  })),
  approvalDigest: body.approval_digest,
  policyRevision: body.policy_revision,
  statementTimeoutSecs: body.statement_timeout_secs,
  maxRows: body.max_rows,
  maxResultBytes: body.max_result_bytes,
  maxAffectedRows: body.max_affected_rows,
  searchPath: body.search_path,
  marker: body.marker,
});
