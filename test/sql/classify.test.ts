import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Dialect } from '../../domain/statement.js';
import { createSqlClassifier, type SqlClassifier, type Verdict } from '../../sql/classify.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
});
afterAll(() => sql.close());

const classify = (text: string, dialect: Dialect | null = 'postgresql', statementTimeoutSecs = 30): Promise<Verdict> =>
  sql.classify(text, { dialect, statementTimeoutSecs });

async function accepted(text: string): Promise<Extract<Verdict, { verdict: 'accepted' }>> {
  const verdict = await classify(text);
  if (verdict.verdict !== 'accepted') throw new Error(`${text}: ${JSON.stringify(verdict)}`);
  return verdict;
}

describe('what the agent needs of a statement', () => {
  it.each([
    // text, kind, class, type, producesRows, countsRows, outsideTransaction, explainable
    ['SELECT 1', 'query', 'read', 'SELECT', true, false, false, true],
    ['WITH d AS (DELETE FROM t RETURNING 1) SELECT * FROM d', 'query', 'write', 'SELECT', true, false, false, true],
    ['WITH a AS (SELECT 1) DELETE FROM t', 'dml', 'write', 'DELETE', false, true, false, true],
    ['SELECT 1 INTO t', 'ddl', 'ddl', 'SELECT', false, false, false, false],
    ['SHOW server_version', 'show', 'read', 'SELECT', true, false, false, false],
    ['EXPLAIN DELETE FROM t', 'explain', 'read', 'SELECT', true, false, false, false],
    ['EXPLAIN ANALYZE DELETE FROM t', 'explain', 'write', 'DELETE', true, false, false, false],
    ['INSERT INTO t VALUES (1) RETURNING a', 'dml', 'write', 'INSERT', true, true, false, true],
    ['UPDATE t SET a = 1', 'dml', 'write', 'UPDATE', false, true, false, true],
    ['MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE RETURNING 1', 'dml', 'write', 'MERGE', true, true, false, true],
    ['CALL p()', 'utility', 'write', 'DML', false, false, false, false],
    ['VACUUM t', 'utility', 'write', 'DML', false, false, true, false],
    ['VACUUM (FULL) t', 'ddl', 'ddl', 'DDL', false, false, true, false],
    ['VACUUM (FULL off) t', 'utility', 'write', 'DML', false, false, true, false],
    ['REINDEX TABLE CONCURRENTLY t', 'ddl', 'ddl', 'DDL', false, false, true, false],
    ['DROP INDEX CONCURRENTLY i', 'ddl', 'ddl', 'DROP', false, false, true, false],
    ['CREATE INDEX CONCURRENTLY i ON t(c)', 'ddl', 'ddl', 'CREATE', false, false, true, false],
    ['ALTER TABLE t DETACH PARTITION p CONCURRENTLY', 'ddl', 'ddl', 'ALTER', false, false, true, false],
    ['ALTER TABLE t DETACH PARTITION p', 'ddl', 'ddl', 'ALTER', false, false, false, false],
    ['ALTER TABLE t REPLICA IDENTITY FULL', 'ddl', 'ddl', 'ALTER', false, false, false, false],
    ['TRUNCATE t', 'ddl', 'ddl', 'TRUNCATE', false, false, false, false],
    ['COMMENT ON TABLE t IS NULL', 'ddl', 'ddl', 'DDL', false, false, false, false],
  ])('%s', async (text, kind, statementClass, type, producesRows, countsRows, outsideTransaction, explainable) => {
    const flags = { producesRows, countsRows, outsideTransaction, explainable };
    expect((await accepted(text)).statements).toEqual([{ text, kind, class: statementClass, type, ...flags }]);
  });

  it('takes the statement type from the first statement that is no setting (SQ-65)', async () => {
    expect((await accepted("SET timezone = 'UTC'; UPDATE t SET a = 1; SELECT 1")).statementType).toBe('UPDATE');
    expect((await accepted("SET timezone = 'UTC'")).statementType).toBe('SELECT');
  });

  it('calls the statements of SQ-24 destructive', async () => {
    for (const text of ['DROP TABLE t', 'DROP SEQUENCE s', 'TRUNCATE t', 'CREATE SEQUENCE s', 'SELECT 1; DROP VIEW v'])
      expect((await accepted(text)).destructive).toBe(true);
    for (const text of ['CREATE TABLE t (a int)', 'ALTER TABLE t DROP COLUMN a', 'DELETE FROM t'])
      expect((await accepted(text)).destructive).toBe(false);
  });

  it('cuts statements by bytes, not characters (SQ-6)', async () => {
    const { statements } = await accepted("/* ü */ SELECT 'é😀'; -- ß\n DELETE FROM t WHERE a = 'ä' ; ");
    expect(statements.map((each) => each.text)).toEqual(["SELECT 'é😀'", "DELETE FROM t WHERE a = 'ä' "]);
  });
});

