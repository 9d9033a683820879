import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Dialect, UsedName } from '../../domain/statement.js';
import { createSqlClassifier, type SqlClassifier } from '../../sql/classify.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
});
afterAll(() => sql.close());

const shown = (names: readonly UsedName[]) =>
  names
    .map(({ schema, name }) => (schema === null ? name : `${schema || '?'}.${name}`))
    .sort()
    .join(' ');
async function usesOf(text: string, dialect: Dialect): Promise<string> {
  const verdict = await sql.classify(text, { dialect, statementTimeoutSecs: 30 });
  if (verdict.verdict !== 'accepted') throw new Error(`${text}: ${JSON.stringify(verdict)}`);
  return verdict.facts
    .map(({ uses }) =>
      [shown(uses.functions), shown(uses.operators), shown(uses.types), uses.fields.toSorted().join(' ')].join(' | '),
    )
    .join('; ');
}

describe('what a PostgreSQL statement uses: functions | operators | types | fields', () => {
  it.each([
    ['SELECT 1', ' |  |  | '],
    ['SELECT Lower(a), "Lower"(a), s.f(1), pg_catalog.f(1), U&"\\0066x"(1) FROM t', 'Lower fx lower pg_catalog.f s.f |  |  | '],
    ['SELECT a + 1, a OPERATOR(s.+) 1, -a, a != 1 FROM t', ' | + - <> s.+ |  | '],
    [
      "SELECT a::int, CAST(a AS s.t), DATE '2020-01-01', 'x'::\"T\"[], f(1)::varchar(3) FROM t",
      'f |  | T T[] date pg_catalog.int4 pg_catalog.varchar s.t | ',
    ],
    ['SELECT 1 WHERE a BETWEEN 1 AND 2', ' | < <= > >= |  | '],
    [
      "SELECT 1 WHERE a IN (1) AND b LIKE 'x' AND c = ANY (d) AND e NOT ILIKE 'x' ESCAPE 'y' AND g SIMILAR TO 'x'",
      'pg_catalog.like_escape pg_catalog.similar_to_escape | !~~* = ~ ~~ |  | ',
    ],
    ['SELECT 1 WHERE a IN (SELECT 1) AND b <@ ALL (SELECT 2) AND EXISTS (SELECT f(1))', 'f | <@ = |  | '],
    ['SELECT CASE a WHEN 1 THEN 2 END, NULLIF(a, 1), GREATEST(a, 1), a IS DISTINCT FROM 2', ' | < = > |  | '],
    ['SELECT 1 FROM t JOIN u USING (id)', ' | = |  | '],
    ['SELECT 1 FROM t NATURAL JOIN u', ' | = |  | '],
    ['SELECT 1 FROM t ORDER BY a USING OPERATOR(s.<)', ' | s.< |  | '],
    ['SELECT (a).f, (g(1)).h.i, t.c, s.t.c FROM t', 'f g h i |  |  | c'],
    ['SELECT d.f FROM g(1) d', 'f g |  |  | f'],
    ['UPDATE t SET a = d.f FROM g(1) d (f) WHERE t.b = d.h', 'g h | = |  | b f h'],
    ['SELECT 1 FROM LATERAL ROWS FROM (f(1), g(2)) AS x, t TABLESAMPLE s.m (1)', 'f g s.m |  |  | '],
    ['SELECT * FROM f(1) AS x (a s.t, b int)', 'f |  | pg_catalog.int4 s.t | '],
    [
      'SELECT CURRENT_USER, USER, CURRENT_CATALOG, CURRENT_SCHEMA, LOCALTIME(2), CURRENT_DATE',
      'pg_catalog.current_database pg_catalog.current_schema pg_catalog.current_user pg_catalog.now |  |  | ',
    ],
    [
      "SELECT EXTRACT(year FROM a), a AT TIME ZONE 'UTC', SUBSTRING(a FROM 1), TRIM(a), POSITION(a IN b)",
      'pg_catalog.btrim pg_catalog.extract pg_catalog.position pg_catalog.substring pg_catalog.timezone |  |  | ',
    ],
    ["SELECT XMLPARSE(DOCUMENT a), JSON_VALUE(a, '$.b' RETURNING s.t)", ' |  | pg_catalog.xml s.t | '],
    ["SELECT * FROM XMLTABLE('/a' PASSING x COLUMNS b s.t)", ' |  | pg_catalog.xml s.t | '],
    ["SELECT * FROM JSON_TABLE('{}', '$' COLUMNS (b s.t PATH '$'))", ' |  | s.t | '],
    [
      'SELECT sum(a) FILTER (WHERE f(a)) OVER (PARTITION BY g(a) ORDER BY h(a)), percentile_disc(0.5) WITHIN GROUP (ORDER BY i(a)) FROM t GROUP BY j(a) HAVING k(a) LIMIT l(1)',
      'f g h i j k l percentile_disc sum |  |  | ',
    ],
    [
      'WITH c AS (SELECT f(1)) INSERT INTO t SELECT g(2) FROM c ON CONFLICT (id) DO UPDATE SET a = h(3) WHERE i(t.a) RETURNING j(4)',
      'f g h i j |  |  | a',
    ],
    ['UPDATE t SET a = f(1), b[g(1)] = 2 WHERE h(a)', 'f g h |  |  | '],
    [
      'MERGE INTO t USING u ON f(1) WHEN MATCHED AND g(2) THEN UPDATE SET a = h(3) WHEN NOT MATCHED THEN INSERT VALUES (i(4))',
      'f g h i |  |  | ',
    ],
    ['CALL p(f(1))', 'f p |  |  | '],
    ['SELECT 1 UNION SELECT f(1)', 'f |  |  | '],
    ['EXPLAIN SELECT f(1)', 'f |  |  | '],
    ["INSERT INTO t VALUES (f(1)); SELECT 'g(1)'", 'f |  |  | ;  |  |  | '],
  ])('%s', async (text, expected) => {
    expect(await usesOf(text, 'postgresql')).toBe(expected);
  });
});

