import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadAgentConfig } from '../../agent/config.js';
import { createDatabases } from '../../agent/databases.js';
import { createGatewayClient } from '../../agent/gateway-client.js';
import { createSnapshotSync } from '../../agent/snapshot-sync.js';
import { defaultTimings } from '../../agent/timings.js';
import type { TestApi } from '../support/api.js';
import { table } from '../support/snapshots.js';
import { databaseToml, dbaTeamToml, needsDbaToml, passesToml, roleToml } from '../support/toml.js';
import { type Agent, type AgentCalls, coded, scope, startAgentApi } from './agent-calls.js';

const toml = [
  databaseToml('shop', ['qa', 'staging', 'production', 'development'], null),
  databaseToml('fixed', ['staging']),
  databaseToml('other', ['staging'], null),
  dbaTeamToml,
  roleToml('shop-staging', ['request.view'], { databases: ['shop'], environments: ['staging', 'qa'] }),
  roleToml('viewer', ['request.view']),
  passesToml(),
  needsDbaToml('production'),
].join('');

let api: TestApi;
let calls: AgentCalls;
let agent: Agent;
let viewer: string;
let narrow: string;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ toml }));
  const scopes = ['qa', 'staging', 'production', 'development'].map((environment) => scope('shop', environment));
  agent = await calls.known({
    limit: 0,
    capabilities: { scopes: [...scopes, scope('fixed', 'staging'), scope('gone', 'staging')], features: ['fence'] },
  });
  viewer = await api.createUser('vera', { roles: ['viewer'] });
  narrow = await api.createUser('nina', { roles: ['shop-staging'] });
});
afterAll(() => api?.close());
beforeEach(() => calls.sql('delete from schema_snapshots'));

const report = (over: object = {}) => ({
  database: 'shop',
  environment: 'staging',
  dialect: 'postgresql',
  status: 'ready',
  snapshot: { tables: [table('users')] },
  error_message: null,
  ...over,
});
const sync = (over: object = {}) => agent.post('schema-sync', report(over));
const read = (path: string, token = viewer) => api.call('GET', `/api/schemas/${path}`, { token });

describe('POST /api/agent/schema-sync', () => {
  it('answers an empty object and writes an audit event about the pair', async () => {
    expect(await sync()).toMatchObject({ status: 200, body: {} });
    const [event] = await calls.sql<object>(
      `select event_type, event_category, outcome, actor_id, actor_type, resource_type, resource_id, request_id, database_name, environment,
         metadata_json from audit_events order by position desc limit 1`,
    );
    expect(event).toEqual({
      event_type: 'schema.snapshot_updated',
      event_category: 'agent',
      outcome: 'success',
      actor_id: agent.id,
      actor_type: 'agent',
      resource_type: 'schema',
      resource_id: 'shop/staging',
      request_id: null,
      database_name: 'shop',
      environment: 'staging',
      metadata_json: `{"auth_token_id":"${agent.tokenId}"}`,
    });
  });

  it.each([
    ['a pair outside the scopes of the agent', { database: 'other' }, 403, 'auth.forbidden'],
    ['a pair that is not registered', { database: 'gone' }, 400, 'validation.failed'],
    ['an unknown dialect', { dialect: 'oracle' }, 400, 'validation.failed'],
    ['an unknown status', { status: 'done' }, 400, 'validation.failed'],
    ['no status', { status: undefined }, 400, 'validation.failed'],
    ['ready without a snapshot', { snapshot: null }, 400, 'validation.failed'],
    ['a snapshot that is no object', { snapshot: [] }, 400, 'validation.failed'],
    ['a table without a name', { snapshot: { tables: [{}] } }, 400, 'validation.failed'],
  ])('refuses %s (AG-72)', async (_what, over, status, code) => {
    expect(coded(await sync(over))).toEqual([status, code]);
    expect(await calls.sql('select 1 as one from schema_snapshots')).toEqual([]);
  });

  it('refuses an agent that has never polled, and says what is wrong (AG-72)', async () => {
    const stranger = await calls.newAgent();
    expect(coded(await stranger.post('schema-sync', report()))).toEqual([403, 'auth.forbidden']);
    expect((await sync({ database: 'gone' })).body.error).toContain('not registered');
    expect((await sync({ snapshot: null })).body).toMatchObject({
      error: 'snapshot is required when status is ready',
      hint: 'body.snapshot',
    });
  });

  it('takes a body of nearly 10 MiB and refuses one above (HT-50)', async () => {
    const columns = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ ...table('x').columns[0]!, name: `column_${at}`.padEnd(60, 'x') }));
    const wide = Array.from({ length: 66 }, (_, at) => table(`t${at}`, { columns: columns(1000) }));
    expect(JSON.stringify(report({ snapshot: { tables: wide } })).length).toBeGreaterThan(9_000_000);
    expect((await sync({ snapshot: { tables: wide } })).status).toBe(200);
    const full = await read('shop?summary=false');
    expect([full.status, full.body.tables.length, full.body.tables[65].columns.length]).toEqual([200, 66, 1000]);
    const wider = [...wide, table('more', { columns: columns(9000) })];
    expect(coded(await sync({ snapshot: { tables: wider } }))).toEqual([413, 'payload.too_large']);
  });

  it('keeps the last good snapshot readable through failures (AG-73)', async () => {
    await sync();
    const good = (await read('shop')).body;
    await sync({ status: 'failed', snapshot: null, error_message: 'driver error: connection failed' });
    expect((await read('shop')).body).toEqual({ ...good, status: 'failed', error_message: 'driver error: connection failed' });
    await sync({ status: 'partial', snapshot: { tables: [] }, error_message: 'half of it' });
    expect((await read('shop')).body).toMatchObject({ status: 'partial', error_message: 'half of it', tables: good.tables });
    await sync({ snapshot: { tables: [] } });
    expect((await read('shop')).body).toMatchObject({ status: 'ready', error_message: null, tables: [] });
    const events = await calls.sql<{ event_type: string; outcome: string }>(
      `select event_type, outcome from audit_events where resource_id = 'shop/staging' order by position desc limit 3`,
    );
    expect(events.map(({ event_type: type, outcome }) => [type, outcome])).toEqual([
      ['schema.snapshot_updated', 'success'],
      ['schema.snapshot_failed', 'failure'],
      ['schema.snapshot_failed', 'failure'],
    ]);
  });

  it('tells the old and the new dialect when they differ (AG-74)', async () => {
    await sync();
    await sync({ dialect: 'mysql', status: 'failed', snapshot: null });
    await sync({ dialect: 'mysql' });
    const events = await calls.sql<{ metadata: object }>(
      `select metadata_json::jsonb - 'auth_token_id' as metadata from audit_events where resource_id = 'shop/staging' order by position desc limit 3`,
    );
    expect(events.map(({ metadata }) => metadata)).toEqual([{ old_dialect: 'postgresql', new_dialect: 'mysql' }, {}, {}]);
  });

  it('takes two syncs of a pair at once', async () => {
    const both = await Promise.all([sync(), sync({ snapshot: { tables: [] } })]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
  });
});

