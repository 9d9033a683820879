import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sqlTokens } from '../../lib/sql-tokens.js';

const colours = (sql: string) =>
  sqlTokens(sql)
    .filter(({ kind, text }) => kind !== 'plain' && text.trim() !== '')
    .map(({ kind, text }) => `${kind} ${text}`);

describe('the colours of SQL', () => {
  it('tell comments, texts, numbers and keywords', () => {
    expect(colours("select 'a--b', 1 from t -- x\n/* y */ where a = $$it's$$")).toEqual([
      'keyword select',
      "text 'a--b'",
      'number 1',
      'keyword from',
      'comment -- x',
      'comment /* y */',
      'keyword where',
      "text $$it's$$",
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
  ])('end where databases read on in two ways: %j (HD-61)', (sql, ...last) => {
    expect(colours(sql).slice(-last.length)).toEqual(last);
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
