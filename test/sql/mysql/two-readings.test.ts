import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier, type Verdict } from '../../../sql/classify.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
});
afterAll(() => sql?.close());

const options = { dialect: 'mysql', statementTimeoutSecs: 30 } as const;
const classify = (text: string): Promise<Verdict> => sql.classify(text, options, 'alice');
const seenIn = (verdict: Verdict): string => (verdict.verdict !== 'accepted' ? verdict.verdict : verdict.read ? 'read' : 'write');

describe('texts that MySQL can read in more than one way, and statements that are more than they seem', () => {
  it.each([
    // ANSI_QUOTES and NO_BACKSLASH_ESCAPES: the agent's own sql_mode decides, and no text can change it
    ['SELECT "a" FROM t', 'read'],
    ['SELECT "a;b", \'a";"b\' FROM t', 'read'],
    ['SELECT "a\\"; DELETE FROM t; -- "', 'read'],
    ["SELECT 'a\\'; DELETE FROM t; -- '", 'read'],
    ["SELECT 'a\\\\'; DELETE FROM t; -- '", 'write'],
    ["SELECT '\\'", 'refused'],
    ["SET sql_mode = 'ANSI_QUOTES'; SELECT 1", 'refused'],
    ["SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT 1", 'refused'],
    ["SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')", 'refused'],
    // introducers
    ["SELECT _utf8mb4'a', _latin1 x'27', N'a'", 'read'],
    ["SELECT _utf8mb4'; DELETE FROM t; -- '", 'read'],
    ["SELECT _utf8mb4'a\\'; DELETE FROM t; -- '", 'read'],
    ["SELECT _gbk'a'; DELETE FROM t", 'write'],
    // comments
    ['/*! SELECT 1 */', 'refused'],
    ['SELECT 1 /*! , sleep(1) */', 'refused'],
    ['SELECT 1 /*M! INTO @v */', 'refused'],
    ['SELECT 1 /*M!100100 ; DELETE FROM t */', 'refused'],
    ['SELECT 1--1 FROM t', 'read'],
    ['SELECT 1 --DELETE FROM t', 'read'],
    ['SELECT 1 -- ; DELETE FROM t', 'read'],
    ['SELECT 1 --\n; DELETE FROM t', 'write'],
    ['DELIMITER //\nSELECT 1//', 'refused'],
    ['SELECT 1; DELIMITER ;', 'refused'],
    // statements
    ['HANDLER t READ FIRST', 'refused'],
    ['HANDLER t CLOSE', 'refused'],
    ["XA END 'a'", 'refused'],
    ["XA COMMIT 'a'", 'refused'],
    ['XA RECOVER', 'refused'],
    ['DO 1', 'refused'],
    ["DO RELEASE_LOCK('a')", 'refused'],
    ['CALL s.p(1, @x)', 'write'],
    ['LOCK TABLE t READ', 'refused'],
    ['UNLOCK TABLES', 'refused'],
    ['LOCK INSTANCE FOR BACKUP', 'refused'],
    // what a query can do
    ["SELECT a INTO OUTFILE '/x' FROM t", 'refused'],
    ["SELECT a FROM t INTO DUMPFILE '/x'", 'refused'],
    ['SELECT a, b INTO @a, @b FROM t', 'refused'],
    ["(SELECT 1) INTO OUTFILE '/x'", 'refused'],
    ['SELECT @a', 'read'],
    ['SELECT @a := @a + 1 FROM t', 'write'],
    ['SELECT 1 FROM t WHERE (@a := a) > 1', 'write'],
    ['SELECT 1 FROM t WHERE sleep(1)', 'write'],
    ['SELECT (SELECT benchmark(1, 1))', 'write'],
    ["SELECT 1 ORDER BY get_lock('a', 1)", 'write'],
    ['EXPLAIN ANALYZE SELECT 1', 'read'],
    ["EXPLAIN ANALYZE SELECT get_lock('a', 1)", 'write'],
    ['EXPLAIN ANALYZE SELECT 1 FROM t FOR UPDATE', 'write'],
    ['EXPLAIN ANALYZE UPDATE t SET a = 1 WHERE b = 2', 'refused'],
    ['EXPLAIN FORMAT=TREE UPDATE t SET a = 1 WHERE b = 2', 'read'],
  ])('%s', async (each, expected) => {
    expect(seenIn(await classify(each))).toBe(expected);
  });
});
