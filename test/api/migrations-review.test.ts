import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { databaseToml, dbaTeamToml, needsDbaToml, roleToml } from '../support/toml.js';
import { coded } from './agent-calls.js';
import { gatewayCalls } from './gateway-calls.js';

const toml = [
  databaseToml('shop', ['staging', 'strict', 'loose', 'spelt']),
  databaseToml('store', ['staging'], 'mysql'),
  dbaTeamToml,
  needsDbaToml(),
  roleToml('looker', ['request.preflight', 'request.dml']),
  '[[sql_review]]\nenvironment = "strict"\nmigrations = "block"\n',
  '[[sql_review]]\nenvironment = "loose"\nmigrations = "off"\n',
].join('');

let api: TestApi;
let alice: string;
let root: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  alice = await api.createUser('alice', { roles: ['requester'] });
  root = await api.createUser('root', { roles: ['admin'] });
});
afterAll(() => api?.close());

const attack = 'delete from items; drop table items;';
const bundle = (sql: string[], direction: 'up' | 'down' = 'up') =>
  JSON.stringify({
    format: 'v2',
    direction,
    versions: sql.map((_, index) => `2031010100000${index}`),
    migrations: sql.map((text, index) => ({ version: `2031010100000${index}`, sql: text, transactional: true })),
    dir_sha256: 'ab',
    max_count: 1,
  });
const create = (detail: string, over: Record<string, unknown> = {}, token = alice) =>
  api.call('POST', '/api/requests', {
    token,
    body: { database: 'shop', environment: 'staging', operation: 'migrate_up', detail, ...over },
  });
const preflight = (sql: string, over: Record<string, unknown> = {}, token = alice) =>
  api.call('POST', '/api/preflight', {
    token,
    body: { database: 'shop', environment: 'staging', operation: 'migrate_up', sql, ...over },
  });
const shown = async (id: string) => (await api.call('GET', `/api/requests/${id}`, { token: alice })).body;

