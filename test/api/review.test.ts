import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SnapshotConstraint } from '../../domain/snapshot.js';
import type { TestApi } from '../support/api.js';
import { noUserCode, table } from '../support/snapshots.js';
import { databaseToml, dbaTeamToml, needsDbaToml, passesToml, roleToml } from '../support/toml.js';
import { type Agent, type AgentCalls, type Body, scope, startAgentApi } from './agent-calls.js';
import type { CreationOver } from './gateway-calls.js';

const toml = [
  databaseToml('shop', ['staging', 'production', 'risky', 'loose', 'lab']),
  dbaTeamToml,
  roleToml('no-ddl-bypass', [
    'request.query',
    'request.dml',
    'request.ddl',
    'request.break_glass_dml',
    'request.break_glass_query',
  ]),
  '[[sql_review]]\nenvironment = "loose"\nno_where_delete = "warn"\ndrop_index = "off"\n\n',
  passesToml('staging'),
  passesToml('loose'),
  needsDbaToml('production'),
  needsDbaToml('risky', 'auto_approve = { mode = "risk_based", risk = "low" }'),
].join('');

const foreignKey: SnapshotConstraint = {
  name: 'orders_customer_fk',
  constraint_type: 'foreign_key',
  columns: ['customer_id'],
  referenced_table: 'customers',
  referenced_columns: ['id'],
  on_delete: 'CASCADE',
  referenced_schema: 'public',
  on_update: 'NO_ACTION',
};
const customers = table('customers', { estimated_rows: 500 });
const orders = table('orders', { estimated_rows: 200, constraints: [foreignKey] });
const big = table('big', { estimated_rows: 50_000 });
const unseen = table('unseen', { estimated_rows: -1 });

let api: TestApi;
let calls: AgentCalls;
let agent: Agent;
let dora: string;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ toml }));
  dora = await api.createUser('dora', { roles: ['dba'] });
  const scopes = ['risky', 'production'].map((environment) => scope('shop', environment));
  agent = await calls.known({ limit: 0, capabilities: { scopes, features: ['fence'] } });
});
afterAll(() => api?.close());

const create = (detail: string, over: CreationOver = {}, token = dora) =>
  api.call('POST', '/api/requests', { token, body: { database: 'shop', environment: 'production', detail, ...over } });
const shown = async (id: string): Promise<Body & { context: Body; decision_trace: Body }> =>
  (await api.call('GET', `/api/requests/${id}`, { token: dora })).body;
const sync = async (environment: string, tables = [big, customers, orders, unseen]) => {
  const body = {
    database: 'shop',
    environment,
    dialect: 'postgresql',
    status: 'ready',
    snapshot: { tables, user_code: noUserCode },
  };
  expect((await agent.post('schema-sync', body)).status).toBe(200);
};
const blockedEvents = () =>
  calls.sql<{ outcome: string; actor: string; request: null; raw: string; fingerprint: string; metadata: Body }>(
    `select outcome, actor_id as actor, request_id as request, detail_raw as raw, detail_fingerprint as fingerprint,
       metadata_json::jsonb - 'auth_token_id' as metadata from audit_events where event_type = 'request.blocked_by_review' order by position`,
  );
const E = { emergency: true, reason: 'pager' };
const EA = { ...E, allow_ddl: true };

