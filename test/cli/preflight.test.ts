import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc } from './run-svc.js';

let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
});
afterEach(() => api.close());

const route = 'POST /api/preflight';
const svc = (...argv: string[]) => runSvc(['preflight', ...argv], { environment: login(api.url) });

const answer = {
  status: 'warning',
  risk: 'medium',
  requires_ddl_permission: false,
  classification: { statement_type: 'DELETE', operation: 'execute_dml', statement_count: 1 },
  review: {
    findings: [{ code: 'large_in_list', action: 'warn', message: 'a list of 200\u001b[31m elements', statement_index: 0 }],
    blocked: false,
  },
  risk_assessment: { level: 'medium', factors: [{ name: 'large_table', rows: 50_000 }] },
  policy: {
    caller_can_submit: true,
    would_auto_approve: false,
    workflow_id: 'wf:*:staging:e3b0c44298fc',
    require_reason: true,
    approvers: [
      { selector: 'role:dba', min: 2, step: 0 },
      { selector: 'user:erin', min: 1, step: 1 },
    ],
    break_glass_allowed: false,
  },
  impact: { status: 'skipped' },
  fix_hints: ['Put the values into a table.'],
  next_actions: ['Look at the warnings before you submit.'],
};
const postgres = [
  {
    Plan: {
      'Node Type': 'Hash Join',
      'Total Cost': 12.5,
      Plans: [
        { 'Node Type': 'Seq Scan', 'Relation Name': 'orders' },
        { 'Node Type': 'Index Scan', 'Index Name': 'parts_pkey', 'Plan Rows': 1, 'Relation Name': 'parts' },
      ],
    },
  },
];
const mysql = {
  query_block: {
    nested_loop: [
      { table: { table_name: 'parts', access_type: 'ref', key: 'by_name', rows_produced_per_join: 7 } },
      { table: { table_name: 'tags', access_type: 'ALL' } },
    ],
  },
};