describe('refusals', () => {
  it.each([
    ['GRANT ALL ON t TO x', 'privileges', null],
    ['ALTER TABLE t OWNER TO x', 'privileges', null],
    ['ALTER VIEW v OWNER TO x', 'privileges', null],
    ['ALTER TABLE t ADD COLUMN a int, ENABLE RULE r', 'privileges', null],
    ['DROP POLICY p ON t', 'privileges', null],
    ['ALTER FUNCTION f() RENAME TO g', 'code', 'use a migration'],
    ['CREATE AGGREGATE a (int) (sfunc = f, stype = int)', 'code', 'use a migration'],
    ['DROP TRIGGER g ON t', 'code', 'use a migration'],
    ['CREATE COLLATION c (locale = "x")', 'infrastructure', 'use a migration'],
    ['ALTER VIEW v RENAME COLUMN a TO b', 'infrastructure', 'use a migration'],
    ['ALTER MATERIALIZED VIEW m RENAME TO n', 'infrastructure', 'use a migration'],
    ['CREATE FOREIGN TABLE t (a int) SERVER s', 'infrastructure', 'use a migration'],
    ['REINDEX DATABASE d', 'infrastructure', 'use a migration'],
    ['CLUSTER', 'infrastructure', 'use a migration'],
    ['COMMIT PREPARED $$x$$', 'transaction control', 'leave it out: the agent begins and ends the transaction'],
    [
      'SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE',
      'transaction control',
      'leave it out: the agent begins and ends the transaction',
    ],
    ['LOCK TABLE t', 'locks', null],
    ['CREATE TABLE t AS EXECUTE p', 'session state', null],
    ['EXPLAIN ANALYZE CREATE TABLE t AS EXECUTE p', 'session state', null],
    ['SET timezone FROM CURRENT', 'session state', null],
    ['COPY t TO STDOUT', 'server files or client data', 'use SELECT or INSERT'],
    ['EXPLAIN CREATE MATERIALIZED VIEW m AS SELECT 1', 'not understood', null],
    ['EXPLAIN REFRESH MATERIALIZED VIEW m', 'not understood', null],
    ['CREATE ACCESS METHOD a TYPE TABLE HANDLER h', 'not understood', null],
    ['CREATE TRANSFORM FOR t LANGUAGE l (FROM SQL WITH FUNCTION f(internal))', 'not understood', null],
  ])('refuses %s for %s', async (text, reason, hint) => {
    const verdict = await classify(text);
    expect(verdict).toMatchObject({ verdict: 'refused', hint });
    expect(verdict).toHaveProperty('reason', expect.stringMatching(new RegExp(`^${reason}: `)));
  });

  it('gives the reason of the first refused statement (SQ-14)', async () => {
    expect(await classify('SELECT 1; GRANT x TO y; COMMIT')).toMatchObject({ reason: 'privileges: GRANT (statement 2)' });
  });

  it.each([
    ['ROLLBACK TO a', 'transaction control: ROLLBACK TO'],
    ['DROP FUNCTION f()', 'code: DROP FUNCTION'],
    ['ALTER MATERIALIZED VIEW m SET SCHEMA s', 'infrastructure: ALTER MATERIALIZED VIEW'],
    ['CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()', 'code: CREATE TRIGGER'],
    ['SELEC 1', 'syntax error at or near "SELEC"'],
    ["ALTER TYPE mood ADD VALUE 'x'", 'infrastructure: ALTER TYPE'],
    ["CREATE TYPE mood AS ENUM ('x')", 'infrastructure: CREATE TYPE'],
    ['CREATE STATISTICS s ON a, b FROM t', 'infrastructure: CREATE STATISTICS'],
  ])('says of %s: %s', async (text, reason) => {
    expect(await classify(text)).toMatchObject({ reason });
  });

  it.each([
    ['BEGIN; UPDATE t SET a = 1 WHERE id = 1; COMMIT', /^leave it out: the agent begins/],
    ['SET work_mem = 1; SELECT 1', /^these may be set: statement_timeout, lock_timeout, .*extra_float_digits$/],
    ["SET statement_timeout = '1h'; SELECT 1", null],
    ['\\d t', /backslash is for psql or mysql only/],
    ['SELECT 1 \\gx', /backslash is for psql or mysql only/],
    ['SELECT * FROM t WHERE id = $1', /^write the value in place of \$1$/],
    ['EXPLAIN (GENERIC_PLAN) SELECT * FROM t WHERE id = $1', /^write the value in place of \$1$/],
    ['UPDATE t SET a = $2 WHERE id = $1', /^write the value in place of \$1$/],
  ])('tells what to do instead of %s', async (text, hint) => {
    expect(await classify(text)).toMatchObject({ verdict: 'refused', hint: hint && expect.stringMatching(hint) });
  });

  it('counts statements before it looks at them (SQ-13)', async () => {
    expect(await classify('INSERT INTO t VALUES (1);'.repeat(100))).toMatchObject({ verdict: 'accepted' });
    expect(await classify('COMMIT;'.repeat(101))).toEqual({ verdict: 'refused', reason: 'more than 100 statements', hint: null });
  });

  it('does not count rows locked or functions called in a definition (SQ-44)', async () => {
    const { statements } = await accepted('CREATE VIEW v AS SELECT pg_sleep(1) FROM t FOR UPDATE');
    expect(statements.map((each) => each.class)).toEqual(['ddl']);
  });
});

