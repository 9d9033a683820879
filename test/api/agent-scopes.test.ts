import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { databaseToml, dbaTeamToml, needsDbaToml, passesToml } from '../support/toml.js';
import { type Body, coded, scope } from './agent-calls.js';
import { gatewayCalls } from './gateway-calls.js';

const toml = [
  databaseToml('shop', ['staging', 'production']),
  databaseToml('crm', ['staging', 'production']),
  dbaTeamToml,
  passesToml('staging'),
  needsDbaToml('production'),
].join('');

let api: TestApi;
let calls: ReturnType<typeof gatewayCalls>;
let alice: string;
let bob: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  calls = gatewayCalls(api);
  alice = await api.createUser('alice', { roles: ['requester', 'dba'] });
  bob = await api.createUser('bob', { roles: ['requester'], groups: ['dba-team'] });
});
afterAll(() => api?.close());

const newToken = (body: Body) =>
  api.call('POST', '/api/tokens', { token: api.tokens.admin, body: { subject_type: 'agent', ...body } });

/** A token of an agent, new unless `id` names one, and the calls with it. */
async function agentWith(agent_scopes: string[] | undefined, id = `agent-${randomUUID()}`) {
  const made = await newToken({ subject_id: id, agent_scopes });
  expect(made.status).toBe(201);
  const { token } = made.body;
  const post = (path: string, body?: unknown) => api.call('POST', `/api/agent/${path}`, { token, body });
  const poll = (pairs: [string, string][], over: Body = {}) =>
    post('poll', {
      capabilities: { scopes: pairs.map(([database, environment]) => scope(database, environment)), features: ['fence'] },
      ...over,
    });
  return { id, token, tokenId: made.body.id as string, post, poll };
}

const production: [string, string] = ['shop', 'production'];
const scopesOf = async (id: string) =>
  (await calls.sql<{ scopes: Body[] }>('select scopes from agents where id = $1', [id]))[0]?.scopes;

/** Alice's UPDATE on production, which Bob has approved. */
async function approvedUpdate(): Promise<string> {
  const id = await calls.created(alice, { operation: 'execute_dml', detail: 'UPDATE parts SET qty = 0 WHERE id = 9' });
  expect((await calls.act(bob, id, 'approve')).status).toBe(200);
  expect((await calls.act(alice, id, 'resume')).status).toBe(200);
  return id;
}

const emptySchema = (over: Body = {}) => ({
  database: 'shop',
  environment: 'production',
  dialect: 'postgresql',
  status: 'ready',
  snapshot: { tables: [] },
  ...over,
});
const storedSchemas = () => calls.sql('select * from schema_snapshots order by database, environment');

/** What an adversary with an agent token does: serve somebody else's production. */
async function attack(agent: Awaited<ReturnType<typeof agentWith>>, id: string) {
  const polled = await agent.poll([production]);
  const claimed = await agent.post(`jobs/${id}/claim`);
  const executionId = claimed.body.execution_id ?? randomUUID();
  const submitted = await agent.post(`jobs/${executionId}/result`, { success: true, outcome: 'committed', rows_affected: 1 });
  const synced = await agent.post('schema-sync', emptySchema());
  return { polled, statuses: [polled, claimed, submitted, synced].map(({ status }) => status) };
}

