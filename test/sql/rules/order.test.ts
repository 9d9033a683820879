import { describe, expect, it } from 'vitest';
import { formOf } from '../../../sql/postgres/forms.js';
import { classify, said, useClassifier } from './classified.js';

useClassifier();

describe('what is classified and in which order', () => {
  it.each([
    'create table t (a int, b int generated always as (a) virtual)',
    'update t set a = 1 returning with (old as o, new as n) o.a, n.a',
    'create table t (a int4range, primary key (a without overlaps))',
    'select * from json_table($$[]$$, $$$$ columns (a int))',
  ])('SQ-3: takes what only a grammar of today knows: %s', async (text) => {
    expect((await classify(text)).verdict).toBe('accepted');
  });

  it('SQ-4: has a row for every kind of statement it takes, and refuses the tag of any other', () => {
    for (const tag of ['TomorrowStmt', 'RawStmt', 'PLAssignStmt', 'CreateConversionStmt', 'toString', '__proto__', ''])
      expect(formOf(tag, {}, { statementTimeoutSecs: 30 })).toMatchObject({ verdict: 'refused' });
  });

  it.each<[string, string, string, string]>([
    ['SQ-8', 'U+0000 in a blank text', ' \0', 'the text holds the character U+0000'],
    ['SQ-8', 'U+0000 in too long a text', `\0${' '.repeat(1_048_577)}`, 'the text holds the character U+0000'],
    ['SQ-9', 'too much white space', ' '.repeat(1_048_577), 'empty'],
    ['SQ-10', 'too many bytes that do not parse', 'é'.repeat(524_289), 'more than 1048576 bytes'],
    ['SQ-10', 'too many bytes of comments', `--${'x'.repeat(1_048_575)}`, 'more than 1048576 bytes'],
    ['SQ-11', 'a syntax error before 101 statements', `selec 1;${'commit;'.repeat(101)}`, 'syntax error at or near "selec"'],
    ['SQ-12', 'comments and semicolons', '/* a */;;-- b', 'empty'],
    ['SQ-13', '101 refused statements', 'commit;'.repeat(101), 'more than 100 statements'],
    [
      'SQ-14',
      'a refused statement in a refused batch',
      'select 1; select 2; commit',
      'transaction control: COMMIT (statement 3)',
    ],
    [
      'SQ-15',
      'a batch that breaks a rule',
      'select 1; select 2',
      'in a batch that only reads, only the last statement may return rows',
    ],
  ])('%s: says of %s', async (_id, _what, text, expected) => {
    const verdict = await classify(text);
    expect(verdict.verdict === 'refused' ? verdict.reason : verdict.verdict).toBe(expected);
  });

  it('SQ-10: takes 1,048,576 bytes, and SQ-9 looks at no other white space', async () => {
    const comment = `--${'x'.repeat(1_048_574 - 9)}\nselect 1`;
    expect(Buffer.byteLength(comment)).toBe(1_048_576);
    expect((await classify(comment)).verdict).toBe('accepted');
    for (const text of ['\u00a0', '\u2028', '\ufeff', '\u0085']) expect(await said(text)).toMatch(/^syntax error at or near/);
  });
});
