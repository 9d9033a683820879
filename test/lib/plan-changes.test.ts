import { expect, it } from 'vitest';
import { changesIn } from '../../lib/plan-changes.js';

const scan = (rows: number, more: object = {}) => ({ 'Node Type': 'Seq Scan', 'Plan Rows': rows, ...more });
const change = (...plans: object[]) => ({ 'Node Type': 'ModifyTable', 'Plan Rows': 0, Plans: plans });
const outer = { 'Parent Relationship': 'Outer' };
const inWith = { 'Parent Relationship': 'InitPlan', 'Subplan Name': 'CTE gone' };

it.each<[string, unknown, { rows: number | null } | null]>([
  ['of the node below a change', [{ Plan: change(scan(4000, outer)) }], { rows: 4000 }],
  [
    'of a DELETE in the WITH of a SELECT of one row',
    [{ Plan: { 'Node Type': 'Aggregate', 'Plan Rows': 1, Plans: [{ ...change(scan(4_000_000, outer)), ...inWith }] } }],
    { rows: 4_000_000 },
  ],
  [
    'of a change and of the one in its WITH, in any order',
    [{ Plan: change({ ...change(scan(30, outer)), ...inWith }, scan(4, outer)) }],
    { rows: 34 },
  ],
  [
    'not known where one change does not say',
    [{ Plan: change({ ...change(scan(0, outer)), ...inWith }, scan(4, outer)) }],
    { rows: null },
  ],
  ['none in a read', [{ Plan: scan(5) }], null],
  ['none in a plan of MySQL', { query_block: { table: { table_name: 'orders', rows: 4 } } }, null],
  ['none in what is no plan', 'none', null],
])('the rows of a plan that are changed are %s', (_what, plan, expected) => {
  expect(changesIn(plan)).toEqual(expected);
});
