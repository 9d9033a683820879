import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier, type Verdict } from '../../../sql/classify.js';
import { unhurried } from '../../support/unhurried.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier(unhurried);
});
afterAll(() => sql.close());

const classify = (text: string): Promise<Verdict> => sql.classify(text, { dialect: 'mysql', statementTimeoutSecs: 30 });

async function classOf(text: string): Promise<string> {
  const verdict = await classify(text);
  return verdict.verdict === 'accepted' ? verdict.statements.map((each) => each.class).join(',') : verdict.verdict;
}

describe('what the agent needs of a MySQL statement (SQ-71)', () => {
  it.each([
    // text, kind, class, type, producesRows, countsRows, explainable
    ['SELECT 1', 'query', 'read', 'SELECT', true, false, true],
    ['((SELECT 1) UNION (SELECT 2))', 'query', 'read', 'SELECT', true, false, true],
    ['VALUES ROW(1)', 'query', 'read', 'SELECT', true, false, true],
    ['WITH RECURSIVE a (n) AS (SELECT 1), b AS (SELECT 2) SELECT * FROM a', 'query', 'read', 'SELECT', true, false, true],
    ['WITH a AS (SELECT 1) UPDATE t SET a = 1', 'dml', 'write', 'UPDATE', false, true, true],
    ['SHOW FULL COLUMNS FROM t', 'show', 'read', 'SELECT', true, false, false],
    ['SHOW TABLES WHERE sleep(1)', 'show', 'write', 'SELECT', true, false, false],
    ['DESC s.t `a`', 'explain', 'read', 'SELECT', true, false, false],
    ['EXPLAIN FORMAT=JSON UPDATE t SET a = 1', 'explain', 'read', 'SELECT', true, false, false],
    ['EXPLAIN PARTITIONS SELECT 1', 'explain', 'read', 'SELECT', true, false, false],
    ['EXPLAIN REPLACE INTO t VALUES (1)', 'explain', 'read', 'SELECT', true, false, false],
    ['EXPLAIN ANALYZE WITH a AS (SELECT 1) SELECT 1 FROM t FOR UPDATE', 'explain', 'write', 'SELECT', true, false, false],
    ['EXPLAIN SELECT 1 FROM t FOR UPDATE', 'explain', 'read', 'SELECT', true, false, false],
    ['EXPLAIN SELECT sleep(1)', 'explain', 'write', 'SELECT', true, false, false],
    ['INSERT INTO t VALUES (1)', 'dml', 'write', 'INSERT', false, true, true],
    ['INSERT IGNORE INTO t VALUES (1) RETURNING a', 'dml', 'write', 'INSERT', true, true, true],
    ['REPLACE t SET a = 1', 'dml', 'write', 'DML', false, true, true],
    ['CALL p()', 'utility', 'write', 'DML', false, false, false],
    ['CREATE TABLE t AS SELECT 1', 'ddl', 'ddl', 'CREATE', false, false, false],
    ['CREATE TABLE t SELECT sleep(1)', 'ddl', 'write+ddl', 'CREATE', false, false, false],
    ['CREATE TABLE t (a int DEFAULT (sleep(1)))', 'ddl', 'ddl', 'CREATE', false, false, false],
    ['CREATE OR REPLACE ALGORITHM = MERGE SQL SECURITY INVOKER VIEW v AS SELECT 1', 'ddl', 'ddl', 'CREATE', false, false, false],
    ['CREATE UNIQUE INDEX i ON t (a)', 'ddl', 'ddl', 'CREATE', false, false, false],
    ['ALTER TABLE t DROP COLUMN a, ADD INDEX (b)', 'ddl', 'ddl', 'ALTER', false, false, false],
    ['ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4, ENGINE = InnoDB', 'ddl', 'ddl', 'ALTER', false, false, false],
    ['ALTER TABLE t ADD COLUMN engine varchar(10)', 'ddl', 'ddl', 'ALTER', false, false, false],
    ['RENAME TABLE a TO b', 'ddl', 'ddl', 'DDL', false, false, false],
    ['OPTIMIZE TABLE t', 'ddl', 'ddl', 'DDL', false, false, false],
    ['DROP TEMPORARY TABLE t', 'ddl', 'ddl', 'DROP', false, false, false],
    ['TRUNCATE t', 'ddl', 'ddl', 'TRUNCATE', false, false, false],
    ['SET SESSION time_zone = SYSTEM', 'setting', 'setting', 'SELECT', false, false, false],
  ])('%s', async (text, kind, statementClass, type, producesRows, countsRows, explainable) => {
    const flags = { producesRows, countsRows, outsideTransaction: false, explainable };
    expect(await classify(text)).toMatchObject({ statements: [{ text, kind, class: statementClass, type, ...flags }] });
  });

  it('calls DROP and TRUNCATE destructive (SQ-72)', async () => {
    for (const text of ['DROP TABLE t', 'DROP VIEW v', 'DROP INDEX i ON t', 'TRUNCATE t'])
      expect(await classify(text)).toMatchObject({ destructive: true });
    for (const text of ['CREATE TABLE t (a int)', 'RENAME TABLE a TO b', 'DELETE FROM t'])
      expect(await classify(text)).toMatchObject({ destructive: false });
  });

  it('cuts statements from the first token to the last (SQ-6)', async () => {
    const verdict = await classify('/* ü; */ DELETE FROM t WHERE a = \'ä;😀\' ; -- ;\n;INSERT INTO `t;` VALUES ("\\";") # ;\n ;');
    if (verdict.verdict !== 'accepted') throw new Error(JSON.stringify(verdict));
    expect(verdict.statements.map((each) => each.text)).toEqual([
      "DELETE FROM t WHERE a = 'ä;😀'",
      'INSERT INTO `t;` VALUES ("\\";")',
    ]);
  });
});

