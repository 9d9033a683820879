import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILTIN_REVIEW, sharedContent } from '../../config/shared.js';
import { insertGeneration } from '../../db/generations.js';
import { topic } from '../../db/notifications.js';
import type { SharedConfig } from '../../domain/policies.js';
import { OPERATIONS } from '../../domain/policies.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { callsToml } from './calls-toml.js';

const toml = `${callsToml}
[[databases]]
name = "archive"
environments = ["zeta", "alpha"]

[[workflows]]
database = "ledger"
environment = "staging"
operations = ["migrate_up", "execute_dml"]
statement_timeout_secs = 90
auto_approve = { mode = "risk_based", risk = "medium", allow_read_only = false }
[[workflows.steps]]
mode = "any"
[[workflows.steps.approvers]]
group = "dba-team"
min = 2
[[workflows.steps.approvers]]
user = "erin"

[[execution_policies]]
database = "ledger"
statement_timeout_secs = 20
max_statement_timeout_secs = 60
max_rows = 500

[[sql_review]]
database = "ledger"
drop_index = "block"

[[auth.roles]]
name = "ledger-reader"
permissions = ["workflow.read", "request.view"]
databases = ["ledger"]
environments = ["staging"]
`;

let api: TestApi;
const tokens: Record<string, string> = {};
beforeAll(async () => {
  api = await startTestApi({ toml });
  tokens.requester = await api.createUser('riley', { roles: ['requester'] });
  tokens.reader = await api.createUser('lena', { roles: ['ledger-reader'] });
  tokens.blind = await api.createUser('blind', { roles: ['emergency'] });
  tokens.admin = api.tokens.admin;
});
afterAll(() => api?.close());

const get = (path: string, who = 'requester') => api.call('GET', path, { token: tokens[who]! });
const resolve = (query: string, who?: string) => get(`/api/policy-resolution?${query}`, who);
const ids = (answer: { body: Record<string, { id: string }[]> }) => Object.values(answer.body)[0]!.map(({ id }) => id);