describe('a creation that the review blocks (SQ-76)', () => {
  it('is 400 with the blocking messages, stores nothing and is audited without literals', async () => {
    const before = (await blockedEvents()).length;
    const stored = () => calls.sql('select count(*) as n from requests');
    const requests = await stored();
    const text = `delete from users; update users set name = 'secret-name'; create index i on t (c)`;
    const answer = await create(text);
    expect([answer.status, answer.body.code]).toEqual([400, 'validation.failed']);
    expect(answer.body.error).toBe(
      'DELETE without a WHERE that selects among its rows can remove every row; UPDATE without a WHERE that selects among its rows can change every row',
    );
    expect(answer.body.hint).not.toContain('allow_ddl');
    expect(await stored()).toEqual(requests);
    const events = (await blockedEvents()).slice(before);
    expect(events).toMatchObject([
      { outcome: 'denied', actor: 'dora', request: null, metadata: { blocked_rules: ['no_where_delete', 'no_where_update'] } },
    ]);
    expect(events[0]?.metadata).not.toHaveProperty('break_glass_attempted');
    const redacted = 'delete from users; update users set name = ?; create index i on t (c)';
    expect(events[0]).toMatchObject({ raw: redacted, fingerprint: redacted });
  });

  it('is answered the same when the event cannot be written (AU-11)', async () => {
    await calls.sql(
      `alter table audit_events add constraint no_block check (event_type <> 'request.blocked_by_review') not valid`,
    );
    const answer = await create('delete from users');
    await calls.sql('alter table audit_events drop constraint no_block');
    expect([answer.status, answer.body.error]).toEqual([
      400,
      'DELETE without a WHERE that selects among its rows can remove every row',
    ]);
  });

  it('is told before a missing permission, and to nobody without any (RQ-17, RQ-20, RQ-21)', async () => {
    const reader = await api.createUser('rea', { roles: ['requester'] });
    expect((await create('drop table t', {}, reader)).status).toBe(400);
    const nobody = await api.createUser('nora', { roles: ['approver'] });
    expect((await create('drop table t', {}, nobody)).status).toBe(403);
  });

  it('follows the policy of the pair, else the built-in one (WF-2, SQ-77)', async () => {
    const loose = await create('delete from users', { environment: 'loose' });
    expect(loose.status).toBe(201);
    const { context, decision_trace: trace } = await shown(loose.body.id);
    expect(trace.sql_review).toMatchObject({ policy_id: 'srp:any:loose', findings_count: 1, parse_failed: false });
    expect(context.sql_review).toEqual({
      findings: [
        {
          rule: 'NoWhereDelete',
          level: 'Warn',
          message: 'DELETE without a WHERE that selects among its rows can remove every row',
          statement_index: 0,
        },
      ],
      blocked: false,
    });
    expect((await create('drop table t', { environment: 'loose' })).status).toBe(400);
  });
});

describe('break-glass and the review (section 10, B1 to B9)', () => {
  const noBypass = ['grant all on t to public', 'begin', 'drop schema s', 'set role x'];
  it('B1: a DROP TABLE needs both flags; the hint names allow_ddl (BG-2)', async () => {
    const alone = await create('drop table t', E);
    expect([alone.status, alone.body.error]).toEqual([400, 'DROP TABLE removes the table and its rows']);
    expect(alone.body.hint).toContain('allow_ddl');
    expect((await blockedEvents()).at(-1)?.metadata).toMatchObject({ break_glass_attempted: true });
    expect((await create('drop table t', EA)).body).toMatchObject({ status: 'dispatched' });
    expect((await create('drop table t', { allow_ddl: true })).status).toBe(400);
  });

  it.each(['truncate t', 'drop table t; create sequence s'])(
    'the hint says of %s without a condition that allow_ddl lifts the block (BG-2)',
    async (text) => {
      expect((await create(text)).body.hint).toBe('in an emergency, allow_ddl lifts this');
      expect((await create(text, EA)).status).toBe(201);
    },
  );

  it('the hint says what else the text may hold where allow_ddl alone lifts nothing (BG-2)', async () => {
    expect((await create('drop table t; select 1')).body.hint).toContain('if every statement is');
  });

  it('B2: a real bypass is audited in the creating transaction (BG-3)', async () => {
    const answer = await create('drop table t; create table t (id int)', EA);
    expect(answer.status).toBe(201);
    const types = await calls.eventTypes(answer.body.id);
    expect(types).toEqual(['request.break_glass', 'request.dispatched', 'ddl.break_glass_bypass']);
    const [event] = await calls.sql<{ reason: string; text: Body }>(
      `select reason, metadata_json::jsonb - 'auth_token_id' as text from audit_events where request_id = $1 and event_type = 'ddl.break_glass_bypass'`,
      [answer.body.id],
    );
    expect(event).toEqual({
      reason: 'pager',
      text: { statement_count: 2, classifier_bypassed: false, reviewer_bypassed: true },
    });
    const { decision_trace: trace } = await shown(answer.body.id);
    expect(trace).toMatchObject({ sql_review: { policy_id: 'builtin-default', findings_count: 1 } });
  });

  it.each(['drop table t; delete from users', 'drop table t; delete from users where id = 1'])(
    'B3, B4: %s is not bypassable',
    async (text) => {
      const answer = await create(text, EA);
      expect(answer.status).toBe(400);
      expect(answer.body.error).toContain('not bypassable');
    },
  );

  it.each(noBypass)('B5: %s stays refused', async (text) => {
    expect((await create(text, EA)).status).toBe(400);
  });

  it('B6, B7, B9: what needs no bypass passes, and allow_ddl costs its permission all the same', async () => {
    const update = 'update t set a = 1 where id = 1';
    const limited = await api.createUser('lena', { roles: ['no-ddl-bypass'] });
    expect((await create('drop index i', E)).status).toBe(201);
    const changed = await create(update, EA);
    expect(changed.status).toBe(201);
    expect(await calls.eventTypes(changed.body.id)).not.toContain('ddl.break_glass_bypass');
    expect([(await create(update, E, limited)).status, (await create(update, EA, limited)).status]).toEqual([201, 403]);
    expect((await create('drop table t', EA, limited)).status).toBe(403);
    expect((await create('select 1', { ...E, environment: 'lab' })).body.status).toBe('dispatched');
  });

  it('B8: needs a break-glass permission', async () => {
    for (const text of ['select 1', 'update t set a = 1 where id = 1', 'drop index i'])
      expect((await create(text, E, calls.requester)).status).toBe(403);
  });

  const counts = async () => {
    const { text } = await api.call('GET', '/metrics', { token: api.tokens.admin });
    return ['ddl_attempted', 'ddl_allowed', 'ddl_denied', 'audit_failure'].map((name) =>
      Number(new RegExp(`^svc_break_glass_${name}_total (\\d+)$`, 'm').exec(text)?.[1]),
    );
  };

  it('is counted by its outcome (operations section 3)', async () => {
    const before = await counts();
    await create('drop table t', EA);
    await create('delete from t', EA);
    expect((await counts()).map((count, index) => count - before[index]!)).toEqual([2, 1, 1, 0]);
  });

  it('does not happen when its audit event cannot be written: 503, and it is counted (audit section 3)', async () => {
    const stored = () => calls.sql('select count(*) as n from requests');
    const [before, requests] = [await counts(), await stored()];
    await calls.sql(`alter table audit_events add constraint no_bypass check (event_type <> 'ddl.break_glass_bypass') not valid`);
    const answer = await create('drop table t', EA);
    await calls.sql('alter table audit_events drop constraint no_bypass');
    expect([answer.status, answer.body.code]).toEqual([503, 'service.unavailable']);
    expect(await stored()).toEqual(requests);
    expect((await counts()).map((count, index) => count - before[index]!)).toEqual([1, 0, 0, 1]);
  });
});

