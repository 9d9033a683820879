import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Dialect, StatementFacts, TableName } from '../../domain/statement.js';
import { createSqlClassifier, type SqlClassifier } from '../../sql/classify.js';
import { unhurried } from '../support/unhurried.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier(unhurried);
});
afterAll(() => sql.close());

async function factsOf(text: string, dialect: Dialect): Promise<StatementFacts[]> {
  const verdict = await sql.classify(text, { dialect, statementTimeoutSecs: 30 });
  if (verdict.verdict !== 'accepted') throw new Error(`${text}: ${JSON.stringify(verdict)}`);
  return verdict.facts;
}
const shown = (tables: readonly TableName[]): string =>
  tables
    .map(({ schema, name }) => (schema === null ? name : `${schema}.${name}`))
    .sort()
    .join(' ');
const tablesOf = async (text: string, dialect: Dialect): Promise<string[]> =>
  (await factsOf(text, dialect)).map(({ changed, created, deletedFrom, named }) =>
    [changed, created, deletedFrom, named].map(shown).join(' | '),
  );

describe('tables of a PostgreSQL statement (SQ-81): changed | created | deleted from | named', () => {
  it.each([
    ['SELECT * FROM a, s.b JOIN "C" ON true WHERE x IN (SELECT 1 FROM D)', ' |  |  | C a d s.b'],
    ['UPDATE ONLY S.T x SET a = 1 FROM u WHERE x.a = 1', 's.t |  |  | s.t u'],
    ['DELETE FROM t USING u WHERE true', 't |  | t | t u'],
    ['INSERT INTO t SELECT * FROM u', 't |  |  | t u'],
    ['MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE', 't |  | t | t u'],
    ['MERGE INTO t USING u ON true WHEN MATCHED THEN UPDATE SET a = 1', 't |  |  | t u'],
    ['WITH d AS (DELETE FROM t WHERE true RETURNING *) INSERT INTO u SELECT * FROM d', 't u |  | t | t u'],
    ['WITH t AS (SELECT * FROM t) SELECT * FROM t', ' |  |  | t'],
    ['WITH RECURSIVE t AS (SELECT * FROM t) SELECT * FROM t, s.t', ' |  |  | s.t'],
    ['WITH a AS (SELECT 1), b AS (SELECT * FROM a, c), c AS (SELECT 1) SELECT * FROM a, b, c', ' |  |  | c'],
    ['SELECT * FROM (WITH u AS (SELECT 1) SELECT * FROM u) x, u', ' |  |  | u'],
    ['WITH t AS (SELECT 1) DELETE FROM t WHERE true', 't |  | t | t'],
    ['EXPLAIN DELETE FROM t', ' |  |  | t'],
    ['EXPLAIN ANALYZE DELETE FROM t', 't |  | t | t'],
    ['TRUNCATE a, s.b', 'a s.b |  |  | a s.b'],
    ['TRUNCATE a CASCADE', 'a |  | a | a'],
    ['DROP TABLE IF EXISTS a, s.b', 'a s.b |  |  | a s.b'],
    ['DROP INDEX i', ' |  |  | '],
    ['CREATE TABLE t (a int REFERENCES u)', ' | t |  | t u'],
    ['CREATE TABLE IF NOT EXISTS t (a int)', ' |  |  | t'],
    ['CREATE TABLE t PARTITION OF p DEFAULT', 'p | t |  | p t'],
    ['CREATE TABLE t AS SELECT * FROM u', ' | t |  | t u'],
    ['SELECT * INTO t FROM u', ' | t |  | t u'],
    ['CREATE INDEX ON s.t (a)', 's.t |  |  | s.t'],
    ['ALTER TABLE s.t ADD a int', 's.t |  |  | s.t'],
    ['ALTER TABLE t RENAME COLUMN a TO b', 't |  |  | t'],
    ["COMMENT ON COLUMN s.t.c IS 'x'", 's.t |  |  | s.t'],
    ['VACUUM FULL t, u', 't u |  |  | t u'],
    ['REFRESH MATERIALIZED VIEW m', 'm |  |  | m'],
  ])('%s', async (text, expected) => {
    expect(await tablesOf(text, 'postgresql')).toEqual([expected]);
  });
});