describe('what makes a MySQL query more than a read (SQ-72)', () => {
  it.each([
    'SELECT `sleep` (1)',
    'SELECT `Sleep `(1)',
    'SELECT mysql . /* x */ sleep\n(1)',
    'SELECT śleep(1)',
    'SELECT * FROM t WHERE a = (SELECT load_file(b) FROM u)',
    'SELECT (SELECT @a:=1)',
    'SELECT NEXT VALUE FOR s',
    'SELECT NEXTVAL(s)',
    "SELECT MASTER_GTID_WAIT('0-1-1')",
    "SELECT asynchronous_connection_failover_add_source('c', 'h', 3306, '', 50)",
    "SELECT keyring_key_store('k', 'AES', 'x')",
    "SELECT group_replication_set_as_primary('x')",
    "SELECT service_get_write_locks('a', 'b', 1)",
    "SELECT spider_direct_sql('DELETE FROM t', '', '')",
    'SELECT 1 UNION (SELECT 2 FROM t FOR SHARE)',
    'SELECT * FROM t LOCK /* x */ IN SHARE MODE',
    'TABLE t FOR UPDATE',
    'WITH a AS (SELECT sleep(1)) SELECT * FROM a',
  ])('%s has write', async (text) => {
    expect(await classOf(text)).toBe('write');
  });

  it.each([
    'SELECT sleep',
    "SELECT 'sleep(1)'",
    'SELECT `for update` FROM t',
    'SELECT substring(a FROM 1 FOR 2)',
    'SELECT * FROM t USE INDEX FOR JOIN (i)',
    'SELECT @a = 1',
    'SELECT 1 -- FOR UPDATE',
    'SELECT a.b.c, t.`x` FROM a.b t WHERE t.5 = .5 AND 1e5 > 1.5e-3 AND 0x1F = 1',
    "SELECT N'é', x'ff', b'01', _utf8'x'",
  ])('%s is a read', async (text) => {
    expect(await classOf(text)).toBe('read');
  });
});

