import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReviewRule } from '../../domain/policies.js';
import { assessRisk, type RiskInput } from '../../domain/risk.js';
import type { SchemaSnapshot, SnapshotTable } from '../../domain/snapshot.js';
import type { StatementFacts } from '../../domain/statement.js';
import { noFacts } from '../../sql/facts.js';

const table = (name: string, rows: number, cascadesTo: readonly string[] = [], schema = 'public'): SnapshotTable => ({
  name,
  schema_name: schema,
  estimated_rows: rows,
  columns: [],
  constraints: cascadesTo.map((parent) => ({
    name: `${name}_fk`,
    constraint_type: 'foreign_key',
    columns: ['a'],
    referenced_table: parent.split('.').at(-1)!,
    referenced_columns: ['id'],
    on_delete: 'CASCADE',
    referenced_schema: parent.includes('.') ? parent.split('.')[0]! : 'public',
  })),
  indexes: [],
  triggers: [],
  code: [],
  keys: [],
});
const noCode = { functions: [], fields: [], operators: [], casts: [] };
const snapshotOf = (...tables: SnapshotTable[]): SchemaSnapshot => ({ tables, user_code: noCode });
const named = (...names: string[]) => names.map((name) => ({ schema: null, name }));
const update = (...names: string[]): StatementFacts => ({
  ...noFacts(),
  changesRows: true,
  changed: named(...names),
  named: named(...names),
});
const remove = (...names: string[]): StatementFacts => ({ ...update(...names), deletedFrom: named(...names) });
const alter = (name: string): StatementFacts => ({ ...noFacts(), ddl: true, changed: named(name), named: named(name) });
const create = (name: string): StatementFacts => ({
  ...noFacts(),
  ddl: true,
  safeForm: true,
  created: named(name),
  named: named(name),
});
const read = (...names: string[]) => ({
  operation: 'execute_select' as const,
  facts: [{ ...noFacts(), named: named(...names) }],
});
const codes = (...list: ReviewRule[]) => list.map((code) => ({ code }));
const rule = { allowReadOnly: true, allowSafeDdl: true, maxEstimatedRows: 1000 };
const assess = (changes: Partial<RiskInput>) =>
  assessRisk({
    operation: 'execute_dml',
    facts: [noFacts()],
    findings: [],
    autoApprove: rule,
    snapshot: snapshotOf(),
    snapshotAgeMs: 0,
    ...changes,
  });

