import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { summarisePlan } from '../../lib/plan-summary.js';

const nothing = { estimatedRows: null, estimatedCost: null, indexUsed: null };

describe('the summary of a plan', () => {
  it.each([
    [
      'PostgreSQL with an index below',
      [{ Plan: { 'Plan Rows': 3, 'Total Cost': 9.5, Plans: [{ 'Node Type': 'Index Only Scan', 'Index Name': 'i' }] } }],
      { estimatedRows: 3, estimatedCost: 9.5, indexUsed: true },
    ],
    ['PostgreSQL without one', [{ Plan: { 'Node Type': 'Seq Scan' } }], { ...nothing, indexUsed: false }],
    [
      'MySQL, whose costs are text',
      {
        query_block: { cost_info: { query_cost: '1.20' }, table: { table_name: 't', key: 'PRIMARY', rows_produced_per_join: 4 } },
      },
      { estimatedRows: 4, estimatedCost: 1.2, indexUsed: true },
    ],
    [
      'MariaDB',
      { query_block: { cost: 0.5, table: { table_name: 't', access_type: 'ALL', rows: 7 } } },
      { estimatedRows: 7, estimatedCost: 0.5, indexUsed: false },
    ],
    [
      'a join of MySQL that is sorted',
      {
        query_block: {
          cost_info: { query_cost: '9.00' },
          ordering_operation: {
            nested_loop: [
              { table: { table_name: 'a', rows_produced_per_join: 10 } },
              { table: { table_name: 'b', key: 'a_id', rows_produced_per_join: 25 } },
            ],
          },
        },
      },
      { estimatedRows: 25, estimatedCost: 9, indexUsed: true },
    ],
    [
      'an UPDATE of MySQL',
      { query_block: { table: { update: true, table_name: 't', key: 'PRIMARY', rows_examined_per_scan: 2 } } },
      { ...nothing, estimatedRows: 2, indexUsed: true },
    ],
    [
      'one table of MariaDB 11',
      { query_block: { cost: 0.1, nested_loop: [{ table: { table_name: 't', rows: 3 } }] } },
      { estimatedRows: 3, estimatedCost: 0.1, indexUsed: false },
    ],
    [
      'a join of MariaDB, which says nothing of the whole',
      {
        query_block: {
          cost: 0.1,
          nested_loop: [{ table: { table_name: 't', rows: 3 } }, { table: { table_name: 'u', rows: 4 } }],
        },
      },
      { ...nothing, estimatedCost: 0.1, indexUsed: false },
    ],
    ['something else', { a: 1 }, nothing],
  ])('of %s', (_name, plan, summary) => {
    expect(summarisePlan(plan)).toEqual(summary);
  });

  it('is there for any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const plan of [value, [{ Plan: value }], { query_block: value }]) {
          const { estimatedRows, estimatedCost } = summarisePlan(plan);
          for (const number of [estimatedRows, estimatedCost]) expect(number === null || Number.isFinite(number)).toBe(true);
        }
      }),
    );
  });
});
