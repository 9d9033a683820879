import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc } from './run-svc.js';

let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
});
afterEach(() => api.close());
const svc = (...argv: string[]) => runSvc(argv, { environment: login(api.url) });

const riskBased = {
  mode: 'risk_based',
  max_risk_level: 'low',
  allow_read_only: true,
  allow_safe_ddl: true,
  max_estimated_rows: 5,
  max_snapshot_age_secs: 86_400,
};
const parts = {
  execution_policy: {
    matched_by: '(*, *)',
    explicit: false,
    max_executions: 1,
    execution_window_secs: 86_400,
    statement_timeout_secs: 30,
    max_statement_timeout_secs: 600,
    migration_statement_timeout_secs: null,
    retry_on_failure: false,
    max_rows: null,
  },
  sql_review_policy: { id: 'builtin-default', database: '*', environment: '*', source: 'builtin' },
  result_policy: { id: null, retention_days: 30, delivery_mode: 'both' },
};

describe('svc databases', () => {
  it('lists pairs and dialects', async () => {
    const app = { database: 'app', environment: 'production', dialect: 'postgresql' };
    api.on('GET /api/databases', { body: { databases: [app, { ...app, environment: 'qa\u001b[2J', dialect: null }] } });
    expect((await svc('databases')).stdout).toBe(
      [
        'DATABASE  ENVIRONMENT  DIALECT',
        '--------  -----------  ----------',
        'app       production   postgresql',
        'app       qa\\u001b[2J',
        '',
      ].join('\n'),
    );
  });
});

describe('svc policy resolve', () => {
  it('shows what one operation would meet', async () => {
    const steps = [
      { approvers: ['group:dba'], mode: 'all', min: 2, requirements: [{ selector: 'group:dba', min: 2 }] },
      {
        approvers: ['group:leads', 'user:erin'],
        mode: 'any',
        min: 1,
        requirements: [
          { selector: 'group:leads', min: 1 },
          { selector: 'user:erin', min: 1 },
        ],
      },
    ];
    const workflow = { id: 'wf:app:qa:e3b0c44298fc', matched_by: '(app, qa)', steps, require_reason: true, explain: true };
    const body = { database: 'app', environment: 'qa', registered: true, operation: 'execute_dml', workflow, ...parts };
    const decision = {
      decision_preview: 'may_auto_approve',
      reason_code: 'risk_unknown_until_analyzed',
      auto_approve: riskBased,
    };
    api.on('GET /api/policy-resolution', { body: { ...body, ...decision } });
    const { stdout, code } = await svc('policy', 'resolve', 'app', 'qa', '--operation', 'execute_dml');
    expect(code).toBe(0);
    expect(Object.fromEntries(api.calls[0]!.query)).toEqual({ database: 'app', environment: 'qa', operation: 'execute_dml' });
    expect(stdout.split('\n')).toEqual([
      'execute_dml on app/qa: runs at once if its risk is low',
      '',
      'Workflow',
      '  policy   wf:app:qa:e3b0c44298fc, for app/qa',
      '  step 1   2 from group:dba',
      '  step 2   group:leads or user:erin',
      '  reason   required',
      '',
      'Execution',
      '  policy   built in',
      '  runs     once',
      '  timeout  30 s per statement; a workflow can set up to 10 min',
      '           none in migrations',
      '',
      'SQL review',
      '  policy   built in',
      '',
      'Results',
      '  policy   built in',
      '  kept     for 30 days',
      '',
    ]);
  });

  it('says what policies of the file allow', async () => {
    const execution_policy = {
      ...{ ...parts.execution_policy, matched_by: '(app, *)', explicit: true, max_executions: 3 },
      ...{ retry_on_failure: true, execution_window_secs: 45, migration_statement_timeout_secs: 90, max_rows: 500 },
    };
    const sql_review_policy = { id: 'srp:app:any', database: 'app', environment: '*', source: 'config' };
    const result_policy = { id: 'rp:*:qa', retention_days: 1, delivery_mode: 'stream' };
    const decision = { workflow: null, auto_approve: { ...riskBased, channels: ['slack', 'mcp'] }, decision_preview: 'deny' };
    api.on('GET /api/policy-resolution', {
      body: {
        ...{ database: 'app', environment: 'qa', registered: true, operation: 'execute_dml', reason_code: 'channel_not_allowed' },
        ...{ ...decision, execution_policy, sql_review_policy, result_policy },
      },
    });
    const { stdout } = await svc('policy', 'resolve', 'app', 'qa', '--operation', 'execute_dml');
    expect(stdout.split('\n')).toEqual([
      'execute_dml on app/qa: refused: allowed only through slack, mcp',
      '',
      'Execution',
      '  policy   for app/*',
      '  runs     up to 3 times, also after a failure; each within 45 s of the last',
      '  timeout  30 s per statement; a workflow can set up to 10 min',
      '           1 min 30 s in migrations',
      '  rows     at most 500 in a result',
      '',
      'SQL review',
      '  policy   srp:app:any, for app/*',
      '',
      'Results',
      '  policy   rp:*:qa',
      '  kept     not at all: only whoever waits gets a result',
      '',
    ]);
  });

  it('shows all six without --operation', async () => {
    const row = (operation: string, decision: string) => ({
      operation,
      workflow_id: null,
      matched_by: null,
      auto_approve: null,
      decision_preview: decision,
      reason_code: 'x',
    });
    const resolutions = [row('execute_select', 'deny'), row('migrate_repair', 'break_glass_only')];
    api.on('GET /api/policy-resolution', {
      body: { database: 'app', environment: 'qa', registered: true, resolutions, ...parts },
    });
    const { stdout } = await svc('policy', 'resolve', 'app', 'qa');
    expect(stdout).toMatch(/^execute_select +refused: no workflow matches$/m);
    expect(stdout).toMatch(/^migrate_repair +only as an emergency$/m);
    expect(api.calls[0]!.query.has('operation')).toBe(false);
  });

  it('says that a pair is not registered', async () => {
    api.on('GET /api/policy-resolution', { body: { database: 'app', environment: 'no', registered: false } });
    const result = await svc('policy', 'resolve', 'app', 'no');
    expect([result.code, result.stdout]).toEqual([0, '']);
    expect(result.stderr).toContain('app/no is not registered');
  });
});