describe('refusals on MySQL (SQ-73)', () => {
  it.each([
    ['GRANT ALL ON t TO x', 'privileges'],
    ['CREATE USER x', 'privileges'],
    ['CREATE DEFINER = x VIEW v AS SELECT 1', 'privileges'],
    ['RENAME USER a TO b', 'privileges'],
    ['CREATE DEFINER=`a`@`b` PROCEDURE p() SELECT 1', 'privileges'],
    ['CREATE FUNCTION f() RETURNS int RETURN 1', 'code'],
    ['DROP TRIGGER g', 'code'],
    ['ALTER EVENT e ENABLE', 'code'],
    ['CREATE DATABASE d', 'infrastructure'],
    ['DROP TABLESPACE x', 'infrastructure'],
    ['INSTALL PLUGIN x SONAME "y"', 'infrastructure'],
    ['DROP PREPARE s', 'session state'],
    ['SELECT a INTO @x FROM t', 'session state'],
    ['SELECT 1 FROM (SELECT 1 INTO @x) y', 'session state'],
    ['INSERT INTO t SELECT 1 INTO OUTFILE "/x"', 'server files or client data'],
    ["TABLE t INTO OUTFILE '/x'", 'server files or client data'],
    ['UPDATE t SET a = 1 INTO @x', 'session state'],
    ["CREATE TABLE t (a int) DATA DIRECTORY '/x'", 'server files or client data'],
    ['SET TRANSACTION READ ONLY', 'transaction control'],
    ['CREATE OR REPLACE TABLE t (a int)', 'not understood'],
    ['CREATE OR REPLACE INDEX i ON t (a)', 'not understood'],
    ['ALTER TABLE t TRUNCATE PARTITION p', 'not understood'],
    ['ALTER TABLE t DROP PARTITION p', 'not understood'],
    ['ALTER TABLE t CONVERT PARTITION p TO TABLE u', 'not understood'],
    ['ALTER TABLE t CONVERT TABLE u TO PARTITION p VALUES LESS THAN (5)', 'not understood'],
    ['ALTER TABLE t ENGINE = BLACKHOLE', 'not understood'],
    ["ALTER TABLE t ADD COLUMN a int, COMMENT = 'x' ENGINE 'memory'", 'not understood'],
    ['ALTER TABLE t ALGORITHM=COPY, DISCARD TABLESPACE', 'not understood'],
    ['ALTER IGNORE TABLE t ADD UNIQUE (a)', 'not understood'],
    ['ALTER TABLE t', 'not understood'],
    ['DELETE HISTORY FROM t', 'not understood'],
    ['EXPLAIN FOR CONNECTION 5', 'not understood'],
    ['EXPLAIN ANALYZE DELETE FROM t WHERE id = 1', 'not understood'],
    ['EXPLAIN ANALYZE INSERT INTO t VALUES (1)', 'not understood'],
    ['EXPLAIN INTO @v SELECT 1', 'not understood'],
    ['DESCRIBE t a b', 'not understood'],
    ['ANALYZE SELECT 1', 'not understood'],
    ['SHOW CREATE USER x', 'not understood'],
    ['SHOW ENGINE innodb STATUS', 'not understood'],
    ['SHOW BINARY LOGS', 'not understood'],
    ['SELECT * FROM t PROCEDURE ANALYSE()', 'not understood'],
    ['WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a', 'not understood'],
    ['WITH a AS SELECT 1 SELECT 2', 'not understood'],
    ['(DELETE FROM t)', 'not understood'],
    ['(SELECT 1', 'not understood'],
    ['SELECT (1; 2)', 'not understood'],
    ['`SELECT` 1', 'not understood'],
    ['ſELECT 1', 'not understood'],
    ['BEGIN NOT ATOMIC SELECT 1; END', 'transaction control'],
    ['IF 1 THEN SELECT 1; END IF', 'not understood'],
    ['THIS IS NOT SQL', 'not understood'],
  ])('refuses %s for %s', async (text, reason) => {
    expect(await classify(text)).toMatchObject({ verdict: 'refused', reason: expect.stringMatching(new RegExp(`^${reason}: `)) });
  });

  it.each([
    ['BEGIN; UPDATE t SET a = 1 WHERE id = 1; COMMIT', /^leave it out: the agent begins/],
    ['SET max_execution_time = 1; SELECT 1', /^these may be set: time_zone, sql_mode, .*lock_wait_timeout$/],
    ["SET sql_mode = 'ANSI'; SELECT 1", null],
    ['SELECT 1\\G', /backslash is for psql or mysql only/],
    ['DELIMITER //', /^DELIMITER is for the mysql client only/],
    ['SELECT * FROM t WHERE id = ?', /^write the value in place of the \?$/],
    ['CREATE OR REPLACE TABLE t (a int)', /^use a migration$/],
    ['ALTER TABLE t DROP PARTITION p', /^use a migration$/],
    ["CREATE TABLE t (a int) DATA DIRECTORY '/x'", null],
  ])('tells what to do instead of %s', async (text, hint) => {
    expect(await classify(text)).toMatchObject({ verdict: 'refused', hint: hint && expect.stringMatching(hint) });
  });

  it('names the clause that it does not take', async () => {
    expect(await classify('ALTER TABLE t REORGANIZE PARTITION p INTO (PARTITION q VALUES LESS THAN (5))')).toMatchObject({
      reason: 'not understood: ALTER TABLE with REORGANIZE PARTITION',
    });
  });

  it.each([
    'SELECT 1e5union SELECT 2',
    'SELECT 1.union SELECT 2',
    'SELECT 1..2',
    'SELECT \\N',
    'SELECT {fn sleep(1)}',
    'SELECT ?',
    'SELECT 1\u0001',
    'SELECT 😀',
    "SELECT x'f'",
    "SELECT b'2'",
    "SELECT x'\\'; DELETE FROM t; --'",
    'SELECT ``',
    'SELECT /*+ QB_NAME(`a*/ 1 /* `) */',
    'SELECT 1--\u0001 x',
    '/*m!1 DELETE FROM t */ SELECT 1',
    "SELECT 'a\\'",
    'SELECT `a\\`b`',
  ])('does not guess what %j is (SQ-4, SQ-70)', async (text) => {
    expect(await classify(text)).toMatchObject({ verdict: 'refused', reason: expect.stringMatching(/^not understood: /) });
  });

  it('leaves an empty text empty (SQ-9, SQ-12)', async () => {
    for (const text of ['', ' \n', '-- x', '# x', '/* x */;;']) expect(await classify(text)).toEqual({ verdict: 'empty' });
  });

  it('gives the reason of the first refused statement (SQ-14)', async () => {
    expect(await classify('DELETE FROM t; GRANT x TO y; COMMIT')).toMatchObject({ reason: 'privileges: GRANT (statement 2)' });
  });
});