describe('settings (SQ-50, SQ-51)', () => {
  it.each([
    ["statement_timeout = '30s'", true],
    ["statement_timeout = '30001'", false],
    ['statement_timeout = 30000', true],
    ['statement_timeout = 1.5', true],
    ["statement_timeout = '0.5 min'", true],
    ["statement_timeout = '0.4ms'", false],
    ["statement_timeout = '100us'", false],
    ["statement_timeout = '010'", false],
    ["statement_timeout = '1h'", false],
    ['statement_timeout = -1', false],
    ['statement_timeout = 5, 6', false],
    ['"Statement_Timeout" = 0', false],
    ['lock_timeout TO DEFAULT', true],
    ['idle_in_transaction_session_timeout = 10000', true],
    ["idle_in_transaction_session_timeout = '1min'", true],
    ["idle_in_transaction_session_timeout = '9999ms'", false],
    ['idle_in_transaction_session_timeout = 0', true],
    ['idle_in_transaction_session_timeout = 1', false],
    ['idle_in_transaction_session_timeout TO DEFAULT', true],
    ["client_encoding = 'utf8'", true],
    ['client_encoding TO DEFAULT', false],
    ['NAMES', false],
    ["NAMES 'LATIN1'", false],
    ['LOCAL TIME ZONE LOCAL', true],
    ["TIME ZONE INTERVAL '1' HOUR TO MINUTE", true],
    ['SESSION datestyle = iso, mdy', true],
    ['sql_mode = 1', false],
    ['constructor = 1', false],
  ])('SET %s is allowed: %s', async (assignment, allowed) => {
    expect((await classify(`SET ${assignment}`)).verdict).toBe(allowed ? 'accepted' : 'refused');
  });

  it('knows no upper limit when there is no timeout', async () => {
    expect((await classify("SET statement_timeout = '2d'", 'postgresql', 0)).verdict).toBe('accepted');
    expect((await classify('SET statement_timeout = 0', 'postgresql', 0)).verdict).toBe('refused');
  });
});

describe('unknown dialect (SQ-2)', () => {
  it.each([
    'SELECT `a`',
    'SELECT "a\\" FROM t',
    'SELECT 1 /*M!100100 x */',
    'SELECT /*+ x */ 1',
    'SELECT $a$x$a$',
    'SELECT 1--1',
    '-- a\rDELETE FROM t',
    'SELECT 1 --\u00a0x',
    'SELECT 1 /* a /*/ x */ */',
    `SELECT $${'a'.repeat(300)}$x$${'a'.repeat(300)}$`.replaceAll('$$', '$'),
  ])('refuses %j', async (text) => {
    expect(await classify(text, null)).toMatchObject({ verdict: 'refused', reason: expect.stringContaining('dialect') });
  });

  it.each([
    "SELECT '#' -- # it's\n",
    'SELECT 1 --',
    'SELECT a$1 FROM t',
    "SELECT '--x', '/*+', '`'",
    '/* # ` */ SELECT 1 -- x\r\n',
  ])('accepts %j', async (text) => {
    expect(await classify(text, null)).toMatchObject({ verdict: 'accepted', read: true });
  });
});