describe('svc policy list', () => {
  const pair = { database: '*', environment: 'qa' };
  const answers = {
    workflows: { workflows: [{ id: 'wf:*:qa:e3b0c44298fc', ...pair, operations: [], auto_approve: riskBased, steps: [] }] },
    'execution-policies': { execution_policies: [{ id: 'ep:*:qa', ...pair, max_executions: 3, max_rows: null }] },
    'result-policies': { result_policies: [] },
    'sql-review-policies': {
      sql_review_policies: [
        { id: 'srp:any:qa', ...pair, source: 'config', rules: { truncate: 'block', drop_view: 'warn', x: 'off' } },
      ],
    },
    'notification-policies': {
      notification_policies: [
        { id: 'np:any:qa', ...pair, webhooks: ['ops-feed'], events: ['request.*', 'step.approved'], slack_channels: null },
      ],
    },
  };
  beforeEach(() => {
    for (const [path, body] of Object.entries(answers)) api.on(`GET /api/${path}`, { body });
  });

  it('lists every kind under its name, empty ones left out; json joins the answers', async () => {
    const { stdout } = await svc('policy', 'list');
    expect(stdout.split('\n').filter((line) => /^[a-z ]+$/.test(line))).toEqual([
      'workflows',
      'execution policies',
      'sql review policies',
      'notification policies',
    ]);
    expect(stdout).toMatch(/\* +qa +all +up to low risk/);
    expect(stdout).toMatch(/\* +qa +config +truncate +drop_view\n/);
    expect(stdout).toMatch(/\* +qa +ops-feed +request\.\*, step\.approved\n/);
    expect(JSON.parse((await svc('policy', 'list', '--json')).stdout).data).toEqual(Object.assign({}, ...Object.values(answers)));
  });

  it('says once for all of its tables what they have no room for (CL-14)', async () => {
    const versions = { revision: 'r1', digest: '9cc6e5b293e3' };
    const long = { database: 'a-database-of-a-long-name', environment: 'an-environment-of-a-long-name', ...versions };
    const [workflow] = answers.workflows.workflows;
    api.on('GET /api/workflows', { body: { workflows: [{ ...workflow, ...long, id: `wf:${long.database}:e3b0c44298fc` }] } });
    api.on('GET /api/execution-policies', { body: { execution_policies: [{ id: 'ep:*:qa', ...long }] } });
    const { stderr } = await runSvc(['policy', 'list'], { environment: login(api.url), terminal: true, columns: 80 });
    expect(stderr.match(/no room for/g)).toHaveLength(1);
    expect(stderr).toMatch(/no room for ID, REVISION, DIGEST; /);
  });

  it('lists one kind; an unknown one is a usage error (CL-29)', async () => {
    const one = await svc('policy', 'list', '--kind', 'result');
    expect([one.stdout, one.stderr]).toEqual(['', 'no policies\n']);
    expect(api.calls.map(({ path }) => path)).toEqual(['/api/result-policies']);
    expect((await svc('policy', 'list', '--kind', 'nope')).code).toBe(2);
  });
});
