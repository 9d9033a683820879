import { describe, expect, it } from 'vitest';
import { canBeBounded } from '../../domain/row-bound.js';
import { noFacts } from '../../sql/facts.js';
import { table } from '../support/snapshots.js';

type Text = Parameters<typeof canBeBounded>[0];
const text = (
  kind: Text['statements'][number]['kind'],
  outsideTransaction = false,
  hits: Text['facts'][number]['hits'] = [],
): Text => ({
  statements: [{ kind, outsideTransaction }],
  facts: [{ ...noFacts(), hits }],
});
const mixed = { tables: [table('parts'), table('plain', { transactional: false })] };

describe('what an agent can hold to a number of rows (HD-25)', () => {
  it.each<[string, Parameters<typeof canBeBounded>, boolean]>([
    ['rows on PostgreSQL', [text('dml'), 'postgresql', null], true],
    ['DDL in a transaction', [text('ddl'), 'postgresql', null], true],
    ['an index that is built concurrently', [text('ddl', true), 'postgresql', null], false],
    ['the same of an unknown dialect', [text('ddl', true), null, null], false],
    ['TRUNCATE', [text('ddl', false, ['truncate']), 'postgresql', null], false],
    ['DROP TABLE', [text('ddl', false, ['drop_table']), 'postgresql', null], false],
    ['rows on MySQL', [text('dml'), 'mysql', { tables: [table('parts')] }], true],
    ['rows on MySQL, no snapshot', [text('dml'), 'mysql', null], true],
    ['a setting on MySQL', [text('setting'), 'mysql', null], true],
    ['DDL on MySQL, which commits', [text('ddl'), 'mysql', null], false],
    ['CALL on MySQL', [text('utility'), 'mysql', null], false],
    ['rows on MySQL beside a table without transactions', [text('dml'), 'mysql', mixed], false],
  ])('%s', (_, asked, bounded) => {
    expect(canBeBounded(...asked)).toBe(bounded);
  });
});