describe('risk vectors of sql-safety.md section 9', () => {
  const small = snapshotOf(table('t', 100));
  it.each<[string, Partial<RiskInput>, string, unknown[]]>([
    ['SELECT with allow_read_only, no snapshot', { operation: 'execute_select', snapshot: null }, 'low', [{ name: 'read_only' }]],
    [
      'SELECT without allow_read_only, no snapshot',
      { operation: 'execute_select', snapshot: null, autoApprove: null },
      'unknown',
      [{ name: 'schema_not_synced' }],
    ],
    ['UPDATE on 100 rows', { facts: [update('t')], snapshot: small }, 'low', []],
    [
      'UPDATE on a table of -1 rows',
      { facts: [update('t')], snapshot: snapshotOf(table('t', -1)) },
      'unknown',
      [{ name: 'never_analysed', tables: ['t'] }],
    ],
    [
      'UPDATE on a table of -1 rows and on one not in the snapshot',
      { facts: [update('t'), update('x')], snapshot: snapshotOf(table('t', -1)) },
      'unknown',
      [
        { name: 'table_unresolved', tables: ['x'] },
        { name: 'never_analysed', tables: ['t'] },
      ],
    ],
    [
      'UPDATE on a table not in the snapshot',
      { facts: [update('x')], snapshot: small },
      'unknown',
      [{ name: 'table_unresolved', tables: ['x'] }],
    ],
    ...[
      ['86,400 s old', 86_400_000, 'low'],
      ['a millisecond older', 86_400_001, 'unknown'],
      ['a minute in the future', -60_000, 'low'],
      ['further in the future', -60_001, 'unknown'],
      ['of no known age', Number.NaN, 'unknown'],
    ].map(([title, snapshotAgeMs, level]): [string, Partial<RiskInput>, string, unknown[]] => [
      `UPDATE with a snapshot ${title} (SQ-85a)`,
      { facts: [update('t')], snapshot: small, snapshotAgeMs: Number(snapshotAgeMs) },
      String(level),
      level === 'low' ? [] : [{ name: 'schema_stale' }],
    ]),
    [
      'a table of -1 rows in an old snapshot',
      { facts: [update('t')], snapshot: snapshotOf(table('t', -1)), snapshotAgeMs: 86_400_001 },
      'unknown',
      [{ name: 'schema_stale' }],
    ],
    [
      'a snapshot older than its workflow allows',
      { facts: [update('t')], snapshot: small, autoApprove: { ...rule, maxSnapshotAgeSecs: 60 }, snapshotAgeMs: 60_001 },
      'unknown',
      [{ name: 'schema_stale' }],
    ],
    [
      'a read with allow_read_only, whatever the snapshot',
      { ...read('t'), snapshot: small, snapshotAgeMs: 86_400_001 },
      'low',
      [{ name: 'read_only' }],
    ],
    ['three UPDATEs', { facts: [update('t'), update('t'), update('t')], snapshot: small }, 'high', [{ name: 'multi_statement' }]],
    ['a setting and one UPDATE', { facts: [noFacts(), update('t')], snapshot: small }, 'high', [{ name: 'multi_statement' }]],
    ['one finding', { findings: codes('large_in_list') }, 'medium', []],
    ['two findings', { findings: codes('large_in_list', 'drop_column') }, 'medium', []],
    [
      'three findings',
      { findings: codes('large_in_list', 'large_in_list', 'drop_column') },
      'high',
      [{ name: 'many_warnings', count: 3 }],
    ],
    [
      'DELETE, 500 rows, child of 200 rows',
      { facts: [remove('t')], snapshot: snapshotOf(table('t', 500), table('c', 200, ['t'])) },
      'medium',
      [{ name: 'cascade_delete', targets: ['c'] }],
    ],
    [
      'DELETE, no cascade, 50,000 rows',
      { facts: [remove('t')], snapshot: snapshotOf(table('t', 50_000)) },
      'medium',
      [{ name: 'large_table', rows: 50_000 }],
    ],
    [
      'DELETE, 50,000 rows, child of 100,000',
      { facts: [remove('t')], snapshot: snapshotOf(table('t', 50_000), table('c', 100_000, ['t'])) },
      'high',
      [
        { name: 'cascade_delete', targets: ['c'] },
        { name: 'large_table', rows: 50_000 },
      ],
    ],
    [
      'DELETE, 100 rows, child of 50, walk cut off',
      {
        facts: [remove('t')],
        snapshot: snapshotOf(
          table('t', 100),
          table('a', 50, ['t']),
          table('b', 50, ['a']),
          table('c', 50, ['b']),
          table('d', 1, ['c']),
        ),
      },
      'high',
      [{ name: 'cascade_delete', targets: ['a', 'b', 'c'] }],
    ],
    ['DROP INDEX i with snapshot', { findings: codes('drop_index'), snapshot: small }, 'high', [{ name: 'drop_operation' }]],
  ])('%s', (_name, input, level, factors) => {
    expect(assess(input)).toMatchObject({ level, factors });
  });
});

