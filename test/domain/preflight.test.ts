import { describe, expect, it } from 'vitest';
import type { AutoApproveRule, WorkflowPolicy } from '../../domain/policies.js';
import { blockedAnswer, type PreflightFacts, preflightAnswer } from '../../domain/preflight.js';
import type { Finding, RiskFactor } from '../../domain/request/context.js';
import { decideAutoApproval, type RiskLevel } from '../../domain/workflow-policy.js';

const finding = (code: Finding['code'], action: Finding['action'], statementIndex = 0): Finding => ({
  code,
  action,
  message: `about ${code}`,
  statementIndex,
});
const always: AutoApproveRule = { mode: 'always', risk: null, allowReadOnly: true, allowSafeDdl: true, maxEstimatedRows: 1000 };
const upTo = (risk: 'low' | 'medium' | 'high'): AutoApproveRule => ({ ...always, mode: 'risk_based', risk });

interface Case {
  autoApprove?: AutoApproveRule | null;
  level?: RiskLevel;
  factors?: RiskFactor[];
  findings?: Finding[];
  canSubmit?: boolean;
  breakGlassAllowed?: boolean;
  write?: boolean;
  ddl?: boolean;
}

function answerOf({
  autoApprove = always,
  level = 'low',
  factors = [],
  findings = [],
  write = false,
  ddl = false,
  ...rights
}: Case) {
  const workflow: WorkflowPolicy = {
    id: 'wf:*:staging:e3b0c44298fc',
    database: '*',
    environment: 'staging',
    operations: [],
    autoApprove,
    steps: [
      { mode: 'all', approvers: [{ selector: 'group:leads', min: 2 }] },
      {
        mode: 'any',
        approvers: [
          { selector: 'user:erin', min: 1 },
          { selector: 'role:dba', min: 1 },
        ],
      },
    ],
    requireReason: true,
    allowSelfApprove: false,
    allowSameApproverAcrossSteps: false,
    explain: true,
    pendingTtlSecs: null,
    approvalTtlSecs: null,
    statementTimeoutSecs: null,
  };
  const facts: PreflightFacts = {
    classified: { operation: write || ddl ? 'execute_dml' : 'execute_select', statementType: 'X', write, ddl, statements: 1 },
    workflow,
    review: { findings, blocked: findings.some(({ action }) => action === 'block') },
    risk: { level, factors },
    approval: decideAutoApproval(autoApprove, level, { emergency: false, requireApproval: false, bounded: true }),
    canSubmit: true,
    breakGlassAllowed: false,
    ...rights,
  };
  return preflightAnswer(facts);
}

describe('PF-15: the status is the first that applies', () => {
  const block = [finding('truncate', 'block')];
  const warn = [finding('drop_index', 'warn')];
  it.each<[string, Case, string]>([
    ['nothing to say', {}, 'requestable'],
    ['a person approves it, whatever its risk', { autoApprove: null, level: 'unknown' }, 'requestable'],
    ['always approved, whatever its risk', { level: 'unknown' }, 'requestable'],
    ['risk below the threshold', { autoApprove: upTo('medium'), level: 'low' }, 'requestable'],
    ['risk equal to the threshold', { autoApprove: upTo('medium'), level: 'medium' }, 'requestable'],
    ['risk above the threshold', { autoApprove: upTo('medium'), level: 'high' }, 'warning'],
    ['unknown risk under a threshold', { autoApprove: upTo('high'), level: 'unknown' }, 'warning'],
    ['a warning, though it passes by itself', { findings: warn }, 'warning'],
    ['a warning from one who may not submit', { findings: warn, canSubmit: false }, 'blocked'],
    ['no permission', { canSubmit: false }, 'blocked'],
    ['a block that break-glass could lift', { findings: block, breakGlassAllowed: true }, 'blocked'],
  ])('%s', (_what, facts, status) => {
    const answer = answerOf(facts);
    expect([answer.status, answer.retryable]).toEqual([status, status !== 'requestable']);
    expect(answer.next_actions.length > 0).toBe(status !== 'requestable');
  });
});

describe('the answer (preflight.md 1.1)', () => {
  it('PF-16: has the same keys whatever it says', () => {
    const keys = (answer: object) => Object.keys(answer).sort();
    const blocked = blockedAnswer('rejected', 'why', null);
    const full = answerOf({});
    expect(keys(blocked)).toEqual(keys(full));
    expect(keys(blocked.classification)).toEqual(keys(full.classification));
    expect(keys(blocked.policy)).toEqual(keys(full.policy));
  });

  it('shows the approvers of all steps in order, also when it passes by itself', () => {
    const { policy } = answerOf({});
    expect(policy).toMatchObject({ would_auto_approve: true, requires_approval: false, require_reason: true });
    expect(policy.approvers).toEqual([
      { selector: 'group:leads', min: 2, step: 0 },
      { selector: 'user:erin', min: 1, step: 1 },
      { selector: 'role:dba', min: 1, step: 1 },
    ]);
  });

  it.each([
    [false, false, { mutating: false, ddl: false, requires_ddl_permission: false }],
    [true, false, { mutating: true, ddl: false, requires_ddl_permission: false }],
    [false, true, { mutating: true, ddl: true, requires_ddl_permission: true }],
    [true, true, { mutating: true, ddl: false, requires_ddl_permission: true }],
  ])('write %s and ddl %s are told apart', (write, ddl, expected) => {
    const answer = answerOf({ write, ddl });
    expect(answer.classification).toMatchObject(expected);
    expect(answer.requires_ddl_permission).toBe(expected.requires_ddl_permission);
  });

  it('hints once for each code in order, then for a high and for an unknown risk', () => {
    const findings = [finding('truncate', 'block'), finding('drop_index', 'warn', 1), finding('truncate', 'block', 2)];
    const hints = (level: RiskLevel) => answerOf({ findings, level }).fix_hints;
    expect(hints('low')).toEqual(['Use a DELETE with a WHERE.', 'Make sure that no query needs the index.']);
    expect(hints('medium')).toHaveLength(2);
    expect(hints('high')[2]).toContain('lower its risk');
    expect(hints('critical')).toEqual(hints('high'));
    expect(hints('unknown')[2]).toContain('unknown');
    const factors = [{ name: 'never_analysed', tables: ['items', 's.parts'] }];
    expect(answerOf({ level: 'unknown', factors }).fix_hints).toEqual([
      'The size of items, s.parts is not known: run ANALYZE on the database (MySQL: ANALYZE TABLE), then wait for the agent to read the schema again.',
    ]);
    const both = [{ name: 'table_unresolved', tables: ['x'] }, ...factors];
    expect(answerOf({ level: 'unknown', factors: both }).fix_hints).toHaveLength(2);
    expect(answerOf({ findings }).review.findings.map((each) => each.statement_index)).toEqual([0, 1, 2]);
  });

  it('PF-20: the blocked form tells the reason and nothing else', () => {
    expect(blockedAnswer('parse_failure', 'not understood: x', 'a hint')).toMatchObject({
      status: 'blocked',
      risk: 'unknown',
      requires_ddl_permission: false,
      retryable: false,
      next_actions: [],
      review: { blocked: true, findings: [{ code: 'parse_failure', action: 'block', statement_index: 0 }] },
      risk_assessment: { level: 'unknown', factors: [] },
      fix_hints: ['not understood: x', 'a hint'],
    });
  });
});