describe('the risk of a creation (section 9)', () => {
  beforeEach(() => calls.sql('delete from schema_snapshots'));
  const rows: [string, string, string, string[]][] = [
    ['select * from big', 'low', 'risk_below_threshold', ['read_only']],
    ['create table t (id int)', 'low', 'risk_below_threshold', ['safe_ddl']],
    ['update customers set a = 1 where id = 1', 'low', 'risk_below_threshold', []],
    ['update unseen set a = 1 where id = 1', 'unknown', 'risk_unavailable', ['never_analysed']],
    ['update nowhere set a = 1 where id = 1', 'unknown', 'risk_unavailable', ['table_unresolved']],
    ['delete from customers where id = 1', 'medium', 'risk_above_threshold', ['cascade_delete']],
    ['update big set a = 1 where id = 1', 'low', 'risk_below_threshold', []],
    ['update big set a = 1 where a = 1', 'medium', 'risk_above_threshold', ['large_table']],
    ['update customers set a = own(1) where id = 1', 'unknown', 'risk_unavailable', ['unlisted_function']],
    ['drop index i', 'high', 'risk_above_threshold', ['ddl', 'drop_operation']],
    ['alter table customers rename to people', 'medium', 'risk_above_threshold', ['ddl']],
  ];

  it.each(rows)('%s is %s: %s', async (text, level, reason, factors) => {
    await sync('risky');
    const answer = await create(text, { environment: 'risky' });
    expect([answer.status, answer.body.status]).toEqual([201, reason === 'risk_below_threshold' ? 'dispatched' : 'pending']);
    const { decision_trace: trace } = await shown(answer.body.id);
    expect(trace).toMatchObject({ risk: { level, factors }, decision: { reasons: [reason], auto_approve_threshold: 'low' } });
    const asked = { token: dora, body: { database: 'shop', environment: 'risky', sql: text, include_explain: false } };
    const { body } = await api.call('POST', '/api/preflight', asked);
    expect([body.risk, body.policy.would_auto_approve]).toEqual([level, reason === 'risk_below_threshold']);
  });

  it('SQ-95: a lifted block still counts in the risk', async () => {
    await sync('risky');
    const { body } = await create('drop table customers', { ...EA, environment: 'risky' });
    expect((await shown(body.id)).decision_trace.risk).toMatchObject({ level: 'high', factors: ['ddl', 'drop_operation'] });
  });

  it('is unknown before the first snapshot, and the tables are names (RQ-43)', async () => {
    const answer = await create('update customers set a = (select 1 from ledger.notes) where id = 1', { environment: 'risky' });
    expect(answer.body.status).toBe('pending');
    const { context, decision_trace: trace } = await shown(answer.body.id);
    expect(trace.risk).toEqual({ level: 'unknown', factors: ['schema_not_synced'], schema_status: 'not_synced' });
    expect((context.tables as string[]).toSorted()).toEqual(['customers', 'ledger.notes']);
    expect(context).toMatchObject({ risk: { level: 'Unknown' }, schema_snapshot_collected_at: null });
  });

  it('of a read that passes by itself tells of the snapshot and its tables all the same (RQ-43, RQ-44)', async () => {
    const before = await shown((await create('select * from big', { environment: 'risky' })).body.id);
    expect(before.decision_trace.risk).toEqual({ level: 'low', factors: ['read_only'], schema_status: 'not_synced' });
    expect(before.context.tables).toEqual(['big']);
    await sync('risky');
    const { context, decision_trace: trace } = await shown((await create('select * from big', { environment: 'risky' })).body.id);
    expect(trace.risk).toEqual({ level: 'low', factors: ['read_only'], schema_status: 'ready' });
    expect(context.tables).toEqual([big]);
    expect(context.schema_snapshot_collected_at).not.toBeNull();
  });

  it('rests on the newest good snapshot, whose tables approvers see with what a DELETE takes along (RQ-42, RQ-43)', async () => {
    await sync('production');
    const answer = await create('delete from customers where id in (select id from big)');
    const { context, decision_trace: trace } = await shown(answer.body.id);
    expect(trace.risk).toEqual({ level: 'medium', factors: ['cascade_delete', 'large_table'], schema_status: 'ready' });
    const [snapshot] = await calls.sql<{ at: number }>('select collected_at as at from schema_snapshots');
    expect(context.schema_snapshot_collected_at).toBe(new Date(snapshot!.at).toISOString());
    expect(context.risk).toEqual({
      level: 'Medium',
      factors: [
        { name: 'cascade_delete', targets: ['orders'] },
        { name: 'large_table', rows: 50_000 },
      ],
    });
    const children = [{ schema_name: 'public', name: 'orders', estimated_rows: 200, depth: 1 }];
    expect(context.tables).toHaveLength(2);
    expect(context.tables).toContainEqual(big);
    expect(context.tables).toContainEqual({ ...customers, cascade_children: children, cascade_children_truncated: false });
    await sync('production', [table('customers', { estimated_rows: 7 })]);
    const later = await shown((await create('update customers set a = 1 where id = 1')).body.id);
    expect(later).toMatchObject({ context: { tables: [{ name: 'customers', estimated_rows: 7 }], risk: { level: 'Low' } } });
  });
});

describe('the review of a preflight', () => {
  const preflight = async (sql: string) => {
    const body = { database: 'shop', environment: 'production', sql, include_explain: false };
    return (await api.call('POST', '/api/preflight', { token: dora, body })).body;
  };

  it('is that of the creation: findings, block and what break-glass may lift (PF-15, PF-21)', async () => {
    const dropped = await preflight('drop table t');
    expect(dropped).toMatchObject({ status: 'blocked', review: { blocked: true }, policy: { sql_valid: false } });
    expect(dropped.review.findings).toMatchObject([{ code: 'drop_table', action: 'block', statement_index: 0 }]);
    expect(dropped.policy.break_glass_allowed).toBe(true);
    expect((await preflight('delete from t')).policy.break_glass_allowed).toBe(false);
    expect(await preflight('create index i on t (c)')).toMatchObject({
      status: 'warning',
      fix_hints: expect.arrayContaining(['Build the index with CONCURRENTLY.']),
    });
  });

  it('tells what does not parse from what is refused (PF-20)', async () => {
    const codes = await Promise.all(['this is not sql', 'grant all on t to public'].map(preflight));
    expect(codes.map(({ review }) => review.findings[0].code)).toEqual(['parse_failure', 'rejected']);
  });
});