describe('svc preflight (CL-30)', () => {
  it('prints verdict, risk with factors, findings, approvers and hints, exit 0', async () => {
    api.on(route, { body: answer });
    const { code, stdout } = await svc('delete from parts', '-e', 'staging');
    expect(code).toBe(0);
    expect(stdout).toBe(`Verdict
  warning
  risk        medium (large_table: 50,000 rows)
  statement   DELETE

Findings
  warn   large_in_list  a list of 200\\u001b[31m elements

Approval
  needs approval
  step 1  role:dba, 2 needed
  step 2  user:erin, 1 needed
  a reason is required

Hints
  Put the values into a table.
  Look at the warnings before you submit.
`);
    expect(api.bodies(route)).toEqual([{ database: 'app', environment: 'staging', sql: 'delete from parts' }]);
  });

  it.each([
    ['PostgreSQL', postgres, ['Hash Join', '  Seq Scan on orders', '  Index Scan by parts_pkey on parts, 1 row']],
    ['MySQL', mysql, ['ref by by_name on parts, 7 rows', 'ALL on tags']],
  ])('sums up the plan of %s', async (_name, plan, lines) => {
    const impact = { status: 'completed', estimated_rows: 12034, estimated_cost: 12.5, index_used: true, explain_plan: plan };
    api.on(route, { body: { ...answer, impact } });
    const { stdout } = await svc('select 1');
    expect(stdout).toContain(['Plan', 'about 12,034 rows, cost 12.5, an index is used', ...lines].join('\n  '));
  });

  it('numbers the findings of several statements, and keeps them in columns', async () => {
    const findings = [
      { code: 'drop_index', action: 'warn', message: 'an index goes', statement_index: 1 },
      { code: 'no_where_delete', action: 'block', message: 'DELETE without WHERE', statement_index: 2 },
    ];
    const classification = { statement_type: 'UPDATE', statement_count: 3, multi_statement: true };
    api.on(route, { body: { ...answer, status: 'blocked', classification, review: { findings, blocked: true } } });
    const { stdout } = await svc('delete from parts');
    expect(stdout).toContain('  statement   UPDATE and others, 3 in all\n');
    expect(stdout).toContain(`Findings
  warn   drop_index       statement 2: an index goes
  block  no_where_delete  statement 3: DELETE without WHERE
`);
  });

  it('says who is not asked when it passes by itself, and the reason of a refusal once', async () => {
    const policy = { ...answer.policy, would_auto_approve: true, require_reason: false };
    api.on(route, { body: { ...answer, status: 'requestable', policy } });
    expect((await svc('select 1')).stdout).toContain('Approval\n  approved at once\n  not asked: step 1  role:dba, 2 needed\n');
    const findings = [{ code: 'rejected', action: 'block', message: 'privileges: GRANT', statement_index: 0 }];
    const refused = { status: 'blocked', risk: 'unknown', classification: { statement_type: 'unknown', statement_count: 0 } };
    api.on(route, { body: { ...refused, review: { findings }, fix_hints: ['privileges: GRANT', 'use a migration'] } });
    expect((await svc('grant all on t to public')).stdout).toBe(`Verdict
  blocked
  risk        unknown

Findings
  block  rejected  privileges: GRANT

Hints
  use a migration
`);
  });

  it.each([
    ['timeout', 'no agent answered in time'],
    ['not_available', 'no agent is online'],
    ['error', 'the database could not plan the statement'],
    ['disabled_by_policy', 'switched off by the workflow policy'],
  ])('says why there is no plan: %s', async (status, text) => {
    api.on(route, { body: { ...answer, impact: { status } } });
    expect((await svc('select 1')).stdout).toContain(`Plan\n  no plan: ${text}\n`);
  });

  it('tells the words of the database, the place, and its hint', async () => {
    const error =
      'driver error: query failed: column "nam" does not exist (SQLSTATE 42703, position 8); hint: Perhaps you meant "name".';
    api.on(route, { body: { ...answer, impact: { status: 'error', error, unknown_name: true } } });
    const told = 'PostgreSQL: column "nam" does not exist (line 1, column 8). Perhaps you meant "name".';
    const { code, stdout, stderr } = await svc('select nam from parts');
    expect(code).toBe(1);
    expect(stdout).toContain(`Plan\n  no plan: ${told}\n`);
    expect(stderr).toContain(`preflight: ${told}`);
  });

  it('says what the database does not know, exit 1 for CI', async () => {
    const impact = { status: 'error', error: 'relation "partz" does not exist (SQLSTATE 42P01)', unknown_name: true };
    api.on(route, { body: { ...answer, impact } });
    const { code, stdout, stderr } = await svc('delete from partz where id = 1');
    expect([code, stderr]).toEqual([1, 'error: preflight: relation "partz" does not exist (SQLSTATE 42P01)\n']);
    expect(stdout).toContain('Plan\n  no plan: relation "partz" does not exist (SQLSTATE 42P01)\n');
    api.on(route, {
      body: { ...answer, impact: { ...impact, error: 'permission denied for table partz', unknown_name: false } },
    });
    expect(await svc('select 1')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(
        'the role that makes plans (read_url) may not do this; the request runs as the role of url\n  permission denied for table partz\n',
      ),
    });
  });

  it('prints what the server warns of', async () => {
    api.on(route, { body: { ...answer, warnings: ['unknown field sqll; did you mean sql?'] } });
    expect((await svc('delete from t')).stderr).toBe('warning: unknown field sqll; did you mean sql?\n');
    expect(JSON.parse((await svc('delete from t', '--json')).stdout).warnings).toEqual(['unknown field sqll; did you mean sql?']);
  });

  it('is exit 1 when it is blocked, with the whole answer', async () => {
    const findings = [{ code: 'no_where_delete', action: 'block', message: 'DELETE without WHERE', statement_index: 0 }];
    const blocked = { ...answer, status: 'blocked', review: { findings, blocked: true } };
    api.on(route, { body: blocked });
    const human = await svc('delete from parts');
    expect(human).toMatchObject({ code: 1, stderr: 'error: preflight: blocked: DELETE without WHERE\n' });
    expect(human.stdout).toContain('block  no_where_delete  DELETE without WHERE');
    const json = await svc('delete from parts', '--json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, data: blocked, error: { code: 'blocked' } });
  });

  it('says so when only a permission is missing', async () => {
    api.on(route, { body: { ...answer, status: 'blocked', policy: { ...answer.policy, caller_can_submit: false } } });
    expect((await svc('select 1')).stderr).toContain('you may not submit this here');
  });

  it('passes the answer on byte for byte (CL-12), and its options to the server', async () => {
    const body = '{"status":"requestable","impact":{"explain_plan":[{"Plan":{"Plan Rows":9007199254740993}}]}}';
    api.on(route, { body });
    const result = await svc('select 1', '--no-explain', '--explain-timeout', '250', '--json');
    expect(result).toMatchObject({ code: 0, stdout: `{"ok":true,"data":${body}}\n` });
    expect(api.bodies(route)[0]).toMatchObject({ include_explain: false, explain_timeout_ms: 250 });
  });

  it('reads stdin; a refusal is the server error, bad words are usage', async () => {
    api.on(route, { status: 429, body: { error: 'at most 3', code: 'rate.limited', hint: null } });
    const limited = await runSvc(['preflight', '--file', '-', '--json'], { environment: login(api.url), stdin: 'select 1' });
    expect([limited.code, JSON.parse(limited.stdout).error.code]).toEqual([1, 'rate.limited']);
    expect((await runSvc(['preflight'], { environment: login(api.url), stdin: '' })).code).toBe(2);
    expect((await svc('select 1', '--explain-timeout', 'soon')).code).toBe(2);
  });
});