describe('what the agent itself sends', () => {
  it('is taken and read back as it was collected (AP-61, SC-3)', async () => {
    const client = createGatewayClient({ url: api.url, token: agent.token, ca: null, userAgent: 'test', connectTimeoutMs: 1000 });
    const config = loadAgentConfig(await agentFile(api.stateDir, api.database.url), {});
    const databases = createDatabases({ config, timings: defaultTimings, log: silent });
    const sync = createSnapshotSync(
      { config, client, databases, timings: defaultTimings, log: silent },
      new AbortController().signal,
    );
    try {
      const [target] = databases.all;
      sync.request(target!);
      await sync.idle();
      const full = await read('shop?summary=false');
      const seen = await target!.driver.snapshot(30_000, new AbortController().signal);
      expect(full.body).toMatchObject({ environment: 'staging', dialect: 'postgresql', status: 'ready' });
      expect(full.body.tables.map(({ name }: { name: string }) => name)).toContain('requests');
      const withoutRows = (tables: readonly object[]) => tables.map((one) => ({ ...one, estimated_rows: 0 }));
      expect(withoutRows(full.body.tables)).toEqual(withoutRows(seen.tables));
    } finally {
      client.close();
      await databases.close();
    }
  });

  const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

  async function agentFile(directory: string, url: string): Promise<string> {
    const file = join(directory, 'agent.toml');
    await writeFile(file, `[server]\nurl = "${api.url}"\nagent_token = "x"\n[databases.shop.staging]\nurl = "${url}"\n`);
    return file;
  }
});

describe('the dialect of a pair (SQ-1, AG-74)', () => {
  const backtick = 'select `a` from t';
  const create = (over: object = {}, token = api.tokens.admin) =>
    api.call('POST', '/api/requests', {
      token,
      body: { database: 'shop', environment: 'staging', detail: 'select 1', ...over },
    });
  const dialectOf = async (id: string) =>
    (await calls.sql<{ dialect: string | null }>('select dialect from requests where id = $1', [id]))[0]?.dialect;

  it('is unknown before the first good sync, learnt from it, and fixed by server.toml', async () => {
    expect(await dialectOf((await create()).body.id)).toBeNull();
    await sync({ status: 'failed', snapshot: null });
    expect(await dialectOf((await create()).body.id)).toBeNull();
    await sync();
    expect(await dialectOf((await create()).body.id)).toBe('postgresql');
    await sync({ database: 'fixed', dialect: 'mysql' });
    expect(await dialectOf((await create({ database: 'fixed' })).body.id)).toBe('postgresql');
    expect((await create({ database: 'fixed', detail: backtick })).status).toBe(400);
  });

  it('refuses claim and resume under another one than the text was judged in (AG-32, RQ-86)', async () => {
    await sync();
    await sync({ environment: 'production' });
    const dispatched = (await create()).body.id;
    const ann = await api.createUser('ann', { roles: ['requester'] });
    const approved = (await create({ environment: 'production' }, ann)).body.id;
    const bob = await api.createUser('bob', { groups: ['dba-team'] });
    expect((await api.call('POST', `/api/requests/${approved}/approve`, { token: bob, body: {} })).status).toBe(200);
    await sync({ dialect: 'mysql' });
    await sync({ environment: 'production', dialect: 'mysql' });
    expect(coded(await agent.claim(dispatched))).toEqual([409, 'request.conflict']);
    const resume = () => api.call('POST', `/api/requests/${approved}/resume`, { token: ann });
    expect(coded(await resume())).toEqual([409, 'request.conflict']);
    await sync();
    await sync({ environment: 'production' });
    expect((await agent.claim(dispatched)).status).toBe(200);
    expect((await resume()).status).toBe(200);
  });

  it('lets a text that was judged as PostgreSQL for want of a dialect run on PostgreSQL only (SQ-2)', async () => {
    const [one, two] = [(await create()).body.id, (await create()).body.id];
    await sync({ dialect: 'mysql' });
    expect(coded(await agent.claim(one))).toEqual([409, 'request.conflict']);
    await sync();
    expect((await agent.claim(two)).status).toBe(200);
  });
});

