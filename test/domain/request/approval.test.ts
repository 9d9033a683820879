import { describe, expect, it } from 'vitest';
import { currentSelectors, firstOpenStep, openSelectors, stepProgress } from '../../../domain/request/approval.js';
import { STATUSES } from '../../../domain/request/types.js';
import { approval, requestIn, steps, storedRequest, workflowSnapshot } from '../../support/stored-request.js';

const entries = (mode: 'all' | 'any', ...approvers: [string, number][]) => ({
  mode,
  approvers: approvers.map(([selector, min]) => ({ selector, min })),
});
const dba = 'group:dba';
const leads = 'group:leads';

/** Mode and entries of one step, the approvals given as [user, selector], and whether they satisfy it (AV-10). */
const cases: [
  mode: 'all' | 'any',
  approvers: [string, number][],
  given: [string, string][],
  satisfied: boolean,
  counts: number[],
][] = [
  ['all', [[dba, 1]], [], false, [0]],
  ['all', [[dba, 1]], [['bob', dba]], true, [1]],
  ['all', [[dba, 2]], [['bob', dba]], false, [1]],
  [
    'all',
    [[dba, 2]],
    [
      ['bob', dba],
      ['bob', dba],
    ],
    false,
    [1],
  ],
  [
    'all',
    [[dba, 2]],
    [
      ['bob', dba],
      ['eve', dba],
    ],
    true,
    [2],
  ],
  [
    'all',
    [
      [dba, 1],
      [leads, 1],
    ],
    [['bob', dba]],
    false,
    [1, 0],
  ],
  [
    'all',
    [
      [dba, 1],
      [leads, 1],
    ],
    [
      ['bob', dba],
      ['eve', leads],
    ],
    true,
    [1, 1],
  ],
  [
    'any',
    [
      [dba, 1],
      [leads, 1],
    ],
    [['bob', dba]],
    true,
    [1, 0],
  ],
  [
    'any',
    [
      [dba, 2],
      [leads, 2],
    ],
    [
      ['bob', dba],
      ['eve', leads],
    ],
    false,
    [1, 1],
  ],
  [
    'any',
    [
      [dba, 2],
      [leads, 2],
    ],
    [
      ['bob', leads],
      ['eve', leads],
    ],
    true,
    [0, 2],
  ],
  [
    'all',
    [
      [dba, 1],
      [dba, 2],
    ],
    [['bob', dba]],
    false,
    [1, 1],
  ],
];

describe('how far a step is', () => {
  it.each(cases)('mode %s with %j and approvals %j is satisfied: %s (AV-10)', (mode, approvers, given, satisfied, counts) => {
    const decisions = given.map(([who, selector]) => approval(0, who, selector));
    const [step] = stepProgress(workflowSnapshot({ steps: [entries(mode, ...approvers)] }), decisions);
    expect([step?.satisfied, step?.entries.map(({ current }) => current)]).toEqual([satisfied, counts]);
    expect(step).toMatchObject({ index: 0, mode });
  });

  it('counts an approval for its own step only, and no rejection (AV-10)', () => {
    const workflow = workflowSnapshot({ steps: steps(dba, dba) });
    const rejection = { ...approval(0, 'eve', dba), action: 'reject' as const };
    expect(stepProgress(workflow, [approval(1, 'bob', dba), rejection]).map(({ satisfied }) => satisfied)).toEqual([false, true]);
  });

  it('puts the first unsatisfied step first, and the number of steps when all are (RQ-41)', () => {
    const workflow = workflowSnapshot({ steps: steps(dba, leads) });
    const open = (...given: [number, string, string][]) =>
      firstOpenStep(
        stepProgress(
          workflow,
          given.map((one) => approval(...one)),
        ),
      );
    expect(open()).toBe(0);
    expect(open([1, 'bob', leads])).toBe(0);
    expect(open([0, 'bob', dba])).toBe(1);
    expect(open([0, 'bob', dba], [1, 'eve', leads])).toBe(2);
  });
});

describe('the selectors of the current step', () => {
  const workflow = workflowSnapshot({ steps: [entries('all', [dba, 1], [leads, 2]), entries('all', ['user:root', 1])] });
  const request = storedRequest({ policy: workflow, decisions: [approval(0, 'bob', dba), approval(0, 'eve', leads)] });

  it('are all of them for who sees the request, satisfied ones too (RQ-8)', () => {
    expect(currentSelectors(request)).toEqual([dba, leads]);
  });

  it('are the ones that still need approvals for who can approve (RQ-55)', () => {
    expect(openSelectors(request)).toEqual([leads]);
    expect(openSelectors({ ...request, decisions: [...request.decisions, approval(0, 'ann', leads)] })).toEqual(['user:root']);
  });

  it.each(STATUSES.filter((status) => status !== 'pending'))('are none in %s', (status) => {
    const other = requestIn(status, { policy: workflow });
    expect([currentSelectors(other), openSelectors(other)]).toEqual([[], []]);
  });

  it('are none without a workflow snapshot', () => {
    expect(openSelectors(storedRequest({ policy: null }))).toEqual([]);
  });
});
