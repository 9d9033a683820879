import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sqlTokens } from '../../lib/sql-tokens.js';

const colours = (sql: string) =>
  sqlTokens(sql)
    .filter(({ kind, text }) => kind !== 'plain' && text.trim() !== '')
    .map(({ kind, text }) => `${kind} ${text}`);

describe('the colours of SQL', () => {
  it('tell comments, texts, numbers and keywords', () => {
    expect(colours("select 'a--b', 1 from t -- x\n/* y */ where a = `b` and c$d > 1.5")).toEqual([
      'keyword select',
      "text 'a--b'",
      'number 1',
      'keyword from',
      'comment -- x',
      'comment /* y */',
      'keyword where',
      'keyword and',
      'number 1.5',
    ]);
    expect(colours(String.raw`select '\d', 'a\\', "b"`)).toEqual([
      'keyword select',
      String.raw`text '\d'`,
      String.raw`text 'a\\'`,
    ]);
  });

  it.each([
    ['delete from t where a > 0 /* /* */ and id = 1 -- */', 'keyword where', 'number 0'],
    [String.raw`delete from t where a = 'x\' or true -- '`, 'keyword where'],
    [String.raw`delete from t where a = "x\" or true -- "`, 'keyword where'],
    [`select 1 --1 'x'; delete from t`, 'keyword select', 'number 1'],
    ['select 1 -- x\rdelete from t', 'keyword select', 'number 1'],
    ['select $$; delete from t; select $$', 'keyword select'],
    ["select 1 # it's\n; delete from t; # it's", 'keyword select', 'number 1'],
    ["select 1 as `it's`; delete from t; select 1 as `it's`", 'number 1', 'keyword as'],
  ])('end where databases read on in two ways: %j (HD-61)', (sql, ...last) => {
    expect(colours(sql).slice(-last.length)).toEqual(last);
  });

  it.each(['a$$', 'é$$', "$é$ '"])('take no text for what a name or another quote ends: %s (HD-61)', (name) => {
    expect(colours(`select ${name}; delete from t; select ${name}`)).not.toContainEqual(expect.stringMatching(/^text/));
  });

  it('take no comment of MySQL for what a blank beyond ASCII begins (HD-61)', () => {
    expect(colours('where id = 1 --\u00a0x or true')).toEqual(['keyword where', 'number 1']);
  });

  it('leave a comment of PostgreSQL alone that MySQL computes with', () => {
    expect(colours('--note\nselect 1 --1\nfrom t')).toEqual(['keyword select', 'number 1', 'keyword from']);
  });

  it('leave nothing out', () => {
    const piece = fc.constantFrom("'", '"', '\\', '--', '/*', '*/', '\n', '\r', '$$', ' ', 'a', 'select', '1', ';');
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const sql = pieces.join('');
        expect(
          sqlTokens(sql)
            .map(({ text }) => text)
            .join(''),
        ).toBe(sql);
      }),
    );
  });
});