describe('policy resolution', () => {
  it('tells what one operation would meet, with the effective timeout (PO-2, PO-4)', async () => {
    const answer = await resolve('database=ledger&environment=staging&operation=execute_dml');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      database: 'ledger',
      environment: 'staging',
      operation: 'execute_dml',
      registered: true,
      workflow: {
        id: expect.stringMatching(/^wf:ledger:staging:[0-9a-f]{12}$/),
        matched_by: '(ledger, staging)',
        steps: [
          {
            approvers: ['group:dba-team', 'user:erin'],
            mode: 'any',
            min: 2,
            requirements: [
              { selector: 'group:dba-team', min: 2 },
              { selector: 'user:erin', min: 1 },
            ],
          },
        ],
        require_reason: false,
        explain: true,
      },
      auto_approve: {
        mode: 'risk_based',
        max_risk_level: 'medium',
        allow_read_only: false,
        allow_safe_ddl: true,
        max_estimated_rows: 1000,
        max_snapshot_age_secs: 86_400,
        channels: [],
      },
      execution_policy: {
        statement_timeout_secs: 90,
        max_statement_timeout_secs: 600,
        migration_statement_timeout_secs: null,
        max_rows: null,
        max_executions: 3,
        execution_window_secs: 86_400,
        retry_on_failure: true,
        matched_by: '(*, staging)',
        explicit: true,
      },
      sql_review_policy: { id: 'srp:ledger:any', database: 'ledger', environment: '*', source: 'config' },
      result_policy: { id: 'rp:ledger:staging', retention_days: 30, delivery_mode: 'stream' },
      decision_preview: 'may_auto_approve',
      reason_code: 'risk_unknown_until_analyzed',
    });
  });

  it('tells the built-in policies where none is written, and that nothing matches (PO-2)', async () => {
    const answer = await resolve('database=archive&environment=alpha&operation=query', 'admin');
    expect(answer.body).toMatchObject({
      operation: 'execute_select',
      workflow: null,
      auto_approve: null,
      execution_policy: { statement_timeout_secs: 30, matched_by: '(*, *)', explicit: false },
      sql_review_policy: { id: 'builtin-default', database: '*', environment: '*', source: 'builtin' },
      result_policy: { id: null, retention_days: 30, delivery_mode: 'both' },
      decision_preview: 'deny',
      reason_code: 'no_matching_workflow',
    });
  });

  it('tells all six operations in their order without one (PO-3)', async () => {
    const { body } = await resolve('database=ledger&environment=staging');
    expect(Object.keys(body).sort()).toEqual(
      ['database', 'environment', 'registered', 'execution_policy', 'sql_review_policy', 'result_policy', 'resolutions'].sort(),
    );
    const rows = body.resolutions as Record<string, unknown>[];
    expect(rows.map(({ operation }) => operation)).toEqual([...OPERATIONS]);
    expect(rows.map((row) => [row.decision_preview, row.reason_code, row.matched_by])).toEqual([
      ['auto_approved', 'explicit_always', '(*, staging)'],
      ['may_auto_approve', 'risk_unknown_until_analyzed', '(ledger, staging)'],
      ['needs_approval', 'no_auto_approve', '(ledger, staging)'],
      ['auto_approved', 'explicit_always', '(*, staging)'],
      ['auto_approved', 'explicit_always', '(*, staging)'],
      ['break_glass_only', 'emergency_required', '(*, staging)'],
    ]);
    const none = await resolve('database=shop&environment=lab', 'admin');
    expect(none.body.resolutions[0]).toEqual({
      operation: 'execute_select',
      workflow_id: null,
      matched_by: null,
      auto_approve: null,
      decision_preview: 'deny',
      reason_code: 'no_matching_workflow',
    });
  });

  it('names the workflow policy that a creation stores (PO-I1, PO-4)', async () => {
    for (const [pair, detail] of [
      ['ledger/staging', 'update t set a = 1 where id = 1'],
      ['ledger/staging', 'select 1'],
      ['shop/production', 'select 1'],
      ['shop/qa', 'delete from t where id = 1'],
      ['shop/dev', 'select 1'],
    ] as const) {
      const [database, environment] = pair.split('/');
      const body = { database, environment, detail, reason: 'why' };
      const created = await api.call('POST', '/api/requests', { token: tokens.requester!, body });
      expect(created.status).toBe(201);
      const shown = await get(`/api/requests/${created.body.id}`);
      const told = await resolve(`database=${database}&environment=${environment}&operation=${shown.body.operation}`);
      expect(told.body.workflow.id).toBe(shown.body.decision_trace.workflow.matched.id);
      const all = await resolve(`database=${database}&environment=${environment}`);
      const row = all.body.resolutions.find(({ operation }: { operation: string }) => operation === shown.body.operation);
      expect(row.workflow_id).toBe(told.body.workflow.id);
    }
  });

  it('is 400 for shape and names, then 403, then 400 for the operation; an unregistered pair is 200 (PO-1)', async () => {
    for (const [query, hint] of [
      ['database=app', 'query.environment'],
      ['database=App&environment=qa', 'query.database'],
      ['database=shop&environment=*', 'query.environment'],
    ]) {
      expect((await resolve(query!, 'reader')).body).toMatchObject({ code: 'validation.failed', hint });
    }
    const outside = await resolve('database=shop&environment=qa&operation=drop', 'reader');
    expect([outside.status, outside.body.code]).toEqual([403, 'auth.forbidden']);
    const unknown = await resolve('database=shop&environment=qa&operation=drop');
    expect([unknown.status, unknown.body.hint]).toEqual([400, 'query.operation']);
    const nowhere = { database: 'app', environment: 'qa', registered: false };
    for (const operation of ['', '&operation=execute_dml']) {
      const answer = await resolve(`database=app&environment=qa${operation}`);
      expect([answer.status, answer.body]).toEqual([
        200,
        { ...nowhere, decision_preview: 'deny', reason_code: 'db_not_registered' },
      ]);
    }
  });
});

