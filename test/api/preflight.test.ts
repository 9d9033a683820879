import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { databaseToml, dbaTeamToml, needsDbaToml, passesToml, roleToml, workflowToml } from '../support/toml.js';
import { type AgentCalls, type Body, pollBody, scope, startAgentApi } from './agent-calls.js';
import { untilWaiting } from './until-waiting.js';

const dba = { group: 'dba-team' };
const toml = [
  databaseToml('shop', ['staging', 'production', 'quiet', 'lab', 'risky']),
  databaseToml('ledger', ['staging']),
  dbaTeamToml,
  roleToml('no-explain', ['request.preflight', 'request.query', 'request.view'], { databases: ['shop'] }),
  passesToml('staging'),
  workflowToml({ environment: 'production', more: 'require_reason = true', steps: [[dba], [{ user: 'erin' }]] }),
  passesToml('quiet', 'explain = false'),
  needsDbaToml('risky', 'auto_approve = { mode = "risk_based", risk = "low" }'),
].join('');

let api: TestApi;
let calls: AgentCalls;
let narrow: string;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ toml }));
  narrow = await api.createUser('nils', { roles: ['no-explain'] });
});
afterAll(() => api?.close());
/** No agent is known and no job is open. */
beforeEach(() => calls.sql(`with jobs as (delete from preflight_jobs) delete from agents`));

const ask = (over: Body = {}, token = calls.requester, where = api) =>
  where.call('POST', '/api/preflight', {
    token,
    body: { database: 'shop', environment: 'staging', sql: 'select * from parts', ...over },
  });
const plan = '[{"Plan": {"Node Type": "Index Scan", "Index Name": "parts_pkey", "Plan Rows": 1.0, "Total Cost": 8.30}}]';
const states = () => calls.sql<{ state: string }>('select state from preflight_jobs order by created_at');
const openJobs = async () => (await states()).filter(({ state }) => state === 'pending' || state === 'claimed').length;
const events = () =>
  calls.sql<{ outcome: string; metadata: Body; fingerprint: string }>(
    `select outcome, metadata_json::jsonb as metadata, detail_fingerprint as fingerprint from audit_events
     where event_type = 'preflight.attempted' order by position`,
  );
/** The preflight job of a poll that must bring one. */
async function taken(agent: Awaited<ReturnType<AgentCalls['known']>>) {
  const answer = await agent.poll(pollBody({ wait_ms: 5000 }));
  const [job] = answer.body.preflight_jobs;
  if (job === undefined) throw new Error(`no job: ${answer.text}`);
  return job as { id: string; claim_token: string; sql: string; timeout_ms: number; expires_at: string };
}
const submit = (agent: { post(path: string, body?: unknown): ReturnType<typeof ask> }, job: Body, body: Body) =>
  agent.post('preflight-result', { job_id: job.id, claim_token: job.claim_token, ...body });