describe('GET /api/schemas/{database}', () => {
  it('gives names and sizes by schema and name, and everything with summary=false (SC-3)', async () => {
    await sync({ snapshot: { tables: [table('b'), table('a'), table('z', { schema_name: 'audit', estimated_rows: -1 })] } });
    const answer = await read('shop?environment=staging');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      database: 'shop',
      environment: 'staging',
      dialect: 'postgresql',
      status: 'ready',
      error_message: null,
      collected_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      tables: [
        { name: 'z', schema_name: 'audit', estimated_rows: -1, column_count: 1, constraint_count: 1, index_count: 1 },
        { name: 'a', schema_name: 'public', estimated_rows: 1200, column_count: 1, constraint_count: 1, index_count: 1 },
        { name: 'b', schema_name: 'public', estimated_rows: 1200, column_count: 1, constraint_count: 1, index_count: 1 },
      ],
    });
    const full = await read('shop?summary=false');
    const expected = { tables: [table('z', { schema_name: 'audit', estimated_rows: -1 }), table('a'), table('b')] };
    expect(JSON.stringify({ tables: full.body.tables })).toBe(
      JSON.stringify({
        tables: expected.tables.map(({ name, schema_name, estimated_rows, ...rest }) => ({
          name,
          schema_name,
          estimated_rows,
          ...rest,
        })),
      }),
    );
  });

  it('gives one table in full by name or schema.name, compared exactly (SC-7)', async () => {
    const twins = [table('dup', { schema_name: 'a' }), table('dup', { schema_name: 'b' })];
    await sync({ snapshot: { tables: [table('users'), ...twins, table('v1.t', { schema_name: 'a' })] } });
    expect((await read('shop?table=users&summary=true')).body.table).toEqual(table('users'));
    expect((await read('shop?table=b.dup')).body.table).toEqual(twins[1]);
    expect((await read('shop?table=a.v1.t')).body.table.name).toBe('v1.t');
    expect((await read('shop?table=users')).body).not.toHaveProperty('tables');
    for (const name of ['nope', 'Users', 'b.users', '', '.users'])
      expect(coded(await read(`shop?table=${name}`))).toEqual([404, 'table.not_found']);
    expect((await read('shop?table=dup')).body).toMatchObject({ code: 'table.not_found', hint: expect.stringContaining('a, b') });
  });

  it('takes the first readable environment with a good snapshot when none is named (SC-1)', async () => {
    const chosen = async (token = viewer) => (await read('shop', token)).body.environment;
    await sync({ environment: 'qa' });
    expect(await chosen()).toBe('qa');
    await sync({ environment: 'development' });
    expect(await chosen()).toBe('development');
    await sync({ environment: 'production', status: 'failed', snapshot: null });
    expect(await chosen()).toBe('development');
    await sync({ environment: 'production' });
    expect(await chosen()).toBe('production');
    expect(await chosen(narrow)).toBe('qa');
    await sync();
    expect(await chosen(narrow)).toBe('staging');
  });

  it.each([
    ['an unknown database for a role of all', 'nope', 'wide', 404, 'database.not_found'],
    ['an unknown database for a role of others', 'nope', 'narrow', 403, 'auth.forbidden'],
    ['another database for a role of others', 'fixed', 'narrow', 403, 'auth.forbidden'],
    ['an environment outside the role', 'shop?environment=production', 'narrow', 403, 'auth.forbidden'],
    ['an unknown environment', 'shop?environment=nope', 'wide', 404, 'database.not_found'],
    ['a pair without a snapshot', 'shop?environment=qa', 'wide', 404, 'schema.not_found'],
    ['a database without a snapshot', 'other', 'wide', 404, 'schema.not_found'],
    ['a bad summary', 'shop?summary=yes', 'wide', 400, 'validation.failed'],
  ])('answers %s in the order of SC-4, SC-5, SC-6 and SC-7', async (_what, path, who, status, code) => {
    await sync();
    expect(coded(await read(path, who === 'wide' ? viewer : narrow))).toEqual([status, code]);
  });

  it('hints to start an agent while there is no snapshot (SC-6)', async () => {
    expect((await read('shop')).body.hint).toContain('start an agent');
  });
});
