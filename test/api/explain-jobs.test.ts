import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createExplainKeeper } from '../../worker/explain-keeper.js';
import type { TestApi } from '../support/api.js';
import { databaseToml, dbaTeamToml, needsDbaToml, passesToml } from '../support/toml.js';
import { type AgentCalls, type Body, coded, idsOf, pollBody, scope, startAgentApi } from './agent-calls.js';

const toml = [
  databaseToml('shop', ['staging', 'production', 'quiet']),
  dbaTeamToml,
  passesToml('staging'),
  needsDbaToml('production'),
  needsDbaToml('quiet', 'explain = false'),
].join('');

const production = { scopes: [scope('shop', 'production')] };
const polled = (over: Body = {}) => pollBody(over, production);
const twoUpdates = "UPDATE parts SET name = 'é'  WHERE id = 1 ;\n update parts set qty = 2 where id = 2";

let api: TestApi;
let calls: AgentCalls;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ toml }));
});
afterAll(() => api?.close());
beforeEach(() => calls.sql(`update dry_run_jobs set state = 'failed' where state in ('pending', 'claimed')`));

const pending = (detail = 'select * from parts', over: Body = {}) =>
  calls.dispatched(detail, { environment: 'production', ...over });
const jobsOf = (id: string) =>
  calls.sql<{ id: string; sql: string; state: string; error: string | null }>(
    'select id, sql, state, error from dry_run_jobs where request_id = $1 order by statement_index',
    [id],
  );
const contextOf = async (id: string) => (await calls.show(calls.requester, id)).body.context;
type Agent = Awaited<ReturnType<AgentCalls['known']>>;
const known = () => calls.known(polled({ limit: 0 }));
const claim = (agent: Agent, jobId: string) => agent.post(`dry-run/${jobId}/claim`);
const submit = (agent: Agent, jobId: string, body: Body) => agent.post(`dry-run/${jobId}/result`, body);
async function answered(agent: Agent, jobId: string, body: Body) {
  const { claim_token } = (await claim(agent, jobId)).body;
  return submit(agent, jobId, { claim_token, ...body });
}