describe('the steps of section 9', () => {
  it('let safe DDL pass as low when the rule allows it, else judge it like all else (SQ-82, SQ-84)', () => {
    const safe = { factors: [{ name: 'safe_ddl' }], level: 'low' };
    expect(assess({ facts: [create('t')], snapshot: null })).toMatchObject(safe);
    for (const change of [
      { autoApprove: { ...rule, allowSafeDdl: false } },
      { autoApprove: null },
      { findings: codes('large_in_list') },
      { facts: [create('t'), create('u')] },
      { facts: [{ ...create('t'), listedCall: true }] },
    ])
      expect(assess({ facts: [create('t')], snapshot: null, ...change })).toMatchObject({ level: 'unknown' });
  });

  it('do not look for a table that an earlier statement of the batch creates (SQ-86)', () => {
    expect(assess({ facts: [create('t'), update('t')] })).toMatchObject({
      level: 'high',
      factors: [{ name: 'ddl' }, { name: 'multi_statement' }],
    });
    expect(assess({ facts: [update('t'), create('t')] })).toMatchObject({ level: 'unknown' });
  });

  it('take a name that stands in several schemas for unresolved, unless it is qualified (SQ-81)', () => {
    const snapshot = snapshotOf(table('t', 1), table('t', 2, [], 's'));
    const qualified = { ...noFacts(), changed: [{ schema: 's', name: 't' }], named: [{ schema: 's', name: 't' }] };
    expect(assess({ facts: [update('t')], snapshot })).toMatchObject({ level: 'unknown' });
    expect(assess({ facts: [qualified], snapshot })).toMatchObject({ level: 'low' });
    const wrong = { ...noFacts(), changed: [{ schema: 'x', name: 't' }] };
    expect(assess({ facts: [wrong], snapshot })).toMatchObject({ factors: [{ name: 'table_unresolved', tables: ['x.t'] }] });
  });

  it('call it unknown when the text does not say what it writes (SQ-I7)', () => {
    expect(assess({ facts: [{ ...noFacts(), writesUnknown: true }] })).toEqual({
      level: 'unknown',
      factors: [{ name: 'table_unresolved', tables: [] }],
      schemaStatus: 'ready',
    });
    expect(assess({ facts: [{ ...update('t'), writesUnknown: true }], snapshot: snapshotOf(table('t', -1)) }).factors).toEqual([
      { name: 'table_unresolved', tables: [] },
      { name: 'never_analysed', tables: ['t'] },
    ]);
    const sleeps = { ...noFacts(), writesUnknown: true, unlisted: ['sleep()'] };
    expect(assess({ facts: [sleeps] })).toMatchObject({
      level: 'unknown',
      factors: [{ name: 'unlisted_function', names: ['sleep()'] }],
    });
  });

  it('look at every named table for its rows, and use 1000 without a rule (SQ-91)', () => {
    const reading = { ...noFacts(), named: named('a', 'b', 'view') };
    const snapshot = snapshotOf(table('a', 1001), table('b', 5000));
    expect(assess({ operation: 'execute_select', facts: [reading], snapshot, autoApprove: null })).toMatchObject({
      level: 'medium',
      factors: [{ name: 'large_table', rows: 5000 }],
    });
    const wide = { ...rule, allowReadOnly: false, maxEstimatedRows: 5000 };
    expect(assess({ operation: 'execute_select', facts: [reading], snapshot, autoApprove: wide })).toMatchObject({
      level: 'low',
    });
  });

  it('want every table known that a query names which runs as a write, as by FOR UPDATE (SQ-86, HD-21)', () => {
    const locking = (...names: string[]) => ({ ...noFacts(), named: named(...names) });
    const snapshot = snapshotOf(table('t', 1));
    expect(assess({ facts: [locking('t')], snapshot })).toMatchObject({ level: 'low', factors: [] });
    expect(assess({ facts: [locking('t', 'view')], snapshot })).toMatchObject({
      level: 'unknown',
      factors: [{ name: 'table_unresolved', tables: ['view'] }],
    });
    const casting = { ...snapshot, user_code: { ...noCode, casts: ['mood as integer'] } };
    expect(assess({ facts: [locking('t')], snapshot: casting })).toMatchObject({
      level: 'unknown',
      factors: [{ name: 'unlisted_function', names: ['cast mood as integer'] }],
    });
  });

  it('count several reads in one batch as one (SQ-87)', () => {
    const facts = [noFacts(), noFacts()];
    expect(assess({ operation: 'execute_select', facts, autoApprove: null })).toMatchObject({ level: 'low', factors: [] });
  });

  it('walk cascades breadth first to depth 3, cycles and self references included (SQ-94)', () => {
    const cycle = snapshotOf(
      table('t', 1, ['b', 't']),
      table('a', 1, ['t']),
      table('b', 1, ['a', 't']),
      table('c', 1, ['b'], 's'),
    );
    expect(assess({ facts: [remove('t')], snapshot: cycle })).toMatchObject({ level: 'medium' });
    const own = snapshotOf(table('t', 1, ['t']), table('u', 1));
    expect(assess({ facts: [remove('t', 'u')], snapshot: own })).toMatchObject({
      factors: [{ name: 'cascade_delete', targets: ['t'] }],
    });
  });

  it('name the tables that lose rows, with their schema unless it is public (HD-24, SQ-93), and count a child that was never analysed as large', () => {
    const snapshot = snapshotOf(table('t', 1, [], 's'), table('c', -1, ['s.t'], 's'), table('u', 1, ['s.t', 's.c']));
    expect(assess({ facts: [remove('t')], snapshot })).toEqual({
      level: 'high',
      factors: [{ name: 'cascade_delete', targets: ['u', 's.c'] }],
      schemaStatus: 'ready',
    });
  });

  it('are not asked for migrations (RQ-44)', () => {
    expect(assess({ operation: 'migrate_up' })).toEqual({ level: 'unavailable', factors: [], schemaStatus: 'unavailable' });
  });
});

