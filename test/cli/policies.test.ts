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
    max_executions: 1,
    statement_timeout_secs: 30,
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
    expect(stdout.split('\n').slice(0, 6)).toEqual([
      'execute_dml: may auto approve (risk_unknown_until_analyzed)',
      'workflow       wf:app:qa:e3b0c44298fc (app, qa)',
      'auto-approval  up to low risk',
      'step 1         group:dba (2)',
      'step 2         any of group:leads, user:erin',
      'needs a reason',
    ]);
    expect(stdout).toMatch(/execution policy\nmatched by +\(\*, \*\)\n/);
    expect(stdout).toMatch(/review policy\nid +builtin-default\n/);
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
    expect(stdout).toMatch(/execute_select +deny +no\n/);
    expect(stdout).toMatch(/migrate_repair +break glass only +no\n/);
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
