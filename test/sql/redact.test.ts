import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier } from '../../sql/classify.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
});
afterAll(() => sql.close());

const unparsable = '[unparsable SQL removed]';

describe('literal-free text (AU-51)', () => {
  it.each([
    ["SELECT * FROM t WHERE a = 'x' AND b = 12 AND c = -1.5", 'SELECT * FROM t WHERE a = ? AND b = ? AND c = -?'],
    ["SELECT b'101', X'ff', $$a$$, $q$ b $q$, E'a\\'b', 1e3, 0xff, 1_000", 'SELECT ?, ?, ?, ?, ?, ?, ?, ?'],
    ["SELECT DATE '2020-01-01', TIMESTAMP(3) WITH TIME ZONE 'x', pg_catalog.date 'y', N'z'", 'SELECT ?, ?, ?, ?'],
    ["SELECT INTERVAL '1' DAY, interval '1:2' DAY TO SECOND(3), INTERVAL(3) '1' AS day", 'SELECT ?, ?, ? AS day'],
    ["SELECT INTERVAL '1' year AS x, interval '2' AS y, \"interval\" '3' AS year", 'SELECT ? AS x, ? AS y, ? AS year'],
    ["SELECT 'a'::date, CAST('b' AS numeric(10,2))", 'SELECT ?::date, CAST(? AS numeric(?,?))'],
    ["SELECT 'a'\n'b', U&'d\\0061' , U&'x!0061' UESCAPE '!'", 'SELECT ?, ? , ? UESCAPE ?'],
    ['SELECT NULL, TRUE, false, $1', 'SELECT NULL, TRUE, false, $1'],
    ['/* secret */ SELECT -- secret\n  1/* x */+2', 'SELECT ? +?'],
    ["SET a = 'b' ;; SELECT 1; -- end", 'SET a = ?; SELECT ?'],
    ['SELECT "Name 1" FROM "é"', 'SELECT "Name 1" FROM "é"'],
    ["DO $$ BEGIN x('secret'); END $$", 'DO ?'],
    ["SET TIME ZONE INTERVAL '1' HOUR TO MINUTE", 'SET TIME ZONE ?'],
    ["SELECT 'é', \"ü\", 'ß'", 'SELECT ?, "ü", ?'],
    ['CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)', 'CREATE RULE r AS ON INSERT TO t DO (SELECT ?; SELECT ?)'],
    ['', ''],
    ['-- only a comment', ''],
  ])('%j becomes %j', async (text, redacted) => {
    expect(await sql.redact(text, 'postgresql')).toBe(redacted);
  });

  it.each([
    ['postgresql', "SELECT a FROM t WHERE b = 'x' AND c = 12"],
    ['mysql', "SELECT a FROM t WHERE b = 'x' AND c = 12"],
    [null, 'SELECT a FROM t WHERE c = 12'],
  ] as const)('comes with the verdict of an accepted %s text where that is asked for', async (dialect, text) => {
    const options = { dialect, statementTimeoutSecs: 30 };
    expect(await sql.classify(text, { ...options, redact: true })).toHaveProperty('redacted', await sql.redact(text, dialect));
    expect(await sql.classify(text, options)).not.toHaveProperty('redacted');
  });

  it('removes text that cannot be parsed', async () => {
    for (const text of ["SELECT 'open", 'nonsense', 'SELECT 1\0', "SELECT '\ud800'"])
      expect(await sql.redact(text, 'postgresql')).toBe(unparsable);
  });

  it('with an unknown dialect hides what may be a string in either', async () => {
    expect(await sql.redact('SELECT "a", \'b\' FROM t', null)).toBe('SELECT ?, ? FROM t');
    expect(await sql.redact('SELECT 1 # secret', null)).toBe(unparsable);
  });

  it('redacts long texts as short ones', async () => {
    expect(await sql.redact(`SELECT 'x' -- ${'y'.repeat(5_000)}`, 'postgresql')).toBe('SELECT ?');
  });
});

describe('no marker constant survives (AU-I7)', () => {
  const marker = fc.stringMatching(/^[a-z]{4}[a-f0-9]{8}$/);
  const digits = fc.integer({ min: 10_000_000, max: 99_999_999 }).map(String);
  const shapes: ((word: string, number: string) => string)[] = [
    (word) => `'${word}'`,
    (word) => `E'${word}\\n'`,
    (word) => `N'${word}'`,
    (word) => `U&'${word}'`,
    (word) => `$$${word}$$`,
    (word) => `$tag$ '${word}' $tag$`,
    (word) => `DATE '${word}'`,
    (word) => `json '{"a":"${word}"}'`,
    (word) => `INTERVAL '${word}' DAY TO SECOND`,
    (word) => `'é${word}'::text`,
    (_, number) => number,
    (_, number) => `-${number}.5e3`,
    (_, number) => `0x${number}`,
    (_, number) => `x'${number}'`,
    (_, number) => `INTERVAL '${number}' SECOND(3)`,
    (_, number) => `f(${number}::numeric(${number}))`,
  ];
  const constant = fc
    .tuple(fc.constantFrom(...shapes), marker, digits)
    .map(([shape, word, number]) => ({ text: shape(word, number), word, number }));
  const templates: ((a: string, b: string, word: string) => string)[] = [
    (a, b, word) => `SELECT ${a} AS x, ${b} FROM t -- ${word}`,
    (a, b, word) => `/* ${word} */ INSERT INTO t VALUES (${a}, ${b}); SELECT 1`,
    (a, b) => `UPDATE t SET a = ${a} WHERE b IN (${b})`,
    (a, b) => `WITH w AS (SELECT ${a}) DELETE FROM t USING w WHERE a = ${b}`,
    (a, b) => `SELECT CASE WHEN ${a} IS NULL THEN ${b} END; CREATE TABLE x AS SELECT ${b}`,
  ];

  it('in constants of every form, in comments and in several statements', async () => {
    await fc.assert(
      fc.asyncProperty(constant, constant, fc.constantFrom(...templates), async (a, b, template) => {
        const redacted = await sql.redact(template(a.text, b.text, a.word), 'postgresql');
        expect(redacted).not.toBe(unparsable);
        for (const secret of [a.word, a.number, b.word, b.number]) expect(redacted).not.toContain(secret);
      }),
      { numRuns: 400 },
    );
  });
});