describe('each step for itself', () => {
  const calling = { ...update('t'), unlisted: ['f()'] };
  const parent = (rows: number) => table('t', rows);
  const child = (rows: number) => table('c', rows, ['t']);
  const chain = [table('a', 1, ['t']), table('b', 1, ['a']), table('c', 1, ['b'])];
  const drops = ['drop_table', 'truncate', 'drop_index', 'drop_view', 'drop_sequence'] as const;
  const others = ['drop_column', 'create_sequence', 'not_null_without_default', 'alter_column_type', 'mixed_ddl_dml'] as const;
  it.each<[string, Partial<RiskInput>, string, string[]]>([
    [
      'SQ-80: without auto_approve a read is not low by itself',
      { ...read('t'), autoApprove: null, snapshot: null },
      'unknown',
      ['schema_not_synced'],
    ],
    ['SQ-80: nor is safe DDL', { facts: [create('t')], autoApprove: null, snapshot: null }, 'unknown', ['schema_not_synced']],
    ['SQ-80: 1000 rows are not large', { ...read('t'), autoApprove: null, snapshot: snapshotOf(parent(1000)) }, 'low', []],
    ['SQ-83: a read is low whatever it names', { ...read('t'), snapshot: snapshotOf(parent(90_000)) }, 'low', ['read_only']],
    ['SQ-83: but no write is', { facts: [update('t')], snapshot: null }, 'unknown', ['schema_not_synced']],
    ['SQ-83: nor a read when the rule says so', { ...read('t'), autoApprove: { ...rule, allowReadOnly: false } }, 'low', []],
    ['SQ-85: before SQ-86', { facts: [update('x')], snapshot: null }, 'unknown', ['schema_not_synced']],
    [
      'SQ-86: before all that raises',
      { facts: [update('x'), update('x')], findings: codes(...drops) },
      'unknown',
      ['table_unresolved'],
    ],
    ['SQ-88: two findings', { findings: codes('large_in_list', 'large_in_list') }, 'medium', []],
    ['SQ-88: four', { findings: codes(...others.slice(0, 4)) }, 'high', ['many_warnings']],
    ...drops.map((code): [string, Partial<RiskInput>, string, string[]] => [
      `SQ-89: ${code}`,
      { findings: codes(code) },
      'high',
      ['drop_operation'],
    ]),
    ...others.map((code): [string, Partial<RiskInput>, string, string[]] => [
      `SQ-89: not ${code}`,
      { findings: codes(code) },
      'medium',
      [],
    ]),
    ['SQ-90: no children', { facts: [remove('t')], snapshot: snapshotOf(parent(1000)) }, 'low', []],
    ['SQ-90: small', { facts: [remove('t')], snapshot: snapshotOf(parent(1000), child(1000)) }, 'medium', ['cascade_delete']],
    ['SQ-90: a large child', { facts: [remove('t')], snapshot: snapshotOf(parent(1), child(1001)) }, 'high', ['cascade_delete']],
    [
      'SQ-90: a large table',
      { facts: [remove('t')], snapshot: snapshotOf(parent(1001), child(1)) },
      'high',
      ['cascade_delete', 'large_table'],
    ],
    ['SQ-90: depth 3', { facts: [remove('t')], snapshot: snapshotOf(parent(1), ...chain) }, 'medium', ['cascade_delete']],
    ['SQ-90: an UPDATE takes nothing along', { facts: [update('t')], snapshot: snapshotOf(parent(1), child(1001)) }, 'low', []],
    ['HD-20: DDL that is not safe', { facts: [alter('t')], snapshot: snapshotOf(parent(1)) }, 'medium', ['ddl']],
    ['HD-20: safe DDL', { facts: [create('t')] }, 'low', ['safe_ddl']],
    [
      'HD-20: safe DDL that the rule does not let pass',
      { facts: [create('t')], autoApprove: { ...rule, allowSafeDdl: false } },
      'medium',
      ['ddl'],
    ],
    [
      'HD-20: before other factors',
      { facts: [alter('t')], findings: codes('drop_index'), snapshot: snapshotOf(parent(1001)) },
      'high',
      ['ddl', 'drop_operation', 'large_table'],
    ],
    [
      'HD-21: a name that is no built-in',
      { facts: [calling], snapshot: snapshotOf(parent(1)) },
      'unknown',
      ['unlisted_function'],
    ],
    ['HD-21: safe DDL with one', { facts: [{ ...create('t'), unlisted: ['f()'] }] }, 'unknown', ['unlisted_function']],
    ['HD-21: of a read does not matter', { ...read('t'), facts: [calling] }, 'low', ['read_only']],
    [
      'HD-21: a snapshot of an older agent',
      { facts: [update('t')], snapshot: { tables: [{ ...parent(1), triggers: null, code: null }] } },
      'unknown',
      ['schema_incomplete'],
    ],
    [
      'HD-21: more user-made names than an agent sends',
      { facts: [update('t')], snapshot: { tables: [parent(1)], user_code: null } },
      'unknown',
      ['schema_incomplete'],
    ],
    [
      'HD-21: an older snapshot does not matter to DDL',
      { facts: [alter('t')], snapshot: { tables: [{ ...parent(1), triggers: null }] } },
      'medium',
      ['ddl'],
    ],
    [
      'HD-21: triggers of a child that loses rows',
      { facts: [remove('t')], snapshot: snapshotOf(parent(1), { ...child(1), triggers: ['g'] }) },
      'medium',
      ['cascade_delete', 'triggers'],
    ],
    [
      'HD-21: triggers of a child, not for an INSERT',
      {
        facts: [{ ...update('t'), insertedInto: named('t') }],
        snapshot: snapshotOf(parent(1), { ...child(1), triggers: ['g'] }),
      },
      'low',
      [],
    ],
    [
      'HD-21: code of the table',
      { facts: [update('t')], snapshot: snapshotOf({ ...parent(1), code: ['public.f'] }) },
      'unknown',
      ['unlisted_function'],
    ],
    ['SQ-92: nothing to say', { facts: [update('t')], snapshot: snapshotOf(parent(1)) }, 'low', []],
    [
      'SQ-95: a block that was lifted counts',
      { findings: codes('truncate', 'drop_column', 'drop_column') },
      'high',
      ['many_warnings', 'drop_operation'],
    ],
  ])('%s', (_what, input, level, factors) => {
    const risk = assess(input);
    expect([risk.level, risk.factors.map(({ name }) => name)]).toEqual([level, factors]);
  });
});

