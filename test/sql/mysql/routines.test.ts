import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createSqlClassifier, type MigrationVerdict, type SqlClassifier } from '../../../sql/classify.js';
import { findMysql, withMysql } from '../../support/mysql.js';
import { unhurried } from '../../support/unhurried.js';

const server = await findMysql(import.meta.url);
let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier(unhurried);
});
afterAll(() => sql.close());
const ask = (text: string): Promise<MigrationVerdict> => sql.classifyMigrations([{ sql: text, transactional: true }], 'mysql');

const bodies = [
  `IF NOT EXISTS (SELECT 1 FROM t) THEN ALTER TABLE t ADD COLUMN IF NOT EXISTS (b int); END IF`,
  `BEGIN IF NOT EXISTS (SELECT 1 FROM information_schema.columns WHERE table_name = 't' AND column_name = 'c') THEN
    ALTER TABLE t ADD COLUMN c int; END IF; SELECT 1; END`,
  'BEGIN IF EXISTS ((SELECT 1 FROM t)) THEN DROP TABLE IF EXISTS u; ELSEIF EXISTS (SELECT 2) THEN SELECT 2; END IF; SELECT 1; END',
  `BEGIN DECLARE done, x int DEFAULT 0; DECLARE c CURSOR FOR SELECT a FROM t; DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1;
    OPEN c; again: LOOP FETCH c INTO x; IF done THEN LEAVE again; END IF; END LOOP again; CLOSE c; END`,
  'outermost:BEGIN SELECT 1; LEAVE outermost; END',
  'BEGIN FOR r IN (SELECT a FROM t) DO SELECT r.a; END FOR; SELECT 1; END',
  'BEGIN SELECT CASE WHEN a THEN 1 END FROM t WHERE CASE a WHEN 1 THEN 2 END FOR UPDATE; SELECT 1; END',
];

describe('a routine of a MySQL migration is one statement (AP-22)', () => {
  it.each(bodies)('with the body %s', async (body) => {
    const routine = `CREATE PROCEDURE p() ${body}`;
    const verdict = await ask(`SELECT 1; ${routine} ; CALL p();`);
    expect(verdict).toMatchObject({ ok: true });
    expect(verdict.ok && verdict.migrations[0]!.map(({ text }) => text)).toEqual(['SELECT 1', routine, 'CALL p()']);
    expect(await ask(`${routine}; COMMIT`)).toMatchObject({ reason: 'transaction control: COMMIT' });
  });

  it('however many parentheses it opens, within the time of any text (SQ-7)', async () => {
    const hurried = await createSqlClassifier();
    onTestFinished(() => hurried.close());
    const text = `CREATE PROCEDURE p() BEGIN ${'IF ('.repeat(60_000)}`;
    expect(await hurried.classifyMigrations([{ sql: text, transactional: true }], 'mysql')).toMatchObject({ ok: true });
  });

  it.skipIf(server === null)('for the real server too', async () => {
    const { adminUrl, drop } = await server!.createDatabase();
    onTestFinished(drop);
    await withMysql(adminUrl, async (connection) => {
      await connection.query('CREATE TABLE t (a int)');
      for (const body of bodies) {
        await connection.query('DROP PROCEDURE IF EXISTS p');
        expect([body, await connection.query(`CREATE PROCEDURE p() ${body}`).catch(String)]).toEqual([body, expect.any(Array)]);
      }
    });
  });

  it.each(['SELECT a: 1', 'x: BEGIN SELECT 1; END', 'SELECT 1; UPDATE t SET a = :b', 'SELECT 1 AS a:'])(
    'and a label outside of one is refused: %s',
    async (text) => {
      expect(await ask(text)).toMatchObject({ ok: false, key: 'sql', reason: expect.stringContaining('":"') });
      expect(await sql.classify(text, { dialect: 'mysql', statementTimeoutSecs: 30 })).toMatchObject({ verdict: 'refused' });
    },
  );
});
