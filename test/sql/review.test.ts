import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILTIN_REVIEW } from '../../config/shared.js';
import type { ReviewAction, ReviewRule } from '../../domain/policies.js';
import { isSafeDdl } from '../../domain/risk.js';
import type { Dialect } from '../../domain/statement.js';
import { createSqlClassifier, type SqlClassifier, type Verdict } from '../../sql/classify.js';
import { type Review, review } from '../../sql/review.js';
import { mysqlVectors, reviewByRow } from './mysql-vectors.js';
import { postgresqlVectors } from './vectors.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
});
afterAll(() => sql.close());

type Accepted = Extract<Verdict, { verdict: 'accepted' }>;

async function accepted(text: string, dialect: Dialect = 'postgresql'): Promise<Accepted> {
  const verdict = await sql.classify(text, { dialect, statementTimeoutSecs: 30 });
  if (verdict.verdict !== 'accepted') throw new Error(`${text}: ${JSON.stringify(verdict)}`);
  return verdict;
}
const rules = (changes: Partial<Record<ReviewRule, ReviewAction>> = {}) => ({ ...BUILTIN_REVIEW.rules, ...changes });
const reviewOf = async (text: string, dialect: Dialect = 'postgresql'): Promise<Review> =>
  review(await accepted(text, dialect), rules());
const codesOf = async (text: string, dialect: Dialect = 'postgresql'): Promise<string[]> =>
  (await reviewOf(text, dialect)).findings.map(({ code, statementIndex }) => `${statementIndex} ${code}`);

describe('the review columns of the vectors', () => {
  const cases = (['postgresql', 'mysql'] as const).flatMap((dialect) =>
    (dialect === 'mysql' ? mysqlVectors : postgresqlVectors)
      .filter(({ expected }) => expected !== 'refused' && expected !== 'empty')
      .flatMap(({ id, texts }) => texts.map((text): [string, Dialect, string] => [id, dialect, text])),
  );

  it.each(cases)('%s on %s: findings and safe DDL of %j', async (id, dialect, text) => {
    const verdict = await accepted(text, dialect);
    const { findings, blocked } = review(verdict, rules());
    const { codes, safe } = reviewByRow[id] ?? { codes: [] };
    expect(findings.map(({ code }) => code)).toEqual(codes);
    expect(blocked).toBe(codes.some((code) => rules()[code as ReviewRule] === 'block'));
    expect(isSafeDdl(verdict.facts, findings)).toBe(safe === true);
    for (const { code, action, message } of findings) expect([action, message !== '']).toEqual([rules()[code], true]);
  });
});

describe('findings of PostgreSQL, by statement and rule (section 8, SQ-75)', () => {
  it.each([
    ['DELETE FROM a WHERE x = 1; DELETE FROM b; UPDATE c SET d = 1', ['1 no_where_delete', '2 no_where_update']],
    [
      'WITH a AS (DELETE FROM t), b AS (UPDATE t SET c = 1), d AS (DELETE FROM u) SELECT 1',
      ['0 no_where_delete', '0 no_where_delete', '0 no_where_update'],
    ],
    ['DELETE FROM t WHERE CURRENT OF c', []],
    ['INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 1', []],
    ['EXPLAIN DELETE FROM t', []],
    ['EXPLAIN ANALYZE DELETE FROM t', ['0 no_where_delete']],
    ['DROP TABLE a, b; DROP TABLE c', ['0 drop_table', '1 drop_table']],
    ['ALTER TABLE t DROP COLUMN a, DROP COLUMN b, ALTER c TYPE int', ['0 drop_column', '0 alter_column_type']],
    [
      'ALTER TABLE t ADD a int NOT NULL DEFAULT 1, ADD b serial NOT NULL, ADD c pg_catalog.int4 NOT NULL GENERATED ALWAYS AS IDENTITY',
      [],
    ],
    ['ALTER TABLE t ADD a int GENERATED ALWAYS AS (1) STORED NOT NULL, ADD b int', []],
    ['ALTER TABLE t ADD a int, ADD b int NOT NULL', ['0 not_null_without_default']],
    ['CREATE TABLE t (a int NOT NULL)', []],
    ['ALTER SEQUENCE s RESTART', []],
    ['SELECT 1 WHERE 1 IN (SELECT 1)', []],
    ["SELECT 1 WHERE 'a' IN (1) OR 2 = ANY ('{1,2}')", []],
    [`SELECT 1 WHERE 1 <> ALL ('{${listTo(101)}}'::int[]) AND 2 NOT IN (${listTo(101)})`, ['0 large_in_list', '0 large_in_list']],
    [`CREATE VIEW v AS SELECT 1 WHERE 1 IN (${listTo(101)})`, []],
    [`CREATE TABLE t AS SELECT 1 WHERE 1 IN (${listTo(101)})`, ['0 large_in_list']],
    ['WITH a AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * INTO u FROM a', ['0 mixed_ddl_dml']],
    ['SELECT 1; DROP VIEW v; DELETE FROM t', ['1 drop_view', '2 no_where_delete', '0 mixed_ddl_dml']],
  ])('%s', async (text, codes) => {
    expect(await codesOf(text)).toEqual(codes);
  });

  it('follow the policy: off gives none, block and warn are told apart', async () => {
    const verdict = await accepted('CREATE SEQUENCE s; DROP TABLE t');
    const findings = (changes: Partial<Record<ReviewRule, ReviewAction>>) =>
      review(verdict, rules(changes)).findings.map(({ code, action }) => `${code} ${action}`);
    expect(findings({})).toEqual(['drop_table block']);
    expect(findings({ create_sequence: 'block', drop_table: 'warn' })).toEqual(['create_sequence block', 'drop_table warn']);
    expect(findings({ drop_table: 'off' })).toEqual([]);
  });
});