describe('policy lists', () => {
  it('show what the file says, in its order, unset numbers as null (PO-10, PO-11)', async () => {
    const workflows = await get('/api/workflows');
    expect(ids(workflows).map((id) => id.slice(0, id.lastIndexOf(':')))).toEqual([
      'wf:*:staging',
      'wf:*:production',
      'wf:shop:qa',
      'wf:shop:dev',
      'wf:ledger:staging',
    ]);
    expect(ids(workflows)[0]).toBe('wf:*:staging:e3b0c44298fc');
    const createdAt = new Date(api.services.generation().createdAt).toISOString();
    expect(workflows.body.workflows[3]).toEqual({
      id: 'wf:shop:dev:e3b0c44298fc',
      database: 'shop',
      environment: 'dev',
      operations: [],
      auto_approve: null,
      steps: [
        { approvers: [{ selector: 'group:dba-team', min: 1 }], mode: 'all' },
        { approvers: [{ selector: 'group:dba-team', min: 1 }], mode: 'all' },
      ],
      require_reason: false,
      allow_self_approve: true,
      allow_same_approver_across_steps: true,
      explain: true,
      pending_ttl_secs: 3600,
      approval_ttl_secs: 1800,
      statement_timeout_secs: null,
      revision: 'r1',
      digest: expect.stringMatching(/^[0-9a-f]{12}$/),
      created_at: createdAt,
      updated_at: createdAt,
    });
    expect((await get('/api/execution-policies')).body.execution_policies[2]).toEqual({
      id: 'ep:ledger:*',
      database: 'ledger',
      environment: '*',
      max_executions: 1,
      execution_window_secs: 86_400,
      retry_on_failure: false,
      statement_timeout_secs: 20,
      max_statement_timeout_secs: 60,
      max_rows: 500,
      migration_lease_duration_secs: null,
      migration_statement_timeout_secs: null,
      revision: 'r1',
      digest: expect.stringMatching(/^[0-9a-f]{12}$/),
      created_at: createdAt,
      updated_at: createdAt,
    });
    expect((await get('/api/result-policies')).body.result_policies[0]).toMatchObject({
      id: 'rp:ledger:production',
      retention_days: 30,
      delivery_mode: 'both',
      access: ['group:leads'],
    });
    const reviews = (await get('/api/sql-review-policies')).body.sql_review_policies;
    expect(reviews.map(({ id, source }: { id: string; source: string }) => [id, source])).toEqual([
      ['srp:ledger:any', 'config'],
      ['builtin-default', 'builtin'],
    ]);
    expect(reviews.map(({ revision }: { revision: string }) => revision)).toEqual(['r1', null]);
    expect(Object.keys(reviews[0].rules)).toHaveLength(14);
    expect([reviews[0].rules.drop_index, reviews[1].rules.drop_index]).toEqual(['block', 'warn']);
  });

  it('show an item to whom it can concern, and hide it behind a 404 from others (IM-40, PO-12, PF-I4)', async () => {
    expect(ids(await get('/api/workflows', 'reader')).map((id) => id.slice(0, -13))).toEqual([
      'wf:*:staging',
      'wf:ledger:staging',
    ]);
    expect(ids(await get('/api/execution-policies', 'reader'))).toEqual(['ep:*:staging', 'ep:ledger:*']);
    expect(ids(await get('/api/result-policies', 'reader'))).toEqual(['rp:ledger:staging']);
    expect(ids(await get('/api/sql-review-policies', 'reader'))).toEqual(['srp:ledger:any', 'builtin-default']);
    for (const [path, code] of [
      ['workflows/wf:shop:qa:e3b0c44298fc', 'workflow.not_found'],
      ['execution-policies/ep:*:dev', 'execution_policy.not_found'],
      ['result-policies/rp:ledger:production', 'result_policy.not_found'],
      ['result-policies/rp:nope:nope', 'result_policy.not_found'],
      ['sql-review-policies/srp:shop:any', 'sql_review_policy.not_found'],
    ]) {
      const answer = await get(`/api/${path}`, 'reader');
      expect([answer.status, answer.body.code]).toEqual([404, code]);
    }
    expect((await get('/api/workflows', 'blind')).body.code).toBe('auth.forbidden');
  });

  it('give one item bare by its percent-decoded id (PO-12)', async () => {
    for (const list of ['workflows', 'execution-policies', 'result-policies', 'sql-review-policies']) {
      const items = Object.values((await get(`/api/${list}`)).body)[0] as { id: string }[];
      for (const item of items) {
        expect((await get(`/api/${list}/${encodeURIComponent(item.id)}`)).body).toEqual(item);
        expect((await get(`/api/${list}/${item.id}`)).body).toEqual(item);
      }
    }
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    'refuse %s on lists and known items with the methods that work (HT-96)',
    async (method) => {
      for (const path of [
        'workflows',
        'workflows/wf:*:staging:e3b0c44298fc',
        'execution-policies/ep:*:dev',
        'result-policies',
        'sql-review-policies/builtin-default',
      ]) {
        const answer = await api.call(method, `/api/${path}`, { token: tokens.blind!, raw: '{"' });
        expect([answer.status, answer.body.code, answer.headers.get('allow')]).toEqual([405, 'config.read_only', 'GET, HEAD']);
      }
    },
  );

  it('tell when an id first stood in the file, when and by which generation it last changed, and its digest (CF-71, PO-11)', async () => {
    const own = await startTestApi({ toml });
    const get = (path: string) => own.call('GET', path, { token: own.tokens.admin });
    const times = async (list: string, id: string) => {
      const { created_at, updated_at } = (await get(`/api/${list}/${id}`)).body;
      return [created_at, updated_at];
    };
    const { generation, database } = own.services;
    const initial = generation().shared;
    const putInForce = async (changes: Partial<SharedConfig>) => {
      const next = { ...initial, ...changes };
      const { number, createdAt } = await database.transaction(async (tx) => {
        tx.wake(topic.generation);
        return insertGeneration(tx, sharedContent(next).digest, next);
      });
      await expect.poll(() => generation().number).toBe(number);
      return new Date(createdAt).toISOString();
    };
    const first = new Date(generation().createdAt).toISOString();
    const before = (await get('/api/execution-policies/ep:*:staging')).body;
    const changed = initial.executionPolicies.map((policy) =>
      policy.id === 'ep:*:staging' ? { ...policy, maxExecutions: 4 } : policy,
    );
    const second = await putInForce({ executionPolicies: changed });
    expect(await times('execution-policies', 'ep:*:staging')).toEqual([first, second]);
    const now = (await get('/api/execution-policies/ep:*:staging')).body;
    expect([now.revision, now.digest === before.digest, before.revision]).toEqual([`r${generation().number}`, false, 'r1']);
    expect(await times('execution-policies', 'ep:*:dev')).toEqual([first, first]);
    expect(await times('workflows', 'wf:shop:qa:e3b0c44298fc')).toEqual([first, first]);
    await putInForce({ resultPolicies: initial.resultPolicies.slice(0, 1) });
    const restored = (await get('/api/execution-policies/ep:*:staging')).body;
    expect([restored.revision, restored.digest]).toEqual([`r${generation().number}`, before.digest]);
    expect((await get('/api/result-policies/rp:ledger:staging')).status).toBe(404);
    const replaced = { ...BUILTIN_REVIEW, id: 'srp:any:any' };
    const fourth = await putInForce({ sqlReview: [...initial.sqlReview, replaced] });
    expect(await times('result-policies', 'rp:ledger:staging')).toEqual([first, fourth]);
    expect(await times('execution-policies', 'ep:*:staging')).toEqual([first, expect.not.stringMatching(first)]);
    expect(ids(await get('/api/sql-review-policies'))).toEqual(['srp:ledger:any', 'srp:any:any']);
    expect((await get('/api/sql-review-policies/builtin-default')).status).toBe(404);
    await own.close();
  });
});

describe('databases', () => {
  it('are the registered pairs of roles with request.view, by name, with their dialect where known (DB-1, AG-74)', async () => {
    const { body } = await get('/api/databases');
    expect(body.databases.slice(0, 4)).toEqual([
      { database: 'archive', environment: 'alpha', dialect: null },
      { database: 'archive', environment: 'zeta', dialect: null },
      { database: 'ledger', environment: 'production', dialect: 'postgresql' },
      { database: 'ledger', environment: 'staging', dialect: 'postgresql' },
    ]);
    expect(body.databases).toHaveLength(9);
    expect((await get('/api/databases', 'reader')).body).toEqual({
      databases: [{ database: 'ledger', environment: 'staging', dialect: 'postgresql' }],
    });
    await api.services.database.query(
      `insert into schema_snapshots (database, environment, dialect, snapshot, collected_at, last_status, synced_by, synced_at)
       values ('archive', 'zeta', 'mysql', '{"tables":[]}', now(), 'ready', 'a', now())`,
    );
    expect((await get('/api/databases')).body.databases[1]).toEqual({
      database: 'archive',
      environment: 'zeta',
      dialect: 'mysql',
    });
    const none = await api.createUser('nina', { roles: ['nothing-much'] });
    expect((await api.call('GET', '/api/databases', { token: none })).body.code).toBe('auth.forbidden');
  });
});
