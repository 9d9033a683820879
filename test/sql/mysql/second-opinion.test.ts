import { init, parse } from '@guanmingchiu/sqlparser-ts';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier, type Verdict } from '../../../sql/classify.js';
import { classifyText } from '../../../sql/classify-text.js';
import { cutMysql } from '../../../sql/mysql/engine.js';
import { seesMore } from '../../../sql/mysql/second-opinion.js';
import type { Tree } from '../../../sql/tree.js';
import type { Accepted } from '../../../sql/verdict.js';
import { unhurried } from '../../support/unhurried.js';
import { mysqlVectors } from '../mysql-vectors.js';

let sql: SqlClassifier;
beforeAll(async () => {
  await init();
  sql = await createSqlClassifier(unhurried);
});
afterAll(() => sql?.close());

const options = { dialect: 'mysql', statementTimeoutSecs: 30 } as const;
const classify = (text: string): Promise<Verdict> => sql.classify(text, options, 'alice');
const classifyAlone = (text: string): Verdict => classifyText(cutMysql, text, options);
const treesOf = (text: string): Tree[] => parse(text, 'mysql') as Tree[];

function accepted(text: string): Accepted {
  const verdict = classifyAlone(text);
  if (verdict.verdict !== 'accepted') throw new Error(`${text}: ${JSON.stringify(verdict)}`);
  return verdict;
}

describe('what a second parser sees beyond our verdict (SQ-3)', () => {
  it.each([
    // our verdict is that of the first text, its trees are those of the second
    ['SELECT 1', 'SELECT 1; DELETE FROM t', '2 statements, not 1'],
    ['SELECT 1; DELETE FROM t', 'SELECT 1', '1 statements, not 2'],
    ['SELECT 1', 'DELETE FROM t', 'Delete in statement 1'],
    ['SELECT 1', 'REPLACE INTO t VALUES (1)', 'Insert in statement 1'],
    ['SELECT 1', 'CALL p()', 'Call in statement 1'],
    ['SELECT 1', 'DROP TABLE t', 'Drop in statement 1'],
    ['SELECT 1', 'SET autocommit = 1', 'Set in statement 1'],
    ['SET NAMES utf8mb4', 'SELECT 1', 'Query in statement 1'],
    ['SELECT 1', 'KILL 5', 'Kill in statement 1'],
    ['SELECT 1', 'LOCK TABLES t WRITE', 'LockTables in statement 1'],
    ['SELECT 1', 'WITH a AS (SELECT 1) DELETE FROM t', 'Delete in statement 1'],
    ['SELECT 1', 'EXPLAIN ANALYZE DELETE FROM t', 'Delete in statement 1'],
    ['SELECT 1', 'SELECT 1 FROM t FOR UPDATE', 'a row lock in statement 1'],
    ['SELECT 1', 'SELECT * FROM (SELECT a FROM t FOR SHARE) x', 'a row lock in statement 1'],
    ['SELECT 1', 'SELECT a.`Sleep`(1)', 'a listed function in statement 1'],
    ['SELECT 1', 'SELECT śleep(1)', 'a listed function in statement 1'],
    ['SELECT 1', 'EXPLAIN SELECT sleep(1)', 'a listed function in statement 1'],
    ['SELECT 1', 'SELECT * FROM get_lock(1)', 'a listed function in statement 1'],
    ['SELECT 1', 'SELECT f(@a := 1)', ':= in statement 1'],
    ['SELECT 1', 'SELECT 1 INTO @x', 'INTO in statement 1'],
    ['DELETE FROM t', 'INSERT INTO t SELECT 1 INTO @x', 'INTO in statement 1'],
    ['DELETE FROM t', 'CREATE TABLE t (a int)', 'CreateTable in statement 1'],
    ['CREATE TABLE t (a int)', 'DELETE FROM t', 'Delete in statement 1'],
    ['CREATE TABLE t (a int)', 'DROP TABLE t', 'Drop in statement 1'],
    ['SELECT 1', 'EXPLAIN DELETE FROM t', null],
    ['DELETE FROM t', 'SELECT 1', null],
    ['DROP TABLE t', 'TRUNCATE t', null],
    ['CREATE TABLE t (a int)', 'CREATE TABLE t (a int DEFAULT (sleep(1)))', null],
  ])('of %s in %s', (ours, theirs, more) => {
    expect(seesMore(accepted(ours), treesOf(theirs))).toBe(more);
  });
});