describe('the review of migrations (HD-95)', () => {
  it('shows the approver what an ordinary migration does: delete from items; drop table items', async () => {
    const created = await create(bundle(['create table more (id int)', attack]));
    expect([created.status, created.body.status]).toEqual([201, 'pending']);
    const { context, decision_trace: trace } = await shown(created.body.id);
    const finding = (rule: string, statement: number) => ({
      rule,
      level: 'Warn',
      message: expect.any(String),
      statement_index: statement,
      version: '20310101000001',
    });
    expect(context).toMatchObject({
      status: 'ready',
      risk: null,
      tables: null,
      explain: null,
      sql_review: {
        blocked: false,
        findings: [finding('NoWhereDelete', 0), finding('DropTable', 1), finding('MixedDdlDml', 0)],
      },
    });
    expect(trace.sql_review).toMatchObject({ policy_id: 'builtin-default', findings_count: 3, parse_failed: false });
    expect(trace.risk).toMatchObject({ level: 'unavailable', schema_status: 'unavailable' });
  });

  it('looks at the direction that was asked for', async () => {
    const created = await create(bundle(['drop table items'], 'down'), { operation: 'migrate_down' });
    expect((await shown(created.body.id)).context.sql_review.findings).toMatchObject([{ rule: 'DropTable' }]);
  });

  it('blocks where the policy says so, in words and in the audit log, and is lifted like other blocks', async () => {
    const strict = { environment: 'strict' };
    const refused = await create(bundle([attack]), strict);
    expect([...coded(refused), refused.body.error]).toEqual([
      400,
      'validation.failed',
      expect.stringMatching(/^DELETE without .*; DROP TABLE/),
    ]);
    const [event] = await api.services.database.query<{ outcome: string; metadata: unknown; detail: string }>(
      `select outcome, metadata_json::jsonb as metadata, detail_fingerprint as detail from audit_events where event_type = 'request.blocked_by_review'`,
    );
    expect(event).toMatchObject({ outcome: 'denied', metadata: { blocked_rules: ['no_where_delete', 'drop_table'] } });
    expect(event?.detail).not.toContain('items');
    expect((await create(bundle(['create table t (id int)']), strict)).status).toBe(201);
    const emergency = { ...strict, emergency: true, reason: 'now' };
    expect((await create(bundle(['drop table items']), emergency, root)).body.hint).toContain('allow_ddl');
    expect((await create(bundle([attack]), { ...emergency, allow_ddl: true }, root)).body.error).toMatch(/^not bypassable/);
    expect((await create(bundle(['drop table items']), { ...emergency, allow_ddl: true }, root)).body.status).toBe('dispatched');
  });

  it('finds nothing where it is off, and nothing in what holds no SQL', async () => {
    const loose = await create(bundle([attack]), { environment: 'loose' });
    const { context, decision_trace: trace } = await shown(loose.body.id);
    expect([context.sql_review, trace.sql_review]).toMatchObject([
      { findings: [], blocked: false },
      { policy_id: 'srp:any:loose', findings_count: 0, parse_failed: false },
    ]);
    const status = await create('', { operation: 'migrate_status' });
    expect((await shown(status.body.id)).decision_trace.sql_review).toEqual({
      policy_id: null,
      findings_count: 0,
      parse_failed: false,
    });
  });

  it('says where a text of MySQL was not understood', async () => {
    const odd = await create(bundle(['optimize the planet']), { database: 'store' });
    expect((await shown(odd.body.id)).decision_trace.sql_review.parse_failed).toBe(true);
  });

  it('is what a preflight of the bundle answers', async () => {
    const answer = await preflight(bundle([attack]));
    expect(answer.body).toMatchObject({
      status: 'warning',
      risk: 'unavailable',
      requires_ddl_permission: false,
      classification: {
        statement_type: 'MIGRATION',
        operation: 'migrate_up',
        mutating: true,
        multi_statement: true,
        statement_count: 2,
      },
      review: {
        blocked: false,
        findings: [
          { code: 'no_where_delete', action: 'warn', statement_index: 0, version: '20310101000000' },
          { code: 'drop_table', action: 'warn', statement_index: 1 },
          { code: 'mixed_ddl_dml' },
        ],
      },
      policy: {
        sql_valid: true,
        caller_can_submit: true,
        would_auto_approve: false,
        approvers: [{ selector: 'group:dba-team' }],
      },
      impact: { status: 'skipped' },
    });
    expect((await preflight(bundle([attack]), { environment: 'strict' })).body).toMatchObject({
      status: 'blocked',
      review: { blocked: true },
    });
    expect((await preflight(bundle(['drop table t'], 'down'), { operation: 'migrate_down' })).body.review.findings).toHaveLength(
      1,
    );
    const events = await api.services.database.query<{ detail: string; operation: string }>(
      `select detail_fingerprint as detail, operation from audit_events where event_type = 'preflight.attempted' and operation = 'migrate_up'`,
    );
    expect(events).toContainEqual({ detail: 'migrate_up: versions=[20310101000000] max_count=1', operation: 'migrate_up' });
  });

  it('of a bad bundle is 400 by its form, blocked by its SQL, and takes a mebibyte', async () => {
    expect(coded(await preflight('{}'))).toEqual([400, 'validation.failed']);
    expect(coded(await preflight('select 1'))).toEqual([400, 'validation.failed']);
    expect(coded(await preflight(bundle(['select 1']), { operation: 'migrate_down' }))).toEqual([400, 'validation.failed']);
    expect(coded(await preflight(bundle(['select 1']), { operation: 'migrate_status' }))[0]).toBe(200);
    const blocked = async (sql: string) => (await preflight(bundle([sql]))).body;
    expect(await blocked('this is not sql')).toMatchObject({
      status: 'blocked',
      review: { findings: [{ code: 'parse_failure' }] },
    });
    expect(await blocked('commit')).toMatchObject({
      status: 'blocked',
      review: { findings: [{ code: 'rejected' }] },
      fix_hints: [expect.stringContaining('transaction control'), 'migrations[0].sql'],
    });
    const large = bundle([`select '${'x'.repeat(1_048_000)}'`]);
    expect((await preflight(large)).status).toBe(200);
    expect(coded(await preflight(`${large}${' '.repeat(2000)}`))).toEqual([400, 'validation.failed']);
  });

  it('is a key of the policy lists, and a wrong one is told at the start', async () => {
    const { body } = await api.call('GET', '/api/sql-review-policies', { token: root });
    expect(body.sql_review_policies.map(({ id, migrations }: { id: string; migrations: string }) => [id, migrations])).toEqual([
      ['srp:any:strict', 'block'],
      ['srp:any:loose', 'off'],
      ['builtin-default', 'warn'],
    ]);
    await expect(startTestApi({ toml: `${toml}[[sql_review]]\ndatabase = "shop"\nmigrations = "maybe"\n` })).rejects.toThrow(
      'sql_review[2].migrations: must be one of',
    );
  });

  it('names the field that the call has where the bundle as a whole is wrong (HT-91)', async () => {
    const answers = [await create('{'), await preflight('{')];
    expect(answers.map(({ status, body }) => [status, body.hint])).toEqual([
      [400, 'body.detail'],
      [400, 'body.sql'],
    ]);
  });
});

