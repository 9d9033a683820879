import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleOf, bundleText } from '../domain/migration/bundles.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { databaseToml, dbaTeamToml, needsDbaToml, roleToml, workflowToml } from '../support/toml.js';
import { type CreationOver, type GatewayCalls, gatewayCalls } from './gateway-calls.js';

const toml = [
  databaseToml('shop', ['staging', 'production', 'risky', 'lab']),
  '[[databases]]\nname = "maria"\nenvironments = ["production"]\ndialect = "mysql"\n',
  dbaTeamToml,
  ...['dml', 'query', 'break_glass_dml', 'break_glass_query'].map((what) =>
    roleToml(what.replaceAll('_', '-'), [`request.${what}`, 'request.view', 'request.cancel']),
  ),
  roleToml('bypass', ['request.break_glass_dml', 'request.break_glass_ddl', 'request.view']),
  needsDbaToml('production'),
  workflowToml({
    database: 'shop',
    environment: 'staging',
    more: 'auto_approve = { mode = "always" }\noperations = ["migrate_up", "migrate_status"]',
  }),
  workflowToml({
    database: 'shop',
    environment: 'risky',
    more: 'auto_approve = { mode = "risk_based", risk = "high" }',
    steps: [[{ group: 'dba-team' }]],
  }),
].join('');

let api: TestApi;
let calls: GatewayCalls;
const users: Record<string, string> = {};
beforeAll(async () => {
  api = await startTestApi({ toml });
  calls = gatewayCalls(api);
  for (const role of ['dml', 'query', 'break-glass-dml', 'break-glass-query', 'bypass'])
    users[role] = await api.createUser(`user-${role}`, { roles: [role] });
  users.dana = await api.createUser('dana', { roles: ['requester'] });
  users.bob = await api.createUser('bob', { roles: ['approver'], groups: ['dba-team'] });
});
afterAll(() => api?.close());

const up = (over: CreationOver = {}) =>
  calls.create(users.dana!, { operation: 'migrate_up', detail: bundleText([1, 2]), ...over });
const withSql = (sql: string, more: object = {}) =>
  bundleText([1, 2], { migrations: bundleOf([1, 2]).migrations.map((one, at) => (at === 1 ? { ...one, sql, ...more } : one)) });
const emergency = { emergency: true, reason: 'pager' };
const repair = (over: CreationOver = {}, token = users['break-glass-dml']!) =>
  calls.create(token, { operation: 'migrate_repair', detail: '{"action":"remove","version":"1"}', ...emergency, ...over });

describe('creations of migrations that are refused (migrations.md section 7)', () => {
  it.each<[string, CreationOver, string]>([
    ['detail that is no JSON', { detail: 'CREATE TABLE t ()' }, 'body.detail'],
    ['another format', { detail: bundleText([1], { format: 'v1' }) }, 'format'],
    ['a direction unlike the operation', { detail: bundleText([1], { direction: 'down' }) }, 'direction'],
    [
      'migrate_down without max_count',
      { operation: 'migrate_down', detail: bundleText([1], { direction: 'down', max_count: null }) },
      'max_count',
    ],
    ['versions unlike migrations', { detail: bundleText([1], { versions: ['2'] }) }, 'versions[0]'],
    ['blank sql', { detail: withSql(' ') }, 'migrations[1].sql'],
    ['a max_count of 0', { detail: bundleText([1], { max_count: 0 }) }, 'max_count'],
    ['a max_count of 1.5', { detail: bundleText([1], { max_count: 1.5 }) }, 'max_count'],
    ['a max_count of 1.0', { detail: bundleText([1]).replace('"max_count":1', '"max_count":1.0') }, 'max_count'],
    [
      'two statements that are not transactional',
      { detail: withSql('VACUUM; VACUUM', { transactional: false }) },
      'migrations[1].transactional',
    ],
    ['transaction control', { detail: withSql('CREATE TABLE t (a int); COMMIT') }, 'migrations[1].sql'],
    ['text that does not parse', { detail: withSql('CREATE TABEL t (a int)') }, 'migrations[1].sql'],
    ['transaction control on MySQL', { database: 'maria', detail: withSql('SET autocommit = 0') }, 'migrations[1].sql'],
    [
      '1,048,577 bytes',
      { detail: bundleText([1], { dir_sha256: 'x'.repeat(1_048_577 - bundleText([1], { dir_sha256: '' }).length) }) },
      'body.detail',
    ],
    ['a status of 100,001 bytes', { operation: 'migrate_status', detail: `{${' '.repeat(99_999)}}` }, 'body.detail'],
    ['a status with content', { operation: 'migrate_status', detail: '{"a":1}' }, 'body.detail'],
    [
      'a repair without emergency',
      { operation: 'migrate_repair', detail: '{"action":"remove","version":"1"}' },
      'body.emergency',
    ],
  ])('%s', async (_, over, hint) => {
    const answer = await up({ environment: 'production', ...over });
    expect([answer.status, answer.body.code, answer.body.hint]).toEqual([400, 'validation.failed', hint]);
  });

  it.each<[string, CreationOver]>([
    ['an unknown action', { detail: '{"action":"drop","version":"1"}' }],
    ['an empty version', { detail: '{"action":"remove","version":""}' }],
    ['a duplicate key', { detail: '{"action":"remove","version":"1","version":"2"}' }],
    ['no reason (MI-19)', { reason: ' ' }],
  ])('a repair with %s', async (_, over) => {
    expect([(await repair(over)).status, (await repair()).status]).toEqual([400, 201]);
  });

  it('is never told with the text of a migration', async () => {
    const answer = await up({ environment: 'production', detail: withSql("INSERT INTO t VALUES ('secret'); COMMIT") });
    expect(answer.text).not.toContain('secret');
  });
});

