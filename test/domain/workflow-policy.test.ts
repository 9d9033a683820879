import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AutoApproveRule, WorkflowPolicy } from '../../domain/policies.js';
import { OPERATIONS, type Operation } from '../../domain/policies.js';
import {
  DEFAULT_EXECUTION_POLICY,
  decideAutoApproval,
  defaultResultPolicy,
  effectiveStatementTimeoutSecs,
  matchPolicy,
  matchWorkflow,
  previewDecision,
  type RiskLevel,
  snapshotWorkflow,
} from '../../domain/workflow-policy.js';

function workflow(database: string, environment: string, operations: Operation[] = []): WorkflowPolicy {
  return {
    id: `wf:${database}:${environment}:${operations.join()}`,
    database,
    environment,
    operations,
    autoApprove: null,
    steps: [{ mode: 'all', approvers: [{ selector: 'group:leads', min: 1 }] }],
    requireReason: false,
    allowSelfApprove: false,
    allowSameApproverAcrossSteps: false,
    explain: true,
    pendingTtlSecs: null,
    approvalTtlSecs: 60,
    statementTimeoutSecs: null,
  };
}

const request = { database: 'app', environment: 'production', operation: 'execute_dml' as const };

describe('matching a workflow (WF-1)', () => {
  const all = [
    workflow('*', '*'),
    workflow('*', '*', ['execute_dml']),
    workflow('app', '*'),
    workflow('app', '*', ['execute_dml']),
    workflow('*', 'production'),
    workflow('*', 'production', ['execute_dml']),
    workflow('app', 'production'),
    workflow('app', 'production', ['execute_dml']),
  ];

  it('prefers environment over database over operation, whatever the order', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(all, { minLength: 1 }), (some) => {
        const best = all.filter((item) => some.includes(item)).at(-1);
        expect(matchWorkflow(some, request)).toBe(best);
      }),
    );
  });

  it('finds nothing where database, environment or operation differ', () => {
    const others = [workflow('other', '*'), workflow('app', 'staging'), workflow('*', '*', ['execute_select'])];
    expect(matchWorkflow(others, request)).toBeNull();
    expect(matchWorkflow([], request)).toBeNull();
  });

  it('scores policies by environment, then database (WF-2)', () => {
    const policies = [
      { database: 'app', environment: '*' },
      { database: '*', environment: 'production' },
      { database: '*', environment: '*' },
    ];
    expect(matchPolicy(policies, request)).toBe(policies[1]);
    expect(matchPolicy(policies, { database: 'app', environment: 'qa' })).toBe(policies[0]);
    expect(matchPolicy(policies, { database: 'x', environment: 'qa' })).toBe(policies[2]);
    expect(matchPolicy(policies.slice(0, 1), { database: 'x', environment: 'qa' })).toBeNull();
  });
});

it('keeps a copy of the workflow with its clocks resolved (WF-3, TT-1, TT-2)', () => {
  const source = workflow('app', '*', ['execute_dml']);
  const snapshot = snapshotWorkflow(source, 86_400);
  expect(snapshot).toMatchObject({ id: source.id, pendingTtlSecs: 86_400, approvalTtlSecs: 60, steps: source.steps });
  expect(snapshot).not.toHaveProperty('operations');
  expect(snapshot.steps).not.toBe(source.steps);
});

const rule = (mode: AutoApproveRule['mode'], risk: AutoApproveRule['risk']): AutoApproveRule => ({
  mode,
  risk,
  allowReadOnly: true,
  allowSafeDdl: true,
  maxEstimatedRows: 1000,
});

const usual = { emergency: false, requireApproval: false, bounded: true };
const medium = rule('risk_based', 'medium');

describe('auto-approval (requests.md 8)', () => {
  it.each<[string, AutoApproveRule | null, RiskLevel, string, string]>([
    ['always', rule('always', null), 'critical', 'auto_approved', 'explicit_always'],
    ['below the threshold', medium, 'low', 'auto_approved', 'risk_below_threshold'],
    ['at the threshold', medium, 'medium', 'auto_approved', 'risk_below_threshold'],
    ['above the threshold', medium, 'high', 'needs_approval', 'risk_above_threshold'],
    ['critical', rule('risk_based', 'high'), 'critical', 'needs_approval', 'risk_above_threshold'],
    ['unknown', rule('risk_based', 'high'), 'unknown', 'needs_approval', 'risk_unavailable'],
    ['unavailable', rule('risk_based', 'high'), 'unavailable', 'needs_approval', 'risk_unavailable'],
    ['no rule', null, 'low', 'needs_approval', 'no_auto_approve_rule'],
  ])('%s', (_, autoApprove, risk, outcome, reason) => {
    expect(decideAutoApproval(autoApprove, risk, usual)).toMatchObject({ outcome, reason });
    expect(decideAutoApproval(autoApprove, risk, { ...usual, emergency: true })).toMatchObject({
      outcome: 'auto_approved',
      reason: 'break_glass',
    });
  });

  it('tells the threshold it compared with', () => {
    expect(decideAutoApproval(medium, 'low', usual).threshold).toBe('medium');
    expect(decideAutoApproval(null, 'low', usual).threshold).toBeNull();
  });
});

