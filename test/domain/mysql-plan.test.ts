import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alikePlan, readsRows, shownPlan } from '../../domain/mysql-plan.js';

const shown = (plan: unknown) => {
  const answer = shownPlan(JSON.stringify(plan));
  return 'plan' in answer ? JSON.parse(answer.plan) : answer;
};
const table = {
  table_name: 't',
  access_type: 'range',
  possible_keys: ['a'],
  key: 'a',
  used_key_parts: ['x'],
  key_length: '4',
  rows: 5,
  filtered: 100,
};
const condition = {
  attached_condition: "t.email = 'carol'",
  index_condition: 'carol',
  message: '',
  ref: ["'carol'"],
  expr: 'carol',
};

describe('HD-2: a plan of MySQL or MariaDB', () => {
  it('is passed on as the known fields of its tables', () => {
    const plan = {
      query_block: {
        select_id: 1,
        cost_info: { query_cost: '4.81', secret: 'carol' },
        nested_loop: [
          { table: { ...table, ...condition } },
          { 'block-nl-join': { table: { ...table, ...condition }, buffer_size: '1Kb' } },
        ],
        filesort: { sort_key: "t.a = 'carol'", temporary_table: { table } },
        having_condition: 'carol',
      },
    };
    expect(shown(plan)).toEqual({
      query_block: {
        select_id: 1,
        cost_info: { query_cost: '4.81' },
        nested_loop: [{ table }, { 'block-nl-join': { table } }],
        filesort: { temporary_table: { table } },
      },
    });
  });

  it.each([
    [{ query_block: { table: { ...table, access_type: 'const' } } }],
    [{ query_block: { nested_loop: [{ table: { ...table, access_type: 'system' } }, { table }] } }],
    [{ query_block: { table: { message: 'Impossible WHERE noticed after reading const tables' } } }],
    [{ query_block: { message: 'no matching row in const table' } }],
    [{ query_block: { table: { materialized: { query_block: { table: { message: 'Select tables optimized away' } } } } } }],
    [{ query_block: { table: { table_name: '<derived2>', access_type: 'system', materialized: { query_block: { table } } } } }],
  ])('for which rows were read is not shown: %j', (plan) => {
    expect(shown(plan)).toEqual({ error: readsRows });
  });

  it.each([
    [{ query_block: { select_id: 1, table: { message: 'No tables used' } } }, { query_block: { select_id: 1, table: {} } }],
    [
      { query_block: { table: { table_name: '<derived2>', access_type: 'system' } } },
      { query_block: { table: { table_name: '<derived2>', access_type: 'system' } } },
    ],
    [alikePlan('t'), alikePlan('t')],
    [[{ Plan: { Filter: 'x' } }], [{ Plan: { Filter: 'x' } }]],
    [{ operation: 'carol' }, {}],
    [7, 7],
  ])('%j is shown as %j', (plan, expected) => {
    expect(shown(plan)).toEqual(expected);
  });

  it('shows again what it has shown, for any JSON', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const once = shownPlan(text);
        expect('error' in once ? once : shownPlan(once.plan)).toEqual(once);
      }),
    );
  });
});