describe('SQ-I7: risk never falls', () => {
  const levels = ['low', 'medium', 'high', 'unknown'];
  const rank = (changes: Partial<RiskInput>): number => levels.indexOf(assess(changes).level);
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'absent');
  const names = fc.uniqueArray(name, { maxLength: 3 });
  const statement = fc.oneof(
    names.map((list) => update(...list)),
    names.map((list) => remove(...list)),
    names.map((list) => ({ ...noFacts(), named: named(...list) })),
    name.map(alter),
    fc.constant(create('absent')),
    fc.constant({ ...noFacts(), writesUnknown: true }),
  );
  const parents = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 2 });
  const rows = fc.constantFrom(-1, 0, 100, 1000, 1001, 90_000);
  const snapshot = fc
    .tuple(...['a', 'b', 'c', 'd'].map((each) => fc.tuple(fc.constant(each), rows, parents)))
    .map((tables) => snapshotOf(...tables.map(([each, count, to]) => table(each, count, to))));
  const input = fc.record({
    facts: fc.array(statement, { minLength: 1, maxLength: 3 }),
    findings: fc
      .array(fc.constantFrom<ReviewRule>('drop_column', 'large_in_list', 'drop_index'), { maxLength: 3 })
      .map((list) => codes(...list)),
    snapshot: fc.option(snapshot),
    operation: fc.constantFrom<'execute_select' | 'execute_dml'>('execute_select', 'execute_dml'),
    autoApprove: fc.constantFrom(rule, { ...rule, allowReadOnly: false, allowSafeDdl: false }, null),
  });

  it('when a statement or a finding is added', () => {
    fc.assert(
      fc.property(input, statement, fc.constantFrom<ReviewRule>('drop_table', 'mixed_ddl_dml'), (before, more, code) => {
        expect(rank({ ...before, facts: [...before.facts, more] })).toBeGreaterThanOrEqual(rank(before));
        expect(rank({ ...before, findings: [...before.findings, { code }] })).toBeGreaterThanOrEqual(rank(before));
      }),
      { numRuns: 1000 },
    );
  });

  it('when a known row count rises', () => {
    fc.assert(
      fc.property(input, fc.nat({ max: 3 }), fc.integer({ min: 1, max: 100_000 }), (before, index, more) => {
        if (before.snapshot === null || before.snapshot.tables[index]!.estimated_rows < 0) return;
        const tables = before.snapshot.tables.map((each, at) =>
          at === index ? { ...each, estimated_rows: each.estimated_rows + more } : each,
        );
        expect(rank({ ...before, snapshot: snapshotOf(...tables) })).toBeGreaterThanOrEqual(rank(before));
      }),
      { numRuns: 1000 },
    );
  });
});
