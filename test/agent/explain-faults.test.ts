import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { untilActive } from '../support/active-statement.js';
import { type Answer, startTestApi, type TestApi } from '../support/api.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { startTestAgent } from '../support/test-agent.js';
import { databaseToml, dbaTeamToml, passesToml, workflowToml } from '../support/toml.js';

const toml = [
  databaseToml('shop', ['staging']),
  dbaTeamToml,
  passesToml(undefined, 'operations = ["execute_select"]'),
  workflowToml({ more: 'operations = ["execute_dml"]', steps: [[{ group: 'dba-team' }]] }),
].join('');

let api: TestApi;
let target: TestDatabase;
let dana: string;
let bob: string;
beforeAll(async () => {
  [api, target] = await Promise.all([startTestApi({ toml }), createEmptyDatabase()]);
  dana = await api.createUser('dana', { roles: ['requester'] });
  bob = await api.createUser('bob', { groups: ['dba-team'] });
});
afterAll(async () => {
  await api?.close();
  await target?.drop();
});

const launcher = new URL('../../bin/svc-agent', import.meta.url).pathname;
const update = 'update parts set id = 2 where id = 1';
const post = (path: string, token: string, body: object = {}) => api.call('POST', path, { token, body });
const pair = { database: 'shop', environment: 'staging' };
const create = async (detail: string) => (await post('/api/requests', dana, { ...pair, detail })).body.id as string;
const approve = (id: string) => post(`/api/requests/${id}/approve`, bob);
const show = async (id: string) => (await api.call('GET', `/api/requests/${id}`, { token: dana })).body;
const jobOf = async (id: string) =>
  (
    await api.services.database.query<{ id: string; state: string }>('select id, state from dry_run_jobs where request_id = $1', [
      id,
    ])
  )[0]!;

describe('a fault in EXPLAIN never holds up its request', () => {
  it('RQ-29: no agent is there: created, approved and resumed all the same', async () => {
    const id = await create(update);
    expect((await show(id)).context).toMatchObject({ status: 'collecting', explain_enabled: true, explain: null });
    expect((await approve(id)).body.status).toBe('approved');
    expect((await post(`/api/requests/${id}/resume`, dana)).body.status).toBe('dispatched');
    expect((await post(`/api/requests/${id}/cancel`, dana)).status).toBe(200);
    expect(await show(id)).toMatchObject({ status: 'cancelled', context: { status: 'partial' } });
  });

  it('RQ-29: an agent answers nonsense: it is shown as it is, and nothing else changes', async () => {
    const agent = (path: string, body?: object): Promise<Answer> =>
      api.call('POST', `/api/agent/${path}`, { token: api.tokens.agent, body });
    await agent('poll', { capabilities: { scopes: [{ ...pair, marker: true }], features: ['fence'] }, limit: 0 });
    const answers = ['no plan', 5, [null, { Plan: 7 }], { query_block: { table: [] } }, false];
    for (const result of answers) {
      const id = await create(update);
      const { id: job } = await jobOf(id);
      const { claim_token } = (await agent(`dry-run/${job}/claim`)).body;
      expect((await agent(`dry-run/${job}/result`, { claim_token, result })).status).toBe(200);
      const { context, status } = await show(id);
      expect([status, context.status, context.explain[0].plan]).toEqual(['pending', 'ready', result]);
      expect((await approve(id)).body.status).toBe('approved');
      await post(`/api/requests/${id}/cancel`, dana);
    }
  });

  it('RQ-29: a table is locked: other requests run, a preflight ends in time, and the plan is told as missing', async () => {
    const holder = new pg.Client({ connectionString: target.url });
    await holder.connect();
    await holder.query('create table parts (id int primary key)');
    const agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: target.url });
    try {
      await holder.query('begin; lock table parts in access exclusive mode');
      const id = await create(update);
      const looker = new pg.Client({ connectionString: target.url });
      await looker.connect();
      await untilActive(looker, 'explain (format json) update parts');
      await looker.end();
      const read = await create('select 1 as a');
      const result = await api.call('GET', `/api/requests/${read}/result/stream`, { token: dana });
      expect([result.status, result.body.success]).toEqual([200, true]);
      const asked = await post('/api/preflight', dana, { ...pair, sql: 'select * from parts', explain_timeout_ms: 100 });
      expect(asked.status).toBe(200);
      expect(['timeout', 'error']).toContain(asked.body.impact.status);
      expect((await approve(id)).body.status).toBe('approved');
      await expect.poll(async () => (await show(id)).context.status, { timeout: 15_000 }).toBe('partial');
      expect((await show(id)).context.explain[0].error).toContain('57014');
    } finally {
      await holder.query('rollback');
      agent.stop();
      expect(await agent.exit).toBe(0);
      await holder.end();
    }
  });

  it('PF-I5: the agent dies while it plans: the preflight is answered, its job is over, and the next one gets its plan', async () => {
    const holder = new pg.Client({ connectionString: target.url });
    const looker = new pg.Client({ connectionString: target.url });
    await Promise.all([holder.connect(), looker.connect()]);
    const folder = await mkdtemp(join(tmpdir(), 'svc-agent-dies-'));
    const file = join(folder, 'agent.toml');
    await writeFile(
      file,
      `poll_interval_ms = 20\n[server]\nurl = "${api.url}"\nagent_token = "${api.tokens.agent}"\n[probes]\ndir = "."\n[databases.shop.staging]\nurl = "${target.url}"\n`,
    );
    await holder.query('create table if not exists held (id int)');
    const ask = (ms: number) => post('/api/preflight', dana, { ...pair, sql: 'select * from held', explain_timeout_ms: ms });
    const start = () => spawn(process.execPath, [launcher, '--config', file], { stdio: 'ignore' });
    const end = async (child: ReturnType<typeof start>) => {
      const exited = child.signalCode === null ? once(child, 'exit') : null;
      child.kill('SIGKILL');
      await exited;
    };
    let agent = start();
    try {
      await expect.poll(async () => (await ask(5000)).body.impact.status, { timeout: 20_000 }).toBe('completed');
      await holder.query('begin; lock table held in access exclusive mode');
      const asked = ask(8000);
      await untilActive(looker, 'explain (format json) select * from held');
      await end(agent);
      expect(await asked).toMatchObject({ status: 200, body: { status: 'requestable', impact: { status: 'timeout' } } });
      const open = `select 1 from preflight_jobs where state in ('pending', 'claimed')`;
      expect(await api.services.database.query(open)).toEqual([]);
      await holder.query('rollback');
      agent = start();
      await expect.poll(async () => (await ask(5000)).body.impact.status, { timeout: 20_000 }).toBe('completed');
    } finally {
      await end(agent);
      await Promise.all([holder.end(), looker.end(), rm(folder, { recursive: true })]);
    }
  }, 60_000);
});