describe('tables of a MySQL statement: changed | created | deleted from | named', () => {
  it.each([
    ['SELECT * FROM a x, `S`.`b c` AS y JOIN (c, d) ON 1 WHERE z IN (SELECT 1 FROM e)', ' |  |  | S.b c a c d e'],
    ['SELECT extract(DAY FROM a), trim(LEADING 1 FROM b) FROM t FORCE INDEX FOR JOIN (i), u', ' |  |  | t u'],
    ["SELECT * FROM t, JSON_TABLE('[]', '$' COLUMNS (a int PATH '$')) j, DUAL", ' |  |  | t'],
    ['WITH t AS (SELECT * FROM t), v AS (SELECT * FROM t) SELECT * FROM t, v, s.t', ' |  |  | s.t t'],
    ['SELECT * FROM (WITH u AS (SELECT 1) SELECT * FROM u) x, u', ' |  |  | u'],
    ['(SELECT 1 FROM a) UNION TABLE b', ' |  |  | a b'],
    ['INSERT INTO s.t (a) SELECT * FROM u ON DUPLICATE KEY UPDATE a = 1', 's.t |  |  | s.t u'],
    ['INSERT IGNORE t SET a = 1', 't |  |  | t'],
    ['REPLACE INTO t VALUES (1)', 't |  | t | t'],
    ['UPDATE LOW_PRIORITY a, b AS x JOIN c SET a.y = (SELECT 1 FROM d) WHERE 1', 'a b c |  |  | a b c d'],
    ['DELETE QUICK FROM s.t WHERE a IN (SELECT 1 FROM u)', 's.t |  | s.t | s.t u'],
    ['DELETE x, u FROM t AS x JOIN u WHERE 1', 't u |  | t u | t u'],
    ['DELETE x.* FROM s.t x WHERE 1', 's.t |  | s.t | s.t'],
    ['DELETE FROM x USING t AS x JOIN u WHERE 1', 't |  | t | t u x'],
    ['EXPLAIN DELETE FROM t', ' |  |  | t'],
    ['TRUNCATE TABLE s.t', 's.t |  |  | s.t'],
    ['DROP TABLE IF EXISTS a, s.b', 'a s.b |  |  | a s.b'],
    ['CREATE TABLE t (a int, FOREIGN KEY (a) REFERENCES u (b) ON UPDATE CASCADE)', ' | t |  | t u'],
    ['CREATE TABLE IF NOT EXISTS t (a int)', ' |  |  | '],
    ['CREATE TABLE t SELECT * FROM u', ' | t |  | t u'],
    ['CREATE UNIQUE INDEX i ON s.t (a)', 's.t |  |  | s.t'],
    ['ALTER TABLE s.t ADD a int', 's.t |  |  | s.t'],
    ['RENAME TABLE a TO b, c TO d', 'a c |  |  | a c'],
    ['UPDATE t JOIN (SELECT id, MAX(b) b FROM u GROUP BY id) x ON x.id = t.id SET t.b = x.b', 't |  |  | t u'],
    ['UPDATE t, (VALUES (1)) x, (u, (v)) SET t.a = 1, u.a = 1', 't u v |  |  | t u v'],
    ['UPDATE t JOIN (WITH w AS (SELECT 1 FROM u) SELECT * FROM w) x SET t.a = 1', 't |  |  | t u'],
    ['SELECT * FROM a, (SELECT 1) b, LATERAL (SELECT c FROM d) e', ' |  |  | a d'],
    ['SELECT * FROM a JOIN ((SELECT 1 FROM b) UNION (SELECT 2 FROM c)) d', ' |  |  | a b c'],
    // The server may take aliases in any case.
    ['DELETE small FROM big AS SMALL WHERE SMALL.id = 1', 'big |  | big | big'],
    ['DELETE FROM small USING big AS SMALL WHERE SMALL.id = 1', 'big |  | big | big small'],
    ['ANALYZE TABLE a, b', 'a b |  |  | a b'],
    ['SELECT * FROM t FOR UPDATE', ' |  |  | t'],
  ])('%s', async (text, expected) => {
    expect(await tablesOf(text, 'mysql')).toEqual([expected]);
  });
});

describe('what a text does not say (SQ-I7)', () => {
  it.each([
    ['CALL p()', 'postgresql', true],
    ["NOTIFY c, 'x'", 'postgresql', true],
    ["SELECT dblink('h', 'x')", 'postgresql', true],
    ["UPDATE t SET a = nextval('s')", 'postgresql', true],
    ['VACUUM', 'postgresql', true],
    ['VACUUM t', 'postgresql', false],
    ["CREATE TABLE t (a int DEFAULT nextval('s'))", 'postgresql', false],
    ['UPDATE t SET a = 1', 'postgresql', false],
    ['CALL p()', 'mysql', true],
    ['SELECT sleep(1)', 'mysql', true],
    ['UPDATE t SET a = 1', 'mysql', false],
  ] as const)('%s on %s writes where it does not say: %s', async (text, dialect, writesUnknown) => {
    expect(await factsOf(text, dialect)).toMatchObject([{ writesUnknown }]);
  });
});