describe('EXPLAIN jobs of a request', () => {
  it('are made with it, one per statement with its exact bytes, and become its context (AG-65, AG-69)', async () => {
    const id = await pending(`set timezone = 'UTC';${twoUpdates}`);
    expect(await contextOf(id)).toEqual({
      status: 'collecting',
      explain_enabled: true,
      tables: ['parts'],
      explain: null,
      schema_snapshot_collected_at: null,
      sql_review: { findings: [], blocked: false },
      risk: { level: 'Unknown', factors: [{ name: 'schema_not_synced' }] },
    });
    const agent = await known();
    const offered = (await agent.poll(polled())).body.dry_run_jobs;
    const texts = ["UPDATE parts SET name = 'é'  WHERE id = 1 ", 'update parts set qty = 2 where id = 2'];
    expect(offered.map(({ id: _, ...job }: Body) => job)).toEqual(
      texts.map((sql) => ({ sql, request_id: id, database: 'shop', environment: 'production' })),
    );
    expect(coded(await answered(agent, offered[0].id, { result: [{ Plan: {} }] }))).toEqual([200, undefined]);
    expect(await contextOf(id)).toMatchObject({ status: 'collecting', explain: null });
    await answered(agent, offered[1].id, { result: null, error: null });
    expect(await contextOf(id)).toMatchObject({
      status: 'ready',
      explain: [
        { sql: texts[0], plan: [{ Plan: {} }] },
        { sql: texts[1], plan: {} },
      ],
    });
  });

  it('leave the context partial when one fails, with a hint whose role had no rights', async () => {
    const id = await pending(twoUpdates);
    const [one, two] = await jobsOf(id);
    const agent = await known();
    await answered(agent, one!.id, { error: 'driver error: query failed: permission denied (SQLSTATE 42501)' });
    await answered(agent, two!.id, { error: `refused: ${'é'.repeat(2049)}`, result: {} });
    const { status, explain } = await contextOf(id);
    const hint = expect.stringContaining('the role of read_url');
    expect([status, explain[0].hint, explain[1].hint]).toEqual(['partial', hint, null]);
    expect(explain[1].error).toBe(`refused: ${'é'.repeat(2043)}`);
  });

  it.each<[string, string, Body]>([
    ['the workflow policy has explain off', 'select 1', { environment: 'quiet' }],
    ['the result is not stored', 'select 1', { no_result_store: true }],
    ['nothing of it can be explained', 'create table made (id int)', {}],
  ])('are not made when %s', async (_what, detail, over) => {
    const id = await pending(detail, over);
    expect(await jobsOf(id)).toEqual([]);
    expect(await contextOf(id)).toMatchObject({ status: 'ready', explain_enabled: false, explain: null });
  });

  it('are unavailable after 300 s, and a later plan still fills them in (TT-5)', async () => {
    const id = await pending();
    await calls.sql(`update requests set created_at = created_at - interval '300 seconds' where id = $1`, [id]);
    expect(await contextOf(id)).toMatchObject({ status: 'unavailable', explain: null });
    const agent = await known();
    await answered(agent, (await jobsOf(id))[0]!.id, { result: {} });
    expect(await contextOf(id)).toMatchObject({ status: 'ready', explain: [{ plan: {} }] });
  });

  it('end when the statement starts or the request ends, so that no plan describes changed data (AG-68)', async () => {
    const [started, rejected] = [await calls.dispatched('select 1'), await pending()];
    const agent = await calls.known();
    const taken = await claim(agent, (await jobsOf(started))[0]!.id);
    await agent.run(started);
    expect(await jobsOf(started)).toMatchObject([{ state: 'failed', error: 'skipped: the statement has started' }]);
    const late = await submit(agent, (await jobsOf(started))[0]!.id, { claim_token: taken.body.claim_token, result: {} });
    expect(coded(late)).toEqual([409, 'dry_run_job.conflict']);
    await calls.act(calls.requester, rejected, 'reject');
    expect(await jobsOf(rejected)).toMatchObject([{ state: 'failed', error: 'skipped: the request has ended' }]);
    expect(await contextOf(rejected)).toMatchObject({ status: 'partial' });
  });

  it('wake a waiting poll, oldest first, also one that takes no jobs (AG-19, AG-20, AG-23)', async () => {
    const agent = await known();
    const waiting = agent.poll(polled({ limit: 0, wait_ms: 10_000 }));
    const first = await pending();
    const { dry_run_jobs: woken, preflight_jobs: none } = (await waiting).body;
    expect([woken.map((job: Body) => job.request_id), none]).toEqual([[first], []]);
    const second = await pending();
    const requestsOf = async (over: Body) =>
      (await agent.poll(polled(over))).body.dry_run_jobs.map((job: Body) => job.request_id);
    expect(await requestsOf({})).toEqual([first, second]);
    expect(await requestsOf({ explain_limit: 1 })).toEqual([first]);
    expect(await requestsOf({ explain_limit: 0 })).toEqual([]);
    expect(await requestsOf({ status: { in_flight: 0, max_concurrent: 1, draining: true } })).toEqual([]);
    const elsewhere = await (await calls.known()).poll(pollBody());
    expect(elsewhere.body.dry_run_jobs).toEqual([]);
  });

  it('are offered to a poll that claims once they are 0.1 s old: a request that runs at once needs no plan (AG-20)', async () => {
    const agent = await known();
    const age = (ms: number) =>
      calls.sql(
        `update dry_run_jobs set created_at = clock_timestamp() - $1 * interval '1 millisecond' where state = 'pending'`,
        [ms],
      );
    const offered = async (over: Body) => (await agent.poll(polled(over))).body.dry_run_jobs.map((job: Body) => job.request_id);
    const claiming = { claim: true, instance_id: 'one' };
    const id = await pending();
    // 0.9 s from now on it counts as just created for a second.
    await age(-900);
    expect([await offered(claiming), await offered({})]).toEqual([[], [id]]);
    await age(101);
    expect(await offered(claiming)).toEqual([id]);
    await age(-3_600_000);
    expect(await offered(claiming), 'the clock was set back').toEqual([id]);
    await age(-900);
    expect(await offered({ ...claiming, wait_ms: 10_000 }), 'the poll looks again by itself').toEqual([id]);
  });

  it('are offered to requesters in turn, so that many of one leave those of others their places (AG-20)', async () => {
    const other = await api.createUser('olga', { roles: ['requester'] });
    const many = [await pending(twoUpdates), await pending(twoUpdates), await pending()];
    const few = [await calls.created(other, { environment: 'production', detail: 'select 1' })];
    few.push(await calls.created(other, { environment: 'production', detail: 'select 2' }));
    const offered = (await (await known()).poll(polled())).body.dry_run_jobs;
    expect(offered.map((job: Body) => job.request_id)).toEqual([
      ...[many[0], few[0]],
      ...[many[0], few[1]],
      ...[many[1], many[1], many[2]],
    ]);
  });

  it.each([
    [3, 2, 1],
    [2, 1, 1],
    [1, 0, 1],
  ])('of a poll for %i leave room for a preflight that waits: %i and %i (AG-21)', async (limit, dryRuns, preflights) => {
    const agent = await calls.known(polled());
    for (const _ of [1, 2, 3]) await pending();
    await calls.sql(
      `insert into preflight_jobs (user_id, database, environment, sql, state, timeout_ms, expires_at)
       select 'rita', 'shop', 'production', 'select 1', 'pending', 1000, clock_timestamp() + interval '1 minute' from generate_series(1, 2)`,
    );
    const status = { in_flight: 0, max_concurrent: 4, in_flight_preflight: 0, uptime_secs: 9, draining: false };
    const { body } = await agent.poll(polled({ limit: 1, explain_limit: limit, status }));
    expect([body.dry_run_jobs.length, body.preflight_jobs.length]).toEqual([dryRuns, preflights]);
    const saturated = { ...status, in_flight: 4 };
    const none = await agent.poll(polled({ limit: 1, explain_limit: limit, status: saturated }));
    expect([none.body.dry_run_jobs.length, none.body.preflight_jobs.length]).toEqual([limit, 0]);
    await calls.sql('delete from preflight_jobs');
  });

  it('never keep an agent from its jobs (AG-22)', async () => {
    const id = await calls.dispatched('select 1');
    await calls.sql('alter table dry_run_jobs rename to away');
    const agent = await calls.known();
    const answer = await agent.poll(pollBody());
    await calls.sql('alter table away rename to dry_run_jobs');
    expect(idsOf(answer)).toContain(id);
    expect(answer.body.dry_run_jobs).toEqual([]);
  });

  it('are claimed once, by an agent that has polled and serves the pair (AG-66)', async () => {
    const job = (await jobsOf(await pending()))[0]!.id;
    const [agent, stranger, foreign] = [await known(), await calls.newAgent(), await calls.known()];
    const answers = [
      await claim(agent, '00000000-0000-4000-8000-000000000000'),
      await claim(agent, 'x'),
      await claim(stranger, job),
      await claim(foreign, job),
    ];
    expect(answers.map(coded)).toEqual([
      [404, 'dry_run_job.not_found'],
      [404, 'dry_run_job.not_found'],
      [404, 'agent.not_found'],
      [403, 'auth.forbidden'],
    ]);
    const race = await Promise.all([agent, await known(), await known()].map((one) => claim(one, job)));
    expect(race.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect(coded(race.find(({ status }) => status === 409)!)).toEqual([409, 'dry_run_job.conflict']);
  });

  it('take a result only from their claim (AG-67)', async () => {
    const job = (await jobsOf(await pending()))[0]!.id;
    const [agent, other] = [await known(), await known()];
    expect(coded(await submit(agent, job, { claim_token: job, result: {} }))).toEqual([409, 'dry_run_job.conflict']);
    const { claim_token } = (await claim(agent, job)).body;
    const answers = [
      await submit(agent, job, {}),
      await submit(agent, 'x', { claim_token }),
      await submit(other, job, { claim_token }),
      await submit(agent, job, { claim_token: 'no uuid' }),
      await submit(agent, job, { claim_token, result: 'x'.repeat(2_097_152) }),
      await submit(agent, job, { claim_token, result: {} }),
      await submit(agent, job, { claim_token, result: {} }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 404, 409, 409, 413, 200, 409]);
  });

  it('go back when their agent falls silent, and fail after the third time (AG-68)', async () => {
    const id = await pending();
    const job = (await jobsOf(id))[0]!.id;
    const agent = await known();
    const keeper = createExplainKeeper({ database: api.services.database, staleSecs: 0 });
    const patient = createExplainKeeper({ database: api.services.database });
    for (const after of ['pending', 'pending', 'failed']) {
      expect((await claim(agent, job)).status).toBe(200);
      await patient.once();
      expect((await jobsOf(id))[0]?.state).toBe('claimed');
      await keeper.once();
      expect((await jobsOf(id))[0]?.state).toBe(after);
    }
    expect(await contextOf(id)).toMatchObject({
      status: 'partial',
      explain: [{ error: 'no agent answered in time', hint: null }],
    });
  });

  it('preflight jobs are ended and forgotten by the keeper (AG-71)', async () => {
    const add = (ago: string, state: string) =>
      calls.sql(
        `insert into preflight_jobs (user_id, database, environment, sql, state, timeout_ms, expires_at)
         values ('rita', 'shop', 'staging', '', $2, 1, clock_timestamp() - $1::interval)`,
        [ago, state],
      );
    await add('1 second', 'claimed');
    await add('-1 hour', 'pending');
    await add('301 seconds', 'pending');
    await createExplainKeeper({ database: api.services.database }).once();
    expect(await calls.sql('select state from preflight_jobs order by state')).toEqual([
      { state: 'expired' },
      { state: 'pending' },
    ]);
  });
});