describe('what keeps a request from passing by itself', () => {
  const always = rule('always', null);
  it.each<[string, Parameters<typeof decideAutoApproval>, string, string]>([
    [
      'rows that cannot be counted, by risk (HD-25)',
      [medium, 'low', { ...usual, bounded: false }],
      'needs_approval',
      'rows_not_bounded',
    ],
    ['the same above the threshold', [medium, 'high', { ...usual, bounded: false }], 'needs_approval', 'risk_above_threshold'],
    ['the same where everything passes', [always, 'low', { ...usual, bounded: false }], 'auto_approved', 'explicit_always'],
    ['the same in an emergency', [medium, 'low', { ...usual, bounded: false, emergency: true }], 'auto_approved', 'break_glass'],
    [
      'its requester, by risk (HD-26)',
      [medium, 'low', { ...usual, requireApproval: true }],
      'needs_approval',
      'approval_requested',
    ],
    [
      'its requester, where everything passes',
      [always, 'low', { ...usual, requireApproval: true }],
      'needs_approval',
      'approval_requested',
    ],
    [
      'a channel that the rule leaves out',
      [{ ...always, channels: ['api'] }, 'low', { ...usual, channel: 'mcp' }],
      'needs_approval',
      'channel_not_allowed',
    ],
    [
      'a channel that the rule names',
      [{ ...always, channels: ['mcp'] }, 'low', { ...usual, channel: 'mcp' }],
      'auto_approved',
      'explicit_always',
    ],
    [
      'its requester, without a rule',
      [null, 'low', { ...usual, requireApproval: true }],
      'needs_approval',
      'no_auto_approve_rule',
    ],
  ])('%s', (_, asked, outcome, reason) => {
    expect(decideAutoApproval(...asked)).toMatchObject({ outcome, reason });
  });
});

it('bounds the statement timeout of a workflow by the maximum of the policy (requests.md 9)', () => {
  expect(effectiveStatementTimeoutSecs(DEFAULT_EXECUTION_POLICY, null)).toBe(30);
  expect(effectiveStatementTimeoutSecs(DEFAULT_EXECUTION_POLICY, { statementTimeoutSecs: null })).toBe(30);
  expect(effectiveStatementTimeoutSecs(DEFAULT_EXECUTION_POLICY, { statementTimeoutSecs: 120 })).toBe(120);
  expect(effectiveStatementTimeoutSecs(DEFAULT_EXECUTION_POLICY, { statementTimeoutSecs: 9000 })).toBe(600);
});

it('has the documented defaults (RS-58) and six operations (PO-3)', () => {
  expect(defaultResultPolicy(30)).toEqual({ id: null, retentionDays: 30, deliveryMode: 'both', access: [] });
  expect(OPERATIONS).toHaveLength(6);
});

describe('what is known of a creation before its text (PO-2)', () => {
  const ruled = (mode: AutoApproveRule['mode'] | null) => ({ autoApprove: mode === null ? null : rule(mode, 'low') });
  it.each([
    [null, 'execute_select', 'deny', 'no_matching_workflow'],
    [null, 'migrate_up', 'deny', 'no_matching_workflow'],
    [null, 'migrate_repair', 'break_glass_only', 'emergency_required'],
    [ruled('always'), 'execute_dml', 'auto_approved', 'explicit_always'],
    [ruled('always'), 'migrate_down', 'auto_approved', 'explicit_always'],
    [ruled('always'), 'migrate_repair', 'break_glass_only', 'emergency_required'],
    [ruled('risk_based'), 'execute_select', 'may_auto_approve', 'risk_unknown_until_analyzed'],
    [ruled('risk_based'), 'migrate_status', 'needs_approval', 'no_auto_approve'],
    [ruled(null), 'execute_select', 'needs_approval', 'no_auto_approve'],
  ] as const)('%j with %s is %s: %s', (policy, operation, decision, reason) => {
    expect(previewDecision(policy && { ...policy, steps: [] }, operation)).toEqual({ decision, reason });
  });

  const approvers = [{ mode: 'all' as const, approvers: [{ selector: 'group:dba-team', min: 1 }] }];
  it.each([
    ['always', [], 'api', 'execute_select', 'deny', 'channel_not_allowed'],
    ['always', [], 'mcp', 'execute_select', 'auto_approved', 'explicit_always'],
    ['always', [], 'api', 'migrate_repair', 'break_glass_only', 'emergency_required'],
    ['risk_based', approvers, 'api', 'execute_dml', 'needs_approval', 'channel_not_allowed'],
    ['risk_based', approvers, 'mcp', 'execute_dml', 'may_auto_approve', 'risk_unknown_until_analyzed'],
  ] as const)(
    '%s for MCP alone, with steps %j, through %s: %s is %s: %s',
    (mode, steps, channel, operation, decision, reason) => {
      const autoApprove = { ...rule(mode, 'low'), channels: ['mcp' as const] };
      expect(previewDecision({ autoApprove, steps: [...steps] }, operation, channel)).toEqual({ decision, reason });
    },
  );
});