describe('a token that serves another pair (HD-11)', () => {
  it('cannot answer "committed" for an approved change nor replace the schema of its database, as one without scopes can', async () => {
    const id = await approvedUpdate();
    const before = await storedSchemas();
    const scoped = await agentWith(['crm/*', 'shop/staging']);
    const { polled, statuses } = await attack(scoped, id);
    expect(statuses).toEqual([200, 403, 404, 403]);
    expect(polled.body).toMatchObject({ jobs: [], refused_scopes: [{ database: 'shop', environment: 'production' }] });
    expect(polled.text).not.toContain('UPDATE parts');
    expect(await scopesOf(scoped.id)).toEqual([]);
    expect(await storedSchemas()).toEqual(before);
    expect((await calls.show(alice, id)).body.status).toBe('dispatched');

    const unscoped = await attack(await agentWith(undefined), id);
    expect(unscoped.statuses).toEqual([200, 200, 200, 200]);
    expect(unscoped.polled.body.refused_scopes).toEqual([]);
    expect((await calls.show(alice, id)).body.status).toBe('executed');
  });

  it('gets the jobs of its own pairs beside the refused ones', async () => {
    const agent = await agentWith(['*/staging']);
    const id = await calls.created(alice, { environment: 'staging' });
    const polled = await agent.poll([production, ['shop', 'staging'], ['crm', 'staging'], ['crm', 'production'], production]);
    expect(polled.body.jobs.map((job: Body) => job.id)).toEqual([id]);
    expect(polled.body.refused_scopes).toEqual([
      { database: 'shop', environment: 'production' },
      { database: 'crm', environment: 'production' },
    ]);
    expect((await scopesOf(agent.id))?.map((one) => `${one.database}/${one.environment}`)).toEqual([
      'shop/staging',
      'crm/staging',
    ]);
    expect((await agent.post(`jobs/${id}/claim`)).status).toBe(200);
  });

  it('claims nothing by a request id it was told, with or without a poll', async () => {
    const id = await approvedUpdate();
    const agent = await agentWith(['shop/staging']);
    expect(coded(await agent.post(`jobs/${id}/claim`))).toEqual([404, 'agent.not_found']);
    await agent.poll([['shop', 'staging']]);
    expect(coded(await agent.post(`jobs/${id}/claim`))).toEqual([403, 'auth.forbidden']);
    expect(coded(await agent.post(`jobs/${id}/claim`, { claim_id: randomUUID() }))).toEqual([403, 'auth.forbidden']);
    await calls.act(alice, id, 'cancel');
  });

  it('replaces no schema by other spellings of a pair', async () => {
    const agent = await agentWith(['crm/*']);
    await agent.poll([['crm', 'staging'], production]);
    const names: [string, string][] = [
      ['shop', 'production'],
      ['Shop', 'production'],
      ['*', 'production'],
      ['crm', '*'],
      ['crm/staging/../../shop', 'production'],
      ['crm', 'production'],
    ];
    for (const [database, environment] of names)
      expect([database, (await agent.post('schema-sync', emptySchema({ database, environment }))).status]).toEqual([
        database,
        403,
      ]);
    expect((await agent.post('schema-sync', emptySchema({ database: 'crm', environment: 'staging' }))).status).toBe(200);
  });

  it('is not counted as an agent that serves the pair', async () => {
    await calls.sql(`update agents set last_seen_at = last_seen_at - interval '1 hour'`);
    const id = await approvedUpdate();
    await (await agentWith(['crm/*'])).poll([production]);
    expect((await calls.show(alice, id)).body.queue_hint).toBe('no_agents');
    await calls.act(alice, id, 'cancel');
  });

  it('bears a poll that names a thousand pairs, and records none', async () => {
    const agent = await agentWith(['shop/staging']);
    const many = Array.from({ length: 1000 }, (_, index): [string, string] => [`d${index}`, 'production']);
    const answer = await agent.poll(many);
    expect([answer.status, answer.body.refused_scopes.length]).toEqual([200, 1000]);
    expect(await scopesOf(agent.id)).toEqual([]);
    expect((await agent.poll([...many, production])).status).toBe(400);
  });
});

describe('two tokens of one agent (HD-11)', () => {
  it('each serve their own pairs, whatever the other has recorded', async () => {
    const wide = await agentWith(['shop/production']);
    const narrow = await agentWith(['shop/staging'], wide.id);
    const id = await approvedUpdate();
    await wide.poll([production]);
    expect(coded(await narrow.post(`jobs/${id}/claim`))).toEqual([403, 'auth.forbidden']);
    expect((await narrow.post('schema-sync', emptySchema())).status).toBe(403);
    const claimed = await wide.post(`jobs/${id}/claim`);
    expect(claimed.status).toBe(200);
    const execution = claimed.body.execution_id;
    const result = { success: true, outcome: 'committed', rows_affected: 1 };
    expect((await narrow.post(`jobs/${execution}/heartbeat`)).status).toBe(403);
    expect((await narrow.post(`jobs/${execution}/result`, result)).status).toBe(403);
    expect((await (await agentWith(['shop/*'])).post(`jobs/${execution}/result`, result)).status).toBe(403);
    // A successor that serves the pair may take over from a token that is being replaced.
    const successor = await agentWith(['shop/*'], wide.id);
    expect((await successor.post(`jobs/${execution}/heartbeat`)).status).toBe(200);
    expect((await successor.post(`jobs/${execution}/result`, result)).body.status).toBe('executed');
  });

  it('the token that claimed tells how it went, also when it was narrowed since', async () => {
    const agent = await agentWith(['shop/production']);
    await agent.poll([production]);
    const id = await approvedUpdate();
    const execution = (await agent.post(`jobs/${id}/claim`)).body.execution_id;
    await calls.sql(`update tokens set agent_scopes = '{crm/staging}' where id = $1`, [agent.tokenId]);
    expect((await agent.post(`jobs/${id}/claim`, { claim_id: randomUUID() })).status).toBe(403);
    expect((await agent.post(`jobs/${execution}/heartbeat`)).status).toBe(200);
    expect((await agent.post(`jobs/${execution}/result`, { success: true })).body.status).toBe('executed');
  });

  it('a waiting poll of a token that is narrowed ends without what it may no longer see', async () => {
    const agent = await agentWith(['shop/*']);
    const waiting = agent.poll([['shop', 'staging']], { wait_ms: 20_000 });
    await new Promise((resolve) => setTimeout(resolve, 500));
    await calls.sql(`update tokens set agent_scopes = '{crm/staging}' where id = $1`, [agent.tokenId]);
    const id = await calls.created(alice, { environment: 'staging', detail: 'select 42' });
    expect((await waiting).body.jobs).toEqual([]);
    await calls.act(alice, id, 'cancel');
  });
});