describe('settings of MySQL (SQ-50, SQ-51)', () => {
  it.each([
    ["time_zone = '+00:00'", true],
    ['LOCAL wait_timeout = 5, SESSION lock_wait_timeout := DEFAULT', true],
    ["NAMES 'utf8mb4' COLLATE utf8mb4_bin, `sql_mode` = ''", true],
    ['NAMES DEFAULT', false],
    ['character_set_client = DEFAULT', false],
    ["NAMES 'gbk'", false],
    ['NAMES utf8mb4 COLLATE gbk_bin', false],
    ['character_set_client = utf8', true],
    ['character_set_client = gbk', false],
    ['CHARACTER SET utf8mb4', false],
    ["sql_mode = 'STRICT_TRANS_TABLES,TRADITIONAL'", true],
    ["sql_mode = 'STRICT_TRANS_TABLES, ansi '", false],
    ["sql_mode = 'ÁNSI'", false],
    ["sql_mode = 'AN\\SI'", false],
    ["sql_mode = 'AN' 'SI'", false],
    ["sql_mode = _utf8'ANSI'", false],
    ["sql_mode = x'414E5349'", false],
    ['sql_mode = ORACLE', false],
    ["sql_mode = 'ORACLE'", false],
    ['sql_mode = 4', false],
    ['sql_mode = DEFAULT', false],
    ['time_zone = (SELECT sleep(1))', false],
    ['time_zone = a.b', false],
    ['wait_timeout = -1', true],
    ['wait_timeout = 1 + 1', false],
    ['statement_timeout = 5', false],
    ['STATEMENT wait_timeout = 5 FOR SELECT 1', false],
    ["PASSWORD = 'x'", false],
    ['ROLE admin', false],
    ['time_zone', false],
    ["time_zone = 'UTC',", false],
    ['constructor = 1', false],
    ['', false],
  ])('SET %s is allowed: %s', async (assignment, allowed) => {
    expect((await classify(`SET ${assignment}`)).verdict).toBe(allowed ? 'accepted' : 'refused');
  });
});