describe('what is applied', () => {
  it('tells in a preflight which versions an agent saw applied, but not where they may be reverted (MI-45)', async () => {
    const told = async (over: Record<string, unknown> = {}, token = alice) =>
      (await preflight(bundle(['select 1', 'select 2']), over, token)).body.migrations;
    const sync = async (applied_versions: unknown, more: object = {}) => {
      const known = gatewayCalls(api);
      await known.poll(['shop/staging']);
      const snapshot = { tables: [], applied_versions, ...more };
      const body = { database: 'shop', environment: 'staging', dialect: 'postgresql', status: 'ready', snapshot };
      return (await api.call('POST', '/api/agent/schema-sync', { token: api.tokens.agent, body })).status;
    };
    expect(await told()).toBeNull();
    expect(await sync(undefined)).toBe(200);
    expect(await told()).toBeNull();
    expect(await sync(['20310101000001', '20990101000000'])).toBe(200);
    expect(await told()).toEqual({ seen_at: expect.stringMatching(/Z$/), applied: ['20310101000001'] });
    expect(await told({ environment: 'loose' })).toBeNull();
    const blind = await api.createUser('blind', { roles: ['looker'] });
    expect(await told({}, blind)).toBeNull();
    const up = (await create(bundle(['select 1', 'select 2']))).body.id;
    const read = async (token: string) => (await api.call('GET', `/api/requests/${up}`, { token })).body;
    expect(await read(alice)).toMatchObject({ status: 'pending', migrations: await told() });
    expect((await read(root)).migrations.applied).toEqual(['20310101000001']);
    expect(JSON.stringify((await api.call('GET', '/api/requests', { token: root })).body)).not.toContain('seen_at');
    expect((await api.call('POST', `/api/requests/${up}/cancel`, { token: alice, body: {} })).status).toBe(200);
    expect(await read(alice)).toMatchObject({ status: 'cancelled', migrations: null });
    for (const bad of [['a b'], ['x'.repeat(256)], [1], 'all']) expect(await sync(bad)).toBe(400);
    expect((await told())?.applied).toEqual(['20310101000001']);
    const plain = { database: 'shop', environment: 'staging', sql: 'select 1', include_explain: false };
    expect((await api.call('POST', '/api/preflight', { token: alice, body: plain })).body).not.toHaveProperty('migrations');
    const down = await create(bundle(['select 1'], 'down'), { operation: 'migrate_down' });
    expect((await told())?.applied).toEqual(['20310101000001']);
    // As if it had run: at once, long before the snapshot, at this moment, lost.
    for (const [status, minutes, isTold] of [
      ['executed', 0, false],
      ['executed', 10, true],
      ['failed', 0, false],
      ['running', 10, false],
      ['execution_lost', 10, false],
      ['rejected', 0, true],
    ] as const) {
      await api.services.database.query(
        `update requests set status = $2, fence = $4, updated_at = clock_timestamp() - $3::int * interval '1 minute' where id = $1`,
        [down.body.id, status, minutes, status === 'rejected' ? 0 : 1],
      );
      expect([status, minutes, (await told()) !== null]).toEqual([status, minutes, isTold]);
    }
  });

  it('is not told where a lost revert may have taken it back, though its request is approved again (MI-45)', async () => {
    const dora = await api.createUser('dora', { roles: ['approver'], groups: ['dba-team'] });
    const { act, claimed, fireClock, poll, show } = gatewayCalls(api);
    await poll(['shop/loose']);
    const snapshot = { tables: [], applied_versions: ['20310101000000'] };
    const body = { database: 'shop', environment: 'loose', dialect: 'postgresql', status: 'ready', snapshot };
    expect((await api.call('POST', '/api/agent/schema-sync', { token: api.tokens.agent, body })).status).toBe(200);
    const told = async () => (await preflight(bundle(['select 1']), { environment: 'loose' })).body.migrations;
    const { id } = (await create(bundle(['select 1'], 'down'), { environment: 'loose', operation: 'migrate_down' })).body;
    expect((await act(dora, id, 'approve')).status).toBe(200);
    expect((await told())?.applied).toEqual(['20310101000000']);
    expect((await act(alice, id, 'resume')).status).toBe(200);
    await claimed(id);
    await fireClock(id, 'lease');
    expect((await act(alice, id, 'resume')).status).toBe(200);
    await fireClock(id, 'dispatch');
    expect((await show(alice, id)).body.status).toBe('approved');
    expect(await told()).toBeNull();
  });

  it.each([
    ['store', 'staging', 'mysql', 'DELETE FROM `Schema_Migrations` WHERE version = 20310101000000'],
    ['shop', 'spelt', 'postgresql', `delete from U&"schema\\005fmigrations" where version = '20310101000000'`],
  ])(
    'is not told where a change of the tracking table may have taken it back, which makes no agent sync (MI-45): %s',
    async (...one) => {
      const [database, environment, dialect, change] = one;
      const known = gatewayCalls(api);
      const erin = await api.createUser(`erin-${database}`, { roles: ['approver'], groups: ['dba-team'] });
      const pair = { database, environment };
      await known.poll([`${database}/${environment}`]);
      const snapshot = { tables: [], applied_versions: ['20310101000000'] };
      const body = { ...pair, dialect, status: 'ready', snapshot };
      expect((await api.call('POST', '/api/agent/schema-sync', { token: api.tokens.agent, body })).status).toBe(200);
      const told = async () => (await preflight(bundle(['select 1']), pair)).body.migrations;
      const run = async (detail: string) => {
        const { id } = (await create(detail, { ...pair, operation: 'execute_dml' })).body;
        expect((await known.act(erin, id, 'approve')).status).toBe(200);
        expect((await told())?.applied).toEqual(['20310101000000']);
        expect((await known.act(alice, id, 'resume')).status).toBe(200);
        const { executionId } = await known.claimed(id);
        expect((await known.submit(executionId, { success: true, outcome: 'committed' })).status).toBe(200);
      };
      await run("delete from items where note = 'schema-migrations' and id = 1");
      await run(change);
      expect(await told()).toBeNull();
    },
  );
});