describe('plans outside the scopes (HD-11)', () => {
  const jobOf = async (id: string) =>
    (await calls.sql<{ id: string }>('select id from dry_run_jobs where request_id = $1', [id]))[0]!.id;

  it('are neither handed out nor taken', async () => {
    const id = await calls.created(alice, { detail: 'select * from parts' });
    const job = await jobOf(id);
    const served = await agentWith(['shop/production']);
    const other = await agentWith(['shop/staging'], served.id);
    await served.poll([production]);
    expect((await other.post(`dry-run/${job}/claim`)).status).toBe(403);
    const { claim_token } = (await served.post(`dry-run/${job}/claim`)).body;
    expect((await other.post(`dry-run/${job}/result`, { claim_token, result: [{ Plan: {} }] })).status).toBe(403);
    expect((await served.post(`dry-run/${job}/result`, { claim_token, result: [{ Plan: {} }] })).status).toBe(200);
  });

  it('of a preflight are refused from a token that was not given them, and outside its scopes', async () => {
    const served = await agentWith(['shop/production']);
    const other = await agentWith(['shop/staging'], served.id);
    await served.poll([production]);
    const preflight = api.call('POST', '/api/preflight', {
      token: alice,
      body: { database: 'shop', environment: 'production', sql: 'select * from parts' },
    });
    const job = (await served.poll([production], { wait_ms: 10_000 })).body.preflight_jobs[0];
    const answer = { job_id: job.id, claim_token: job.claim_token, result: [{ Plan: {} }] };
    expect(coded(await other.post('preflight-result', answer))).toEqual([403, 'auth.forbidden']);
    expect(coded(await (await agentWith(['shop/production'])).post('preflight-result', answer))).toEqual([
      410,
      'preflight_job.gone',
    ]);
    expect((await served.post('preflight-result', answer)).status).toBe(200);
    expect((await preflight).status).toBe(200);
  });
});

describe('agents.default_scopes and agents.require_scopes', () => {
  const startWith = (more: string) => startTestApi({ toml: `${toml}\n[agents]\n${more}` });

  it('give their scopes to tokens that are made without, the bootstrap token among them', async () => {
    const other = await startWith('default_scopes = ["shop/staging"]');
    try {
      const made = await other.call('POST', '/api/tokens', {
        token: other.tokens.admin,
        body: { subject_id: 'agent-eu', subject_type: 'agent' },
      });
      expect(made.body.agent_scopes).toEqual(['shop/staging']);
      expect(made.body).not.toHaveProperty('warnings');
      for (const token of [made.body.token, other.tokens.agent]) {
        const polled = await other.call('POST', '/api/agent/poll', {
          token,
          body: { capabilities: { scopes: [scope('shop', 'staging'), scope('shop', 'production')] } },
        });
        expect(polled.body.refused_scopes).toEqual([{ database: 'shop', environment: 'production' }]);
      }
    } finally {
      await other.close();
    }
  });

  it('refuse a token without scopes everywhere but where a run that has begun is told', async () => {
    const other = await startWith('require_scopes = false');
    try {
      const theirs = gatewayCalls(other);
      const agent = (path: string, body: unknown = {}) =>
        other.call('POST', `/api/agent/${path}`, { token: other.tokens.agent, body });
      await theirs.poll(['shop/staging']);
      const rita = await other.createUser('rita', { roles: ['requester'] });
      const run = await theirs.claimed(await theirs.created(rita, { environment: 'staging' }));
      const file = join(other.stateDir, 'server.toml');
      await writeFile(file, (await readFile(file, 'utf8')).replace('require_scopes = false', 'require_scopes = true'));
      other.reload();
      await expect.poll(() => theirs.poll(['shop/staging']).then(coded), { timeout: 10_000 }).toEqual([403, 'auth.forbidden']);
      const paths = [
        'poll',
        `jobs/${run.id}/claim`,
        `dry-run/${run.id}/claim`,
        `dry-run/${run.id}/result`,
        'preflight-result',
        'schema-sync',
      ];
      for (const path of paths) expect([path, ...coded(await agent(path))]).toEqual([path, 403, 'auth.forbidden']);
      const keys = await other.call('GET', '/api/public-key', { token: other.tokens.agent });
      expect([keys.status, keys.body.error]).toEqual([403, 'this agent token has no scopes']);
      expect((await agent(`jobs/${run.executionId}/heartbeat`)).status).toBe(200);
      expect((await agent(`jobs/${run.executionId}/result`, { success: true })).body.status).toBe('executed');
      // One that says it serves everything has said so.
      const body = { subject_id: 'agent-all', subject_type: 'agent', agent_scopes: ['*/*'] };
      const all = (await other.call('POST', '/api/tokens', { token: other.tokens.admin, body })).body;
      expect((await theirs.poll(['shop/staging', 'crm/production'], all.token)).body.refused_scopes).toEqual([]);
    } finally {
      await other.close();
    }
  });
});