describe('who may create migrations (RQ-21)', () => {
  const down = { operation: 'migrate_down', detail: bundleText([1], { direction: 'down' }) };
  const status = { operation: 'migrate_status', detail: '' };
  it.each<[string, CreationOver, string[]]>([
    ['migrate_up', {}, ['dml']],
    ['migrate_down', down, ['dml']],
    ['migrate_status', status, ['dml', 'query']],
    ['migrate_up in an emergency', emergency, ['break-glass-dml', 'bypass']],
    ['migrate_down in an emergency', { ...down, ...emergency }, ['break-glass-dml', 'bypass']],
    ['migrate_status in an emergency', { ...status, ...emergency }, ['break-glass-dml', 'break-glass-query', 'bypass']],
    ['migrate_up with allow_ddl', { ...emergency, allow_ddl: true }, ['bypass']],
    ['migrate_status with allow_ddl', { ...status, ...emergency, allow_ddl: true }, ['bypass']],
    [
      'migrate_repair',
      { operation: 'migrate_repair', detail: '{"action":"remove","version":"1"}', ...emergency },
      ['break-glass-dml', 'bypass'],
    ],
  ])('%s', async (_, over, allowed) => {
    const answers: string[] = [];
    for (const role of ['dml', 'query', 'break-glass-dml', 'break-glass-query', 'bypass']) {
      const answer = await calls.create(users[role]!, { operation: 'migrate_up', detail: bundleText([1]), ...over });
      expect([201, 403]).toContain(answer.status);
      if (answer.status === 201) answers.push(role);
    }
    expect(answers).toEqual(allowed);
  });
});