describe('findings of MySQL (section 8)', () => {
  it.each([
    ['DELETE FROM t.where', ['0 no_where_delete']],
    ['DELETE FROM t .where', ['0 no_where_delete']],
    ['DELETE FROM `where`', ['0 no_where_delete']],
    ['DELETE FROM t ORDER BY (SELECT 1 FROM u WHERE b = 1) LIMIT 1', ['0 no_where_delete']],
    ['DELETE a FROM t AS a JOIN (SELECT 1 FROM u WHERE b = 1) c', ['0 no_where_delete']],
    ['DELETE FROM a, b USING a JOIN b ON a.id = b.id WHERE a.id = 1', []],
    ['UPDATE t SET a = (SELECT 1 FROM u WHERE b = 1)', ['0 no_where_update']],
    ['UPDATE t SET a = 1 WHERE true', ['0 no_where_update']],
    ['DELETE FROM t WHERE CAST(1 AS SIGNED)', ['0 no_where_delete']],
    ['DELETE FROM t WHERE CONVERT(2 - 1, DECIMAL(10,2)) = 1', ['0 no_where_delete']],
    ["DELETE FROM t WHERE CONVERT('1' USING utf8mb4)", ['0 no_where_delete']],
    ['DELETE FROM t WHERE CAST(a AS SIGNED) = 1', []],
    ['DELETE FROM t WHERE CAST(a AS SIGNED) = CAST(a AS UNSIGNED)', []],
    ['INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1', []],
    ['EXPLAIN DELETE FROM t', []],
    ['ALTER TABLE t DROP INDEX i, DROP KEY j', ['0 drop_index']],
    ['ALTER TABLE t DROP a, DROP COLUMN `index`', ['0 drop_column']],
    ['ALTER TABLE t DROP PRIMARY KEY, DROP FOREIGN KEY k', []],
    ['ALTER TABLE t ADD a int NOT NULL', ['0 not_null_without_default']],
    ['ALTER TABLE t ADD COLUMN (a int, b decimal(1,2) NOT NULL)', ['0 not_null_without_default']],
    ['ALTER TABLE t ADD COLUMN (a int NOT NULL DEFAULT 1, b int)', []],
    ['ALTER TABLE t ADD a int NOT NULL CHECK (a > DEFAULT(b)), ADD c int DEFAULT 1', ['0 not_null_without_default']],
    ['ALTER TABLE t ADD a int NOT NULL AUTO_INCREMENT, ADD INDEX (b)', []],
    ['CREATE INDEX i ON t (a)', []],
    ['DROP INDEX i ON t', ['0 drop_index']],
    [`SELECT * FROM t WHERE a IN (${listTo(101)}) AND b NOT IN (${listTo(101)})`, ['0 large_in_list', '0 large_in_list']],
    [`SELECT concat(${listTo(101)}) FROM t WHERE a IN (${listTo(100)})`, []],
    [`SELECT * FROM t WHERE a IN (SELECT ${listTo(101)})`, []],
    ['REPLACE INTO t VALUES (1); DROP VIEW v', ['1 drop_view', '0 mixed_ddl_dml']],
  ])('%s', async (text, codes) => {
    expect(await codesOf(text, 'mysql')).toEqual(codes);
  });

  it.each([
    ['CREATE TABLE t (a int) ENGINE=InnoDB', true],
    ['CREATE TABLE IF NOT EXISTS t LIKE u', true],
    ['CREATE VIEW v AS SELECT 1', true],
    ["CREATE TABLE t (a int) ENGINE=CONNECT FILE_NAME='/etc/passwd'", false],
    ['CREATE TABLE t (a int DEFAULT (sleep(1)))', false],
    ['CREATE TABLE t TABLE u', false],
    ['CREATE TABLE t VALUES ROW(1)', false],
    ['CREATE OR REPLACE VIEW v AS SELECT 1', false],
    ['CREATE VIEW v AS SELECT get_lock(1, 1)', false],
    ['SET wait_timeout = 1; CREATE TABLE t (a int)', false],
  ])('%s is safe DDL: %s (SQ-82)', async (text, safe) => {
    const verdict = await accepted(text, 'mysql');
    expect(isSafeDdl(verdict.facts, review(verdict, rules()).findings)).toBe(safe);
  });
});