describe('making a token with scopes (HD-10)', () => {
  it('shows them in the answer, the list and inspect, and warns of a token without', async () => {
    const made = (await newToken({ subject_id: 'agent-eu', agent_scopes: ['shop/production', 'crm/*', 'shop/production'] })).body;
    expect(made.agent_scopes).toEqual(['shop/production', 'crm/*']);
    expect(made).not.toHaveProperty('warnings');
    const admin = { token: api.tokens.admin };
    const listed = (await api.call('GET', '/api/tokens', admin)).body.tokens.find((one: Body) => one.id === made.id);
    const inspected = (await api.call('GET', `/api/tokens/${made.id}/inspect`, admin)).body;
    expect([listed.agent_scopes, inspected.agent_scopes]).toEqual([made.agent_scopes, made.agent_scopes]);
    const unscoped = (await newToken({ subject_id: 'agent-us' })).body;
    expect([unscoped.agent_scopes, unscoped.warnings]).toEqual([null, ['unscoped']]);
    const misspelt = (await newToken({ subject_id: 'agent-eu', agent_scopes: ['shop/*', 'shop/nowhere'] })).body;
    expect([misspelt.agent_scopes, misspelt.warnings]).toEqual([['shop/*', 'shop/nowhere'], ['scope_not_registered']]);
    const [event] = await calls.sql<{ metadata: Body }>(
      `select metadata_json::jsonb as metadata from audit_events where event_type = 'token.created' and resource_id = $1`,
      [made.id],
    );
    expect(event?.metadata.agent_scopes).toEqual(['shop/production', 'crm/*']);
    const agents = (await api.call('GET', '/api/agents', admin)).body.agents;
    const shown = agents.filter((one: Body) => one.id === 'agent-eu' || one.id === 'agent-us');
    expect(Object.fromEntries(shown.map((one: Body) => [one.id, one.unscoped]))).toEqual({ 'agent-eu': false, 'agent-us': true });
  });

  it.each<[string, unknown, string]>([
    ['no pair', ['shop'], 'body.agent_scopes[0]'],
    ['three names', ['shop/a/b'], 'body.agent_scopes[0]'],
    ['a capital', ['crm/*', 'Shop/production'], 'body.agent_scopes[1]'],
    ['a part of a wildcard', ['shop/prod*'], 'body.agent_scopes[0]'],
    ['an empty name', ['/production'], 'body.agent_scopes[0]'],
    ['white space', ['shop/ production'], 'body.agent_scopes[0]'],
    ['a line end', ['shop/production\n'], 'body.agent_scopes[0]'],
    ['a number', [1], 'body.agent_scopes[0]'],
    ['a name of 64 characters', [`${'a'.repeat(64)}/b`], 'body.agent_scopes[0]'],
    ['none', [], 'body.agent_scopes'],
    ['null', null, 'body.agent_scopes'],
    ['a text', 'shop/production', 'body.agent_scopes'],
    ['101 of them', Array.from({ length: 101 }, (_, index) => `d${index}/*`), 'body.agent_scopes'],
  ])('is 400 with %s', async (_, agent_scopes, place) => {
    const answer = await newToken({ subject_id: 'agent-x', agent_scopes });
    expect([...coded(answer), answer.body.hint]).toEqual([400, 'validation.failed', place]);
  });

  it('is 400 for a token of a user', async () => {
    const answer = await api.call('POST', '/api/tokens', {
      token: alice,
      body: { subject_id: 'alice', subject_type: 'user', agent_scopes: ['*/*'] },
    });
    expect([...coded(answer), answer.body.hint]).toEqual([400, 'validation.failed', 'body.agent_scopes']);
  });
});