describe('a migration that is created', () => {
  it('waits for approval, keeps its bytes, and is shown and traced as a migration (MI-18, RQ-42, RQ-44)', async () => {
    const detail = ` ${bundleText([1, 2], { dir_sha256: 'é\u2028', extra: { b: 1, a: [] } })}\n`;
    const created = await up({ environment: 'production', detail, reason: 'release' });
    expect([created.status, created.body.status, created.body.operation]).toEqual([201, 'pending', 'migrate_up']);
    const shown = (await calls.show(users.dana!, created.body.id)).body;
    expect(shown.detail).toBe(detail);
    expect(shown.context).toEqual({
      status: 'ready',
      explain_enabled: false,
      tables: null,
      risk: null,
      explain: null,
      sql_review: { findings: [], blocked: false },
      schema_snapshot_collected_at: null,
    });
    expect(shown.decision_trace).toMatchObject({
      classification: { resolved_operation: 'migrate_up' },
      sql_review: { policy_id: 'builtin-default', findings_count: 0, parse_failed: false },
      risk: { level: 'unavailable', factors: [], schema_status: 'unavailable' },
      decision: { outcome: 'needs_approval', reasons: ['no_auto_approve_rule'] },
    });
    expect((await calls.act(users.bob!, created.body.id, 'approve')).body.status).toBe('approved');
  });

  it('is approved at once where the workflow says always, and waits where it goes by risk (section 8)', async () => {
    expect((await up({ environment: 'staging' })).body.status).toBe('dispatched');
    const risky = await up({ environment: 'risky' });
    expect(risky.body.status).toBe('pending');
    const trace = (await calls.show(users.dana!, risky.body.id)).body.decision_trace;
    expect(trace.decision).toMatchObject({ outcome: 'needs_approval', reasons: ['risk_unavailable'] });
  });

  it('needs a workflow for its operation (WF-1, RQ-23)', async () => {
    const down = { operation: 'migrate_down', detail: bundleText([1], { direction: 'down' }) };
    expect((await up({ environment: 'staging', ...down })).body.error).toContain('no workflow matches');
    expect((await repair({ environment: 'lab' })).body.status).toBe('dispatched');
  });

  it('is told in events by its versions only (AU-52)', async () => {
    const { body } = await up({ environment: 'production', detail: withSql("INSERT INTO t VALUES ('secret')") });
    const [event] = await calls.sql<{ detail_fingerprint: string; detail_raw: string }>(
      'select detail_fingerprint, detail_raw from audit_events where request_id = $1',
      [body.id],
    );
    const summary = 'migrate_up: versions=[20310101000001,20310101000002] max_count=1';
    expect(event).toEqual({ detail_fingerprint: summary, detail_raw: summary });
  });

  it('names in its first event the state of the directory that is to be approved (MI-12)', async () => {
    const told = async (environment: string, over: object) => {
      const { body } = await up({ environment, ...over });
      const [event] = await calls.sql<{ metadata: { dir_sha256?: string } }>(
        `select metadata_json::jsonb as metadata from audit_events
         where request_id = $1 and event_type in ('request.created', 'request.auto_approved')`,
        [body.id],
      );
      return event?.metadata.dir_sha256;
    };
    const sum = '36daac1a80ad5a168da1fda0c3271eed7ab880380703f286db8a50e3da16e9de';
    for (const environment of ['production', 'staging'])
      expect(await told(environment, { detail: bundleText([1], { dir_sha256: sum }) })).toBe(sum);
    expect(await told('production', { detail: bundleText([1], { dir_sha256: 'drop table secret' }) })).toBe('<invalid:17>');
    expect(await told('production', { operation: 'migrate_status', detail: '' })).toBeUndefined();
  });

  it('may be as large as 1 MiB, and its claim holds its bytes and a hash of its canonical form (MI-13, MI-I7)', async () => {
    const detail = bundleText([1], { pad: 'é'.repeat((1_048_576 - bundleText([1], { pad: '' }).length) / 2) });
    expect(Buffer.byteLength(detail)).toBeGreaterThan(1_048_574);
    await calls.poll(['shop/staging']);
    const id = await calls.created(users.dana!, { environment: 'staging', operation: 'migrate_up', detail });
    await calls.sql(`update requests set status = 'cancelled' where status = 'dispatched' and id <> $1`, [id]);
    const claim = await calls.claim(id);
    expect([claim.status, claim.body.detail === detail]).toEqual([200, true]);
    const { pad, migrations, ...rest } = JSON.parse(detail);
    const { dir_sha256, direction, format, max_count, versions } = rest;
    const [{ version, sql }] = migrations;
    const canonical = JSON.stringify({ dir_sha256, direction, format, max_count, migrations: [{ sql, version }], pad, versions });
    expect(JSON.parse(claim.body.execution_token).detail_hash).toBe(createHash('sha256').update(canonical).digest('hex'));
  });

  it('is one request for one key, whatever comes twice (RQ-31)', async () => {
    const over = { environment: 'production', idempotency_key: 'release-7' };
    const [first, second] = [await up(over), await up(over)];
    expect([first.status, second.status, second.body.id]).toEqual([201, 200, first.body.id]);
    expect((await up({ ...over, detail: `${bundleText([1, 2])} ` })).status).toBe(409);
  });
});