describe('what a MySQL statement uses: functions | variables', () => {
  it.each([
    ['SELECT 1 FROM t WHERE (a) AND NOT (b) AND c IN (1) AND EXISTS (SELECT 1)', ' | '],
    ['SELECT LOWER(a), concat (a, b), `f`(1), db.f(1), `db` . `f` (1), count(*) FROM t', '?.f concat count db.f lower | '],
    ['SELECT count (a), max(b), COUNT /* x */ (c), `count`(d) FROM t', '?.count max | '],
    ['SELECT f((SELECT g(1) FROM (SELECT h(2)) d WHERE i(3)))', 'f g h i | '],
    ['INSERT INTO t (a, b) VALUES (f(1), 2) ON DUPLICATE KEY UPDATE a = VALUES(a), b = g(3)', 'f g | '],
    ['INSERT t (a) VALUES (1)', ' | '],
    ['REPLACE INTO db.t (a) SELECT f(1)', 'f | '],
    ['WITH c (a, b) AS (SELECT 1, f(2)), d AS (SELECT 3) SELECT * FROM c, (SELECT 1, 2) AS x (y, z), d', 'f | '],
    ['SELECT CAST(a AS DECIMAL(10, 2)), CONVERT(b, DATETIME(6)), CAST(c AS CHAR(3)) FROM t', 'cast char convert | '],
    ['SELECT CURRENT_USER, CURRENT_TIMESTAMP, t.utc_date FROM t', 'current_timestamp current_user | '],
    ['SELECT @a, @@version FROM t', ' | @'],
    ["SELECT a FROM t WHERE MATCH (a) AGAINST ('x')", 'match | '],
    ['SELECT of(1), escape(2), columns(3), against(4), rank (5)', '?.rank against columns escape of | '],
    ["SELECT json_table(1) FROM json_table('[]', '$' COLUMNS (a INT PATH '$')) j", '?.json_table json_table | '],
    ["SELECT rank () OVER (ORDER BY a) FROM t WHERE b LIKE 'x' ESCAPE ('|')", 'rank | '],
    ['SELECT a FROM t FOR SYSTEM_TIME AS OF (now())', 'now | '],
    ['SELECT a FROM t USE INDEX (i) JOIN u USING (id) WHERE a = ANY (SELECT 1)', ' | '],
    ['SELECT sum(a) OVER (PARTITION BY b), row_number() OVER w FROM t WINDOW w AS (ORDER BY c)', 'row_number sum | '],
    ['UPDATE t SET a = f(1) WHERE g(a)', 'f g | '],
    ['CALL p(f(1))', 'f p | '],
    ['CREATE TABLE t (a VARCHAR(10))', ' | '],
    ['SELECT NEXT VALUE FOR s', 'nextval | '],
  ])('%s', async (text, expected) => {
    const [functions, operators] = (await usesOf(text, 'mysql')).split(' | ');
    expect(`${functions} | ${operators}`).toBe(expected);
  });
});