const introducers = [
  "_utf8mb4'a'",
  "_utf8mb4 'a\\'b'",
  "_binary'\\\\'",
  "_latin1 x'27'",
  "N'a'",
  "_utf8mb4'; DELETE FROM t; -- '",
];
const quotes = [
  '"a\'b"',
  "'a\"b'",
  '"a""b"',
  '"a\\"b"',
  '"; DELETE FROM t; -- "',
  "'\\'; DELETE FROM t; -- '",
  "'\\\\'",
  '`a"b`',
  '"\\\\"',
];
const pieces = [
  ...mysqlVectors.flatMap(({ texts }) => texts),
  ...introducers,
  ...quotes,
  ...[
    "'",
    '"',
    '`',
    '\\',
    '--',
    '--1',
    '-- \n',
    '#',
    '\n',
    '/*',
    '*/',
    '/*!',
    '/*!50000 ',
    '/*M!100100 ',
    '/*+ ',
    ';',
    ' ',
    '(',
    ')',
    ',',
  ],
  ...['SELECT ', 'SELECT 1', ' FROM t', ' WHERE a = ', ' UNION SELECT ', ' INTO OUTFILE "/x"', ' INTO DUMPFILE "/x"', ' INTO @v'],
  ...[
    ' FOR UPDATE',
    ' LOCK IN SHARE MODE',
    '@a := 1',
    'sleep(1)',
    'benchmark(1, 1)',
    "get_lock('a', 1)",
    'EXPLAIN ANALYZE ',
    'DO ',
  ],
  ...[
    'HANDLER t READ FIRST',
    "XA END 'a'",
    'CALL p()',
    'LOCK TABLES t READ',
    'DELIMITER ;;\n',
    ' DELETE FROM t',
    'BEGIN ',
    'END',
  ],
];
const text = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 10 }).map((parts) => parts.join(''));

describe('the second opinion never makes a verdict laxer (SQ-3, SQ-4)', () => {
  it('whatever the text: the verdict is ours, or a refusal', async () => {
    await fc.assert(
      fc.asyncProperty(text, async (each) => {
        const [alone, both] = [classifyAlone(each), await classify(each)];
        if (both.verdict !== 'refused' || alone.verdict === 'refused') expect(both).toEqual(alone);
      }),
      { numRuns: 1_500 },
    );
  }, 120_000);

  it('whatever it sees: what it adds to is a refusal, and a verdict that is as strict stands', () => {
    const single = fc.constantFrom(
      ...mysqlVectors
        .filter(({ expected, id }) => expected !== 'refused' && id !== 'M12b')
        .flatMap(({ texts }) => texts)
        .filter((each) => parses(each)),
    );
    const strength = (verdict: Accepted): number => (verdict.ddl ? 4 : 0) + (verdict.write ? 2 : 0);
    fc.assert(
      fc.property(single, single, (ours, theirs) => {
        const [verdict, other] = [accepted(ours), accepted(theirs)];
        if (verdict.read && !other.read && other.statements.length === verdict.statements.length)
          expect({ ours, theirs, more: seesMore(verdict, treesOf(theirs)) }).not.toHaveProperty('more', null);
        if (strength(verdict) === strength(other) && ours === theirs) expect(seesMore(verdict, treesOf(theirs))).toBeNull();
      }),
      { numRuns: 1_000 },
    );
  });
});

function parses(each: string): boolean {
  try {
    return treesOf(each).length > 0;
  } catch {
    return false;
  }
}