describe('safe DDL of PostgreSQL (SQ-82)', () => {
  it.each([
    ['CREATE TABLE t (a int)', true],
    ['CREATE TABLE t (a int) INHERITS (p)', false],
    ['CREATE TABLE t PARTITION OF p DEFAULT', false],
    ['CREATE TABLE t (a int) PARTITION BY RANGE (a)', true],
  ])('%s is safe: %s', async (text, safe) => {
    const verdict = await accepted(text);
    expect(isSafeDdl(verdict.facts, review(verdict, rules()).findings)).toBe(safe);
  });
});

describe('lifting blocks (BG-2, BG-3)', () => {
  it.each([
    ['DROP TABLE t', 'postgresql', true, true],
    ['DROP TABLE t; CREATE TABLE t (id int)', 'postgresql', true, true],
    ['DROP TABLE t; ALTER TABLE u RENAME TO t; CREATE SEQUENCE s', 'postgresql', true, true],
    ['DROP TABLE t; DELETE FROM users', 'postgresql', false, false],
    ['DROP TABLE t; DELETE FROM users WHERE id=1', 'postgresql', true, false],
    ['DROP TABLE t; CREATE TABLE t AS SELECT 1', 'postgresql', true, false],
    ['DROP TABLE t; ALTER SEQUENCE s RESTART', 'postgresql', true, false],
    ["SET timezone = 'UTC'; DROP TABLE t", 'postgresql', true, false],
    ['UPDATE t SET a=1 WHERE id=1', 'postgresql', false, false],
    ['DROP INDEX i', 'postgresql', false, false],
    ['TRUNCATE t; ALTER TABLE t ADD a int', 'mysql', true, true],
    ['DROP TABLE t; RENAME TABLE a TO b', 'mysql', true, false],
    ['DROP TABLE t; CREATE TABLE t SELECT 1', 'mysql', true, false],
  ] as const)('%s on %s: by its rules %s, in all %s', async (text, dialect, rulesBypassable, bypassable) => {
    expect(await reviewOf(text, dialect)).toMatchObject({ rulesBypassable, bypassable });
  });
});

describe('SQ-I2: wrapping a text never removes a blocking finding', () => {
  it('with a WITH or EXPLAIN ANALYZE in front, comments and other statements', async () => {
    const texts = postgresqlVectors.flatMap(({ id, texts }) => ((reviewByRow[id]?.codes.length ?? 0) > 0 ? texts : []));
    const wrappers = [
      (text: string) => `WITH zz AS (SELECT 1) ${text}`,
      (text: string) => `EXPLAIN (ANALYZE) ${text}`,
      (text: string) => `/* WHERE */ ${text} -- WHERE`,
      (text: string) => `SELECT 1; ${text}; SELECT 2`,
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...texts), fc.constantFrom(...wrappers), async (text, wrap) => {
        const after = await sql.classify(wrap(text), { dialect: 'postgresql', statementTimeoutSecs: 30 });
        if (after.verdict !== 'accepted') return;
        const before = (await reviewOf(text)).findings.filter(({ action }) => action === 'block').map(({ code }) => code);
        const kept = review(after, rules()).findings.map(({ code }) => code);
        expect(kept).toEqual(expect.arrayContaining(before));
      }),
      { numRuns: 200 },
    );
  });
});

function listTo(n: number): string {
  return Array.from({ length: n }, (_, index) => index + 1).join(',');
}
