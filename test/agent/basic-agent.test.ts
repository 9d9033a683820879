import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { untilActive } from '../support/active-statement.js';
import { type BasicAgent, startBasicAgent } from '../support/basic-agent.js';
import { type GatewayBench, startGatewayBench } from './gateway-bench.js';

let bench: GatewayBench;
let basic: BasicAgent;
beforeAll(async () => {
  bench = await startGatewayBench();
  basic = await newBasicAgent();
});
afterEach(async () => {
  await bench.stopAll();
  await bench.target.query('delete from entries');
});
afterAll(() => bench?.close());

const scope = { database: 'shop', environment: 'staging' };
const newBasicAgent = async () =>
  startBasicAgent({ url: bench.api.url, token: await bench.agentToken(), targetUrl: bench.targetUrl, scope });
const insert = (word: string) => `insert into entries values ('${word}')`;
const result = (id: string) => bench.calls.content(bench.dana, id);
const coded = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];

/** Claimed by the basic agent, which then is silent until its lease has ended. */
async function lost(detail: string) {
  const id = await bench.create(detail);
  expect(await basic.poll()).toEqual([id]);
  const { body } = await basic.claim(id);
  await bench.calls.fireClock(id, 'lease');
  expect(await bench.statusOf(id)).toBe('execution_lost');
  return { id, claim: body };
}

describe('an agent that knows only the basic protocol, against a real gateway (AG-60)', () => {
  it('runs a read: its rows arrive', async () => {
    const id = await bench.create(`select 7 as n, 'ä' as t`);
    expect(await basic.work()).toEqual([id]);
    expect(await bench.statusOf(id)).toBe('executed');
    expect((await result(id)).body.result_data).toEqual({ columns: ['n', 't'], rows: [{ n: 7, t: 'ä' }] });
    expect(await bench.newestRun(id)).toMatchObject({ fence: 1, outcome: 'committed', status: 'completed' });
  });

  it('runs a write: its row count arrives, and no marker is asked for', async () => {
    const id = await bench.create(`insert into entries values ('a'), ('b')`);
    expect(await basic.poll()).toEqual([id]);
    const { body } = await basic.claim(id);
    expect(body).toMatchObject({
      marker: 'none',
      fence: 1,
      unresolved_fences: [],
      unresolved_executions: [],
      execution_plan: null,
      execution_plan_json: null,
    });
    expect((await basic.run(body)).body).toEqual({ request_id: id, status: 'executed' });
    expect(await bench.words()).toEqual(['a', 'b']);
    expect((await result(id)).body).toMatchObject({ rows_affected: 2 });
  });

  it('reports a failure without an outcome: the request failed, with nothing done', async () => {
    const id = await bench.create('insert into nowhere values (1)');
    expect(await basic.work()).toEqual([id]);
    expect(await bench.statusOf(id)).toBe('failed');
    expect(await bench.newestRun(id)).toMatchObject({
      outcome: 'rolled_back',
      error_message: 'relation "nowhere" does not exist',
    });
  });

  it('verifies the token of every claim with one key and the first signature, and no changed claim (ET-04, section 9)', async () => {
    const id = await bench.create(insert('checked'));
    const { body } = await basic
      .claim(id)
      .then((first) => (first.status === 200 ? first : basic.poll().then(() => basic.claim(id))));
    expect(basic.tokenProblem(body)).toBeNull();
    for (const [change, problem] of [
      [{ detail: insert('other') }, 'detail_hash mismatch'],
      [{ database: 'ledger' }, 'database mismatch'],
      [{ environment: 'production' }, 'environment mismatch'],
      [{ request_id: crypto.randomUUID() }, 'request_id mismatch'],
    ] as const)
      expect(basic.tokenProblem({ ...body, ...change })).toBe(problem);
    const token = JSON.parse(body.execution_token);
    const swapped = { database: token.environment, environment: token.database };
    const execution_token = JSON.stringify({ ...token, ...swapped });
    expect(basic.tokenProblem({ ...body, ...swapped, execution_token })).toBe('signature invalid');
    for (const over of [{ requester_role: 'admin' }, { requester_subject_id: 'eve' }, { expires_at: '2099-01-01T00:00:00Z' }])
      expect(basic.tokenProblem({ ...body, execution_token: JSON.stringify({ ...token, ...over }) })).toBe('signature invalid');
    expect((await basic.run({ ...body, detail: insert('other') })).body.status).toBe('failed');
    expect(await bench.words()).toEqual([]);
  });

  it('is told of a cancel by a heartbeat, and its failure ends the request as cancelled (AG-62, AG-45)', async () => {
    const id = await bench.create(`insert into entries select 'slow' from pg_sleep(60)`);
    const working = basic.work();
    await untilActive(bench.target, 'pg_sleep(60)');
    expect((await bench.cancel(id)).body.cancel_requested).toBe(true);
    expect(await working).toEqual([id]);
    expect(await bench.statusOf(id)).toBe('cancelled');
    expect(await bench.words()).toEqual([]);
  });

  it('that finds the cancel too late reports its success, and the request is executed (AG-63)', async () => {
    const id = await bench.create(insert('late'));
    await basic.poll();
    const { body } = await basic.claim(id);
    await bench.cancel(id);
    expect((await basic.heartbeat(body.execution_id)).body.cancelled).toBe(true);
    expect((await basic.run(body)).body.status).toBe('executed');
    expect(await bench.words()).toEqual(['late']);
  });
});

describe('a lost lease of such an agent (AG-51, AG-57, AG-58)', () => {
  it('of a read: it may be resumed, the same agent takes it again, and its old execution is gone', async () => {
    const { id, claim } = await lost('select 1 as n');
    expect((await bench.resume(id)).status).toBe(200);
    expect(await basic.poll()).toEqual([id]);
    const again = (await basic.claim(id)).body;
    expect(again).toMatchObject({ fence: 2, unresolved_fences: [] });
    expect(coded(await basic.heartbeat(claim.execution_id))).toEqual([410, 'execution.gone']);
    expect(coded(await basic.run(claim))).toEqual([410, 'execution.gone']);
    expect((await basic.run(again)).body.status).toBe('executed');
  });

  it('of a write: nobody can prove what happened, so it cannot be resumed; its own late result still ends it', async () => {
    const { id, claim } = await lost(insert('unproven'));
    const refused = await bench.resume(id);
    expect(coded(refused)).toEqual([409, 'request.conflict']);
    expect(refused.body.hint).toBe('the outcome of attempt 1 cannot be proven; check the database and create a new request');
    expect((await basic.run(claim)).body.status).toBe('executed');
    expect(await bench.words()).toEqual(['unproven']);
  });

  it('a write lost under a marker is neither offered to it nor given: it goes to an agent that looks for the marker', async () => {
    bench.start({ token: await bench.agentToken() });
    expect(await bench.ended(await bench.create(insert('with the first marker')))).toBe('executed');
    await bench.stopAll();
    await bench.calls.poll(['shop/staging']);
    const { id } = await bench.calls.claimed(await bench.create(insert('proven')));
    await bench.calls.fireClock(id, 'lease');
    expect((await bench.resume(id)).status).toBe(200);
    expect(await basic.poll()).toEqual([]);
    expect(coded(await basic.claim(id))).toEqual([409, 'request.conflict']);
    bench.start({ token: await bench.agentToken() });
    expect(await bench.ended(id)).toBe('executed');
    expect(await bench.newestRun(id)).toMatchObject({ fence: 2, outcome: 'committed' });
    expect(await bench.words()).toContain('proven');
  });
});
