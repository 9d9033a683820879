import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier } from '../../../sql/classify.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
});
afterAll(() => sql.close());

const unparsable = '[unparsable SQL removed]';

describe('literal-free text of MySQL (AU-51)', () => {
  it.each([
    ["SELECT * FROM t WHERE a = 'x\\'y' AND b = \"z\" AND c = -1.5e3", 'SELECT * FROM t WHERE a = ? AND b = ? AND c = -?'],
    ["SELECT 0xff, 0b1, x'ff', b'1', N'a', _utf8mb4'b', .5, 12", 'SELECT ?, ?, ?, ?, ?, ?, ?, ?'],
    ["SELECT DATE '2020-01-01', TIME'1:2', timestamp \"x\", date(a)", 'SELECT ?, ?, ?, date(a)'],
    ["SELECT a + INTERVAL 5 DAY, INTERVAL -'1:2' MINUTE_SECOND, INTERVAL(1, b)", 'SELECT a + ?, ?, INTERVAL(?, b)'],
    ['SELECT NULL, TRUE, false, @a, t.`5` FROM t', 'SELECT NULL, TRUE, false, @a, t.`5` FROM t'],
    ['/* secret */ SELECT /*+ x */ -- secret\n  1/* x */+2 # secret', 'SELECT ? +?'],
    ["SET NAMES 'x' ;; SELECT 1; -- end", 'SET NAMES ?; SELECT ?'],
    ["GRANT ALL ON t TO 'me'@'host' IDENTIFIED BY 'secret'", 'GRANT ALL ON t TO ?@? IDENTIFIED BY ?'],
    ['', ''],
  ])('%j becomes %j', async (text, redacted) => {
    expect(await sql.redact(text, 'mysql')).toBe(redacted);
  });

  it('removes text that cannot be read or begins like no statement', async () => {
    for (const text of [
      "SELECT 'open",
      'hunter2',
      'SELECT 1; hunter2',
      'SELECT 1\0',
      "SELECT '\ud800'",
      '/*! SELECT 1 */',
      'SELECT 1e5x',
      'SELECT (1',
    ])
      expect(await sql.redact(text, 'mysql')).toBe(unparsable);
  });

  it('lets no marker constant through, in any form (AU-I7)', async () => {
    const shapes: ((word: string, number: number) => string)[] = [
      (word) => `'${word}'`,
      (word) => `"${word}\\""`,
      (word) => `'it''s ${word}\\\\'`,
      (word) => `_latin1'${word}'`,
      (word) => `DATE '${word}'`,
      (word) => `INTERVAL '${word}' DAY_SECOND`,
      (_, number) => `${number}`,
      (_, number) => `-${number}.5e3`,
      (_, number) => `0x${number}`,
      (_, number) => `x'${number}'`,
      (_, number) => `INTERVAL ${number} SECOND`,
    ];
    const marker = fc.stringMatching(/^[a-z]{4}[a-f0-9]{8}$/);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...shapes),
        marker,
        fc.integer({ min: 10_000_000, max: 99_999_999 }),
        async (shape, word, n) => {
          const constant = shape(word, n);
          const text = `/* ${word} */ SELECT ${constant} AS x -- ${word}\n; INSERT INTO t VALUES (${constant}, ${constant}) # ${word}`;
          const redacted = await sql.redact(text, 'mysql');
          expect(redacted).not.toBe(unparsable);
          expect(redacted).not.toContain(word);
          expect(redacted).not.toContain(String(n));
        },
      ),
      { numRuns: 300 },
    );
  });
});