describe('the verdict of a preflight', () => {
  it('is that of a creation at once (PF-I1)', async () => {
    const answer = await ask({ include_explain: false });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      status: 'requestable',
      risk: 'low',
      requires_ddl_permission: false,
      classification: {
        statement_type: 'SELECT',
        operation: 'execute_select',
        mutating: false,
        ddl: false,
        requires_ddl_permission: false,
        multi_statement: false,
        statement_count: 1,
      },
      review: { findings: [], blocked: false },
      risk_assessment: { level: 'low', factors: [{ name: 'read_only' }] },
      policy: {
        sql_valid: true,
        caller_can_submit: true,
        would_auto_approve: true,
        requires_approval: false,
        approvers: [],
        break_glass_allowed: false,
        workflow_id: 'wf:*:staging:e3b0c44298fc',
        require_reason: false,
        may_require_approval: false,
      },
      impact: { status: 'skipped' },
      fix_hints: [],
      retryable: false,
      next_actions: [],
    });
  });

  it('shows the approvers of every step, and DDL', async () => {
    const { body } = await ask({ environment: 'production', sql: 'create table t (id int); insert into t values (1)' });
    expect(body.policy).toMatchObject({
      approvers: [
        { selector: 'group:dba-team', min: 1, step: 0 },
        { selector: 'user:erin', min: 1, step: 1 },
      ],
      would_auto_approve: false,
      requires_approval: true,
      require_reason: true,
    });
    expect(body.classification).toEqual({
      statement_type: 'CREATE',
      operation: 'execute_dml',
      mutating: true,
      ddl: false,
      requires_ddl_permission: true,
      multi_statement: true,
      statement_count: 2,
    });
    expect([body.requires_ddl_permission, body.impact]).toEqual([true, { status: 'skipped' }]);
  });

  it('is blocked, with findings and risk, for a caller who may not submit it (PF-21)', async () => {
    const { body } = await ask({ sql: 'delete from parts where id = 1' }, narrow);
    expect(body).toMatchObject({ status: 'blocked', retryable: true, policy: { sql_valid: true, caller_can_submit: false } });
    expect(body.next_actions).toHaveLength(1);
  });

  it('is a warning where the risk would have to be approved (PF-15)', async () => {
    const { body } = await ask({ environment: 'risky', sql: 'update parts set qty = 1 where id = 1', include_explain: false });
    expect(body).toMatchObject({ status: 'warning', next_actions: ['Look at the warnings before you submit.'] });
  });

  it.each([
    ['GRANT ALL ON t TO public', 'staging', 'rejected'],
    ['THIS IS NOT SQL', 'staging', 'parse_failure'],
    ['select 1', 'lab', 'rejected'],
  ])('%s on %s is the blocked form with %s (PF-20)', async (sql, environment, code) => {
    const { status, body } = await ask({ sql, environment });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'blocked',
      risk: 'unknown',
      retryable: false,
      next_actions: [],
      impact: { status: 'skipped' },
      classification: { statement_type: 'unknown', operation: 'unknown', statement_count: 0 },
      review: { findings: [{ code, action: 'block', statement_index: 0 }], blocked: true },
      policy: { sql_valid: false, workflow_id: null, approvers: [] },
    });
    expect(body.fix_hints[0]).toBe(body.review.findings[0].message);
  });

  it.each<[string, Body, string | null]>([
    ['no sql', { sql: undefined }, 'body.sql'],
    ['a negative timeout', { explain_timeout_ms: -1 }, 'body.explain_timeout_ms'],
    ['a timeout as text', { explain_timeout_ms: '5' }, 'body.explain_timeout_ms'],
    ['a part of a millisecond', { explain_timeout_ms: 0.5 }, 'body.explain_timeout_ms'],
    ['include_explain null', { include_explain: null }, 'body.include_explain'],
    ['empty sql', { sql: '' }, 'body.sql'],
    ['a comment', { sql: '-- x' }, 'body.sql'],
    ['a semicolon', { sql: ';' }, 'body.sql'],
    ['too long sql', { sql: `select 1 ${' '.repeat(1_048_568)}` }, 'body.sql'],
    ['another operation', { operation: 'execute_dml' }, 'body.operation'],
    ['an unknown operation', { operation: 'drop' }, 'body.operation'],
    ['an unknown pair', { environment: 'nowhere' }, null],
  ])('refuses %s with 400 and no event', async (_what, over, hint) => {
    const before = (await events()).length;
    const answer = await ask(over);
    expect([answer.status, answer.body.code]).toEqual([400, 'validation.failed']);
    if (hint === null) expect(answer.body.error).toContain('not registered');
    else expect(answer.body.hint).toBe(hint);
    expect((await events()).length).toBe(before);
  });

  it('takes the aliases of create, and refuses other pairs before it tells whether they exist (PF-2)', async () => {
    expect((await ask({ operation: 'query', include_explain: false })).status).toBe(200);
    const answers = await Promise.all([
      ask({ database: 'ledger' }, narrow),
      ask({ database: 'none' }, narrow),
      ask({ database: 'none', sql: '' }, narrow),
    ]);
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(answers.map(() => [403, 'auth.forbidden']));
  });

  it('is 413 above 4 MiB', async () => {
    const answer = await ask({ sql: ' '.repeat(4_194_304) });
    expect([answer.status, answer.body.code]).toEqual([413, 'payload.too_large']);
  });

  it('is audited with what it said and without literals (PF-12)', async () => {
    await ask({ sql: "select * from parts where name = 'marker'", include_explain: false });
    await ask({ sql: "delete from parts where name = 'marker'", include_explain: false }, narrow);
    await ask({ sql: 'GRANT ALL ON t TO public' });
    const [read, denied, blocked] = (await events()).slice(-3);
    expect(read).toMatchObject({
      outcome: 'success',
      metadata: {
        status: 'requestable',
        risk_level: 'low',
        impact_status: 'skipped',
        blocked_codes: [],
        include_explain: false,
      },
    });
    expect(denied).toMatchObject({ outcome: 'denied', metadata: { status: 'blocked', blocked_codes: [] } });
    expect(blocked).toMatchObject({ outcome: 'denied', metadata: { blocked_codes: ['rejected'], include_explain: true } });
    expect(`${read?.fingerprint}${denied?.fingerprint}`).not.toContain('marker');
    expect(read?.fingerprint).toContain('parts');
  });

  it('is given though its event cannot be written', async () => {
    const { database } = api.services;
    const transaction = database.transaction;
    database.transaction = () => Promise.reject(new Error('no'));
    const answer = await ask({ include_explain: false });
    database.transaction = transaction;
    expect(answer.status).toBe(200);
  });
});

