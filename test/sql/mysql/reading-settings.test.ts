import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier } from '../../../sql/classify.js';
import { unhurried } from '../../support/unhurried.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier(unhurried);
});
afterAll(() => sql.close());
const ask = (text: string) => sql.classifyMigrations([{ sql: `${text}; SELECT 1`, transactional: true }], 'mysql');

describe('HD-30: a MySQL migration changes nothing of how its texts are read', () => {
  it.each([
    ["SET sql_mode = 'ANSI_QUOTES'", 'sql_mode'],
    ['SET SESSION `sql_mode` := "STRICT_ALL_TABLES, no_backslash_escapes"', 'sql_mode'],
    ['SET @a = 1, @@session.sql_mode = ORACLE', 'sql_mode'],
    ["SET @@sql_mode = 'ANSI'", 'sql_mode'],
    ['SET NAMES gbk', 'names'],
    ["SET NAMES 'latin1' COLLATE latin1_bin", 'names'],
    ['SET @a = 1, NAMES DEFAULT', 'names'],
    ['SET CHARACTER SET sjis', 'character set'],
    ['SET CHARSET big5', 'charset'],
    ["SET LOCAL character_set_client = 'cp932'", 'character_set_client'],
  ])('%s', async (text, setting) => {
    const reason = `session state: SET ${setting}, which changes how text is read`;
    expect(await ask(text)).toMatchObject({ ok: false, key: 'sql', reason });
  });

  it.each([
    "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO,STRICT_TRANS_TABLES'",
    'SET SESSION sql_mode = TRADITIONAL',
    "SET SESSION sql_mode = (SELECT REPLACE(@@sql_mode, 'ONLY_FULL_GROUP_BY', ''))",
    "SET @OLD_SQL_MODE = @@SQL_MODE, SQL_MODE = 'ALLOW_INVALID_DATES'",
    'SET SQL_MODE = @OLD_SQL_MODE',
    "SET @sql_mode = 'ANSI_QUOTES', @names = 'gbk'",
    "SET GLOBAL sql_mode = 'ANSI_QUOTES'",
    "SET @@global.character_set_client = 'latin1'",
    'SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci',
    'SET CHARACTER SET utf8',
    'SET FOREIGN_KEY_CHECKS = 0, UNIQUE_CHECKS = 0',
  ])('but may say %s', async (text) => {
    expect(await ask(text)).toMatchObject({ ok: true });
  });
});