describe('the plan of a preflight', () => {
  it('comes from an agent that answers on another process, as it was sent (PF-17d, PF-I5)', async () => {
    const other = await api.another();
    const agent = await calls.known();
    const { answer } = await untilWaiting(other, () =>
      ask({ sql: '/* a */ select * from parts where id = 1;' }, calls.requester, other),
    );
    const job = await taken(agent);
    expect(job).toMatchObject({ sql: 'select * from parts where id = 1', timeout_ms: 5000 });
    const raw = `{"job_id":"${job.id}","claim_token":"${job.claim_token}","result":${plan}}`;
    const headers = { 'content-type': 'application/json' };
    const sent = await api.call('POST', '/api/agent/preflight-result', { token: agent.token, raw, headers });
    expect([sent.status, sent.body]).toEqual([200, {}]);
    const { status, text, body } = await answer;
    expect(status).toBe(200);
    expect(text).toContain(`"explain_plan":${plan}`);
    expect(body.impact).toMatchObject({ status: 'completed', estimated_rows: 1, estimated_cost: 8.3, index_used: true });
    expect((await events()).at(-1)?.metadata).toMatchObject({ impact_status: 'completed' });
    await other.close();
  });

  it('is asked for though a rule blocks the text (PF-18)', async () => {
    const agent = await calls.known();
    const { answer } = await untilWaiting(api, () => ask({ sql: 'delete from parts' }));
    const job = await taken(agent);
    expect(job.sql).toBe('delete from parts');
    await submit(agent, job, { result: {} });
    expect((await answer).body).toMatchObject({ status: 'blocked', review: { blocked: true }, impact: { status: 'completed' } });
  });

  it.each([
    ['words of no known kind', 'secret table', 'the database refused the plan', false],
    [
      'a value',
      'invalid input syntax for type integer: "secret" (SQLSTATE 22P02)',
      'the database refused the plan (SQLSTATE 22P02)',
      false,
    ],
    [
      'a value before a made-up code',
      '"secret (SQLSTATE 42P01)" (SQLSTATE 22P02)',
      'the database refused the plan (SQLSTATE 22P02)',
      false,
    ],
    [
      'a missing right',
      'permission denied for table parts (SQLSTATE 42501)',
      'permission denied for table parts (SQLSTATE 42501)',
      false,
    ],
    [
      'a missing table',
      'relation "partz" does not exist (SQLSTATE 42P01)',
      'relation "partz" does not exist (SQLSTATE 42P01)',
      true,
    ],
  ])('tells the error of the agent as HD-2 lets it be shown: %s (PF-17d)', async (_, error, shown, unknown_name) => {
    const agent = await calls.known();
    const { answer } = await untilWaiting(api, () => ask());
    expect((await submit(agent, await taken(agent), { error })).status).toBe(200);
    const { text, body } = await answer;
    expect([body.impact, text.includes('secret')]).toEqual([{ status: 'error', error: shown, unknown_name }, false]);
  });

  it.each<[string, Body, string?]>([
    ['include_explain false', { include_explain: false }],
    ['two statements', { sql: 'update parts set a = 1 where id = 1; select 1' }],
    ['a setting before it', { sql: "set timezone = 'UTC'; select 1" }],
    ['DDL', { sql: 'create table t (id int)' }],
    ['SHOW', { sql: 'show server_version' }],
  ])('is skipped for %s (PF-17a)', async (_what, over) => {
    await calls.known();
    expect((await ask(over)).body.impact).toEqual({ status: 'skipped' });
  });

  it('is skipped without the permission, disabled by the policy, not available without a healthy agent (PF-17a, PF-17b, PF-17c)', async () => {
    expect((await ask()).body.impact).toEqual({ status: 'not_available' });
    expect((await ask({ explain_timeout_ms: 0 })).body.impact).toEqual({ status: 'not_available' });
    await calls.known(pollBody({ limit: 0 }, { scopes: [scope('shop', 'staging'), scope('shop', 'quiet')] }));
    expect((await ask({}, narrow)).body.impact).toEqual({ status: 'skipped' });
    expect((await ask({ environment: 'quiet' })).body.impact).toEqual({ status: 'disabled_by_policy' });
    expect((await ask({ explain_timeout_ms: 0 })).body.impact).toEqual({ status: 'timeout' });
    expect(await states()).toEqual([]);
    await calls.sql(`update agents set draining = true`);
    expect((await ask()).body.impact).toEqual({ status: 'not_available' });
    await calls.sql(`update agents set draining = false, last_seen_at = clock_timestamp() - interval '61 seconds'`);
    expect((await ask()).body.impact).toEqual({ status: 'not_available' });
  });

  it('is timeout when nobody answers; the job counts no longer and its late answer is 410 (PF-17e, AG-70)', async () => {
    const agent = await calls.known();
    const { answer } = await untilWaiting(api, () => ask({ explain_timeout_ms: 2000 }));
    const job = await taken(agent);
    expect((await answer).body.impact).toEqual({ status: 'timeout' });
    expect(await states()).toEqual([{ state: 'expired' }]);
    const late = await submit(agent, job, { result: {} });
    expect([late.status, late.body.code]).toEqual([410, 'preflight_job.gone']);
  });

  it('is waited for no longer than the caller stays (HT-104)', async () => {
    await calls.known();
    const gone = new AbortController();
    const body = { database: 'shop', environment: 'staging', sql: 'select 1' };
    const { answer } = await untilWaiting(api, () =>
      api.call('POST', '/api/preflight', { token: calls.requester, body, signal: gone.signal }).catch(() => null),
    );
    const before = (await events()).length;
    gone.abort();
    await answer;
    await expect.poll(states).toEqual([{ state: 'expired' }]);
    expect((await events()).length).toBe(before);
  });

  it('never has more than three open jobs of a user, however many ask at once (PF-9, PF-19, PF-I6, OP-35)', async () => {
    const agent = await calls.known();
    const asked = Array.from({ length: 12 }, () => ask());
    let answered = 0;
    for (const one of asked) void one.then(() => (answered += 1));
    await expect.poll(openJobs).toBe(3);
    const other = ask({ explain_timeout_ms: 300 }, api.tokens.requester);
    expect((await other).body.impact).toEqual({ status: 'timeout' });
    await expect.poll(() => answered).toBe(9);
    const polled = await agent.poll(pollBody({ wait_ms: 1000 }));
    await Promise.all(polled.body.preflight_jobs.map((job: Body) => submit(agent, job, { result: {} })));
    const answers = await Promise.all(asked);
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited).toHaveLength(9);
    expect(limited[0]?.body.code).toBe('rate.limited');
    expect(limited[0]?.headers.get('retry-after')).toBe('1');
    expect(answers.filter(({ status }) => status === 200).map(({ body }) => body.impact.status)).toEqual(
      Array(3).fill('completed'),
    );
    expect((await ask({ explain_timeout_ms: 0 })).status).toBe(200);
  });

  it('gives one job to one of many agents, within their free slots (AG-21)', async () => {
    const agents = await Promise.all([calls.known(), calls.known(), calls.known()]);
    const { answer } = await untilWaiting(api, () => ask());
    const full = { in_flight: 2, in_flight_preflight: 1, max_concurrent: 3 };
    const [none, noSlot, drains] = await Promise.all([
      agents[0]!.poll(pollBody({ explain_limit: 0 })),
      agents[0]!.poll(pollBody({ status: full })),
      agents[0]!.poll(pollBody({ limit: 0 })),
    ]);
    expect([none, noSlot, drains].map(({ body }) => body.preflight_jobs)).toEqual([[], [], []]);
    const polls = await Promise.all(agents.map((agent) => agent.poll(pollBody())));
    const given = polls.flatMap(({ body }, n) => body.preflight_jobs.map((job: Body) => ({ job, agent: agents[n]! })));
    expect(given).toHaveLength(1);
    await submit(given[0].agent, given[0].job, { result: {} });
    expect((await answer).body.impact.status).toBe('completed');
  });

  it('is taken within its limits; a shorter answer is accepted afterwards (AG-70)', async () => {
    const agent = await calls.known();
    const { answer } = await untilWaiting(api, () => ask());
    const job = await taken(agent);
    const big = { a: 'x'.repeat(262_144 - 8) };
    expect(JSON.stringify(big)).toHaveLength(262_144);
    const wrong = [
      await submit(agent, job, {}),
      await submit(agent, job, { result: {}, error: 'x' }),
      await submit(agent, job, { result: null, error: null }),
      await submit(agent, { ...job, claim_token: job.id }, { result: {} }),
      await submit(await calls.known(), job, { result: {} }),
      await submit(agent, { ...job, id: 'x' }, { result: {} }),
      await submit(agent, job, { result: { a: `${big.a}x` } }),
      await submit(agent, job, { error: 'é'.repeat(2049) }),
      await submit(agent, job, { result: { a: 'x'.repeat(524_288) } }),
    ];
    expect(wrong.map(({ status }) => status)).toEqual([400, 400, 400, 410, 410, 410, 413, 413, 413]);
    expect((await submit(agent, job, { result: big })).status).toBe(200);
    expect((await answer).body.impact).toMatchObject({
      status: 'completed',
      estimated_rows: null,
      estimated_cost: null,
      index_used: null,
    });
    expect((await submit(agent, job, { result: big })).status).toBe(410);
  });

  it('is refused while the server drains, and everything else of a preflight is not (PF-11, HT-105)', async () => {
    const other = await api.another({ drainSecs: 2 });
    await calls.known();
    const { answer } = await untilWaiting(other, () => ask({}, calls.requester, other));
    other.drain();
    expect((await answer).body.impact).toEqual({ status: 'timeout' });
    const refused = await ask({}, calls.requester, other);
    expect([refused.status, refused.body.code]).toEqual([503, 'service.draining']);
    expect((await ask({ include_explain: false }, calls.requester, other)).status).toBe(200);
    expect((await ask({}, narrow, other)).body.impact).toEqual({ status: 'skipped' });
    await other.close();
  });

  it('leaves requests, executions and results alone (PF-I2)', async () => {
    const counts = () =>
      calls.sql(
        'select (select count(*) from requests) as a, (select count(*) from executions) as b, (select count(*) from dry_run_jobs) as c',
      );
    const before = await counts();
    await calls.known();
    await ask({ explain_timeout_ms: 50 });
    expect(await counts()).toEqual(before);
  });
});
