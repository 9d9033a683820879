import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Dialect } from '../../domain/statement.js';
import { createSqlClassifier, type MigrationVerdict, type SqlClassifier } from '../../sql/classify.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { unhurried } from '../support/unhurried.js';

let classifier: SqlClassifier;
beforeAll(async () => {
  classifier = await createSqlClassifier(unhurried);
});
afterAll(() => classifier.close());

const ask = (sql: string, dialect: Dialect | null, transactional = true): Promise<MigrationVerdict> =>
  classifier.classifyMigrations([{ sql, transactional }], dialect);

async function statementsOf(sql: string, dialect: Dialect): Promise<string[]> {
  const verdict = await ask(sql, dialect);
  if (!verdict.ok) throw new Error(verdict.reason);
  return verdict.migrations[0]!.map(({ text }) => text);
}

const refusedByBoth = [
  ...['BEGIN', 'START TRANSACTION', 'COMMIT', 'ROLLBACK', 'SAVEPOINT a', 'ROLLBACK TO SAVEPOINT a', 'RELEASE SAVEPOINT a'],
  ...['SET TRANSACTION ISOLATION LEVEL SERIALIZABLE', 'SET ROLE a', 'SET ROLE NONE', 'EXECUTE a', 'DEALLOCATE PREPARE a'],
];

describe('what a migration may not hold in PostgreSQL (AP-22)', () => {
  it.each([
    ...refusedByBoth,
    ...[
      'END',
      'ABORT',
      "PREPARE TRANSACTION 'a'",
      "COMMIT PREPARED 'a'",
      "ROLLBACK PREPARED 'a'",
      'BEGIN ISOLATION LEVEL SERIALIZABLE',
    ],
    ...['SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY', "SET TRANSACTION SNAPSHOT 'a'", 'SET LOCAL ROLE a', 'RESET ROLE'],
    ...["SET role = 'a'", "SET SESSION AUTHORIZATION 'a'", 'SET SESSION AUTHORIZATION DEFAULT', 'RESET SESSION AUTHORIZATION'],
    ...['PREPARE a AS SELECT 1', 'DEALLOCATE ALL', 'CREATE TABLE t AS EXECUTE a', 'EXPLAIN ANALYZE EXECUTE a'],
    ...['DECLARE c CURSOR FOR SELECT 1', 'FETCH c', 'MOVE c', 'CLOSE ALL', 'EXPLAIN DECLARE c CURSOR FOR SELECT 1'],
    ...['DISCARD ALL', 'LISTEN a', "LOAD 'a'", 'COPY t FROM STDIN', 'COPY t TO STDOUT', "COPY t FROM '/tmp/a'"],
    ...[
      "COPY (SELECT 1) TO PROGRAM 'cat'",
      'DELIMITER //',
      'SELECT 1\0',
      '/*! DROP TABLE t */ SELEC 1',
      'SELECT 1; COMMIT; SELECT 2',
    ],
    ...['selec 1', "SELECT '\ud800'"],
  ])('%s', async (sql) => {
    expect(await ask(`CREATE TABLE t (a int); ${sql}`, 'postgresql')).toMatchObject({ ok: false, at: 0, key: 'sql' });
  });

  it('is told with its words, without the texts around it', async () => {
    expect(await ask("SELECT 'secret'; COMMIT", 'postgresql')).toMatchObject({ reason: 'transaction control: COMMIT' });
    expect(await ask('DECLARE c CURSOR FOR SELECT 1', 'postgresql')).toMatchObject({ reason: 'session state: DECLARE CURSOR' });
  });

  it('may be anything else, what execute_dml refuses too', async () => {
    const allowed = [
      ...['GRANT SELECT ON t TO PUBLIC', 'CREATE ROLE a', 'CREATE EXTENSION a', 'DO $$ BEGIN COMMIT; END $$', 'CREATE SCHEMA a'],
      ...[
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql SET role = 'a' AS 'SELECT 1'",
        'LOCK TABLE t',
        'SET CONSTRAINTS ALL DEFERRED',
      ],
      ...[
        'SET search_path = a',
        'SET LOCAL statement_timeout = 5',
        'VACUUM t',
        'CREATE INDEX CONCURRENTLY i ON t (a)',
        'UNLISTEN *',
      ],
      ...[
        "SELECT 'COMMIT'",
        '-- COMMIT',
        'ALTER TYPE e ADD VALUE $$COMMIT; x$$',
        'CALL p()',
        'NOTIFY a',
        'ALTER TABLE t OWNER TO a',
      ],
    ];
    for (const sql of allowed) expect([sql, await ask(sql, 'postgresql')]).toEqual([sql, expect.objectContaining({ ok: true })]);
  });
});

describe('what a migration may not hold in MySQL (AP-22)', () => {
  it.each([
    ...refusedByBoth,
    ...[
      'END',
      'XA START 1',
      'START SLAVE',
      'SET SESSION TRANSACTION READ ONLY',
      'SET GLOBAL TRANSACTION READ WRITE',
      'set autocommit = 0',
    ],
    ...['SET @a = 1, @@session.autocommit = 0', 'SET SESSION `autocommit` = 1', "PREPARE a FROM 'select 1'", 'DROP PREPARE a'],
    ...["EXECUTE IMMEDIATE 'commit'", 'SET STATEMENT max_statement_time = 1 FOR COMMIT', 'HANDLER t OPEN', 'LOCK TABLES t WRITE'],
    ...[
      'LOCK INSTANCE FOR BACKUP',
      'UNLOCK TABLES',
      "LOAD DATA INFILE 'a' INTO TABLE t",
      "LOAD DATA LOCAL INFILE 'a' INTO TABLE t",
    ],
    ...[
      "LOAD XML INFILE 'a' INTO TABLE t",
      "SELECT 1 INTO OUTFILE '/tmp/a'",
      "SELECT 1 INTO/**/DUMPFILE '/tmp/a'",
      'DELIMITER //',
    ],
    ...['/*!50000 DROP TABLE t */', '/*M! DROP TABLE t */', 'SELECT 1\0', "SELECT '", 'BEGIN NOT ATOMIC SELECT 1; END'],
  ])('%s', async (sql) => {
    expect(await ask(`CREATE TABLE t (a int); ${sql}`, 'mysql')).toMatchObject({ ok: false, at: 0, key: 'sql' });
  });

  it('may be anything else', async () => {
    const allowed = [
      ...[
        'GRANT SELECT ON t TO a',
        'CREATE USER a',
        'SET FOREIGN_KEY_CHECKS = 0',
        'SET @autocommit = 1',
        'USE other',
        'DO sleep(0)',
      ],
      ...[
        "SELECT 'COMMIT; BEGIN'",
        '# COMMIT\nSELECT 1',
        'SELECT `commit` FROM `begin`',
        'SET NAMES utf8mb4',
        'DROP TABLE IF EXISTS t',
      ],
      ...['SET STATEMENT max_statement_time = 1 FOR SELECT 1', 'SELECT a.outfile INTO @x FROM a', 'REPLACE INTO t VALUES (1)'],
    ];
    for (const sql of allowed) expect([sql, await ask(sql, 'mysql')]).toEqual([sql, expect.objectContaining({ ok: true })]);
  });

  const bodies = [
    'CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END',
    'create definer = `a`@`%` procedure if not exists p(in a int) begin if a > 1 then select 1; else select if(a, 1, 2); end if; end',
    'CREATE OR REPLACE FUNCTION f() RETURNS int DETERMINISTIC BEGIN DECLARE x int; WHILE x < 5 DO SET x = x + 1; END WHILE; RETURN CASE x WHEN 1 THEN 2 END; END',
    'CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW BEGIN IF (new.a) THEN SET new.a = REPEAT(new.a, 2); END IF; END',
    'CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN CASE 1 WHEN 1 THEN COMMIT; END CASE; REPEAT SELECT 1; UNTIL 1 END REPEAT; END',
    'CREATE TRIGGER g AFTER DELETE ON t FOR EACH ROW DELETE FROM u WHERE u.a = old.a',
  ];
  it.each(bodies)('keeps the body of a routine whole: %s', async (body) => {
    expect(await statementsOf(`SELECT 1; ${body} ; SELECT 2;;`, 'mysql')).toEqual(['SELECT 1', body, 'SELECT 2']);
  });

  it('refuses what follows a routine as anywhere', async () => {
    for (const body of bodies)
      expect(await ask(`${body}; COMMIT`, 'mysql')).toMatchObject({ reason: 'transaction control: COMMIT' });
  });

  it('knows what may run in one transaction by its first word (MI-39)', async () => {
    const rowsOnly = async (sql: string) => {
      const verdict = await ask(sql, 'mysql');
      return verdict.ok && verdict.migrations[0]!.map((statement) => statement.rowsOnly);
    };
    expect(await rowsOnly('insert t values (1); UPDATE t SET a = 1; delete from t; REPLACE t VALUES (1); select 1')).toEqual(
      Array(5).fill(true),
    );
    expect(await rowsOnly('CREATE TABLE t (a int); SET @a = 1; CALL p()')).toEqual([false, false, false]);
  });
});

describe('a bundle (MI-16)', () => {
  const texts = (...sqls: string[]) => sqls.map((sql) => ({ sql, transactional: true }));

  it('is refused at its first migration that is', async () => {
    expect(await classifier.classifyMigrations(texts('select 1', 'commit', 'selec'), 'postgresql')).toMatchObject({
      ok: false,
      at: 1,
      key: 'sql',
    });
    expect(await classifier.classifyMigrations(texts('select 1', '', 'commit'), 'mysql')).toMatchObject({ ok: false, at: 2 });
  });

  it('holds exactly one statement where it is not transactional, in PostgreSQL only', async () => {
    expect(await ask('VACUUM; VACUUM', 'postgresql', false)).toMatchObject({ ok: false, key: 'transactional' });
    expect(await ask('-- nothing', 'postgresql', false)).toMatchObject({ ok: false, key: 'transactional' });
    expect(await ask('-- one\nVACUUM;;', 'postgresql', false)).toMatchObject({ ok: true });
    expect(await ask('CREATE TABLE t (a int); DROP TABLE t', 'mysql', false)).toMatchObject({ ok: true });
  });

  it('of an unknown dialect must read alike to both (SQ-2)', async () => {
    expect(await ask('CREATE TABLE t (a int)', null)).toMatchObject({ ok: true });
    expect(await ask('SELECT $$a$$', null)).toMatchObject({ ok: false, reason: expect.stringContaining('dialect') });
  });

  it.each<Dialect>(['postgresql', 'mysql'])(
    'of 1 MiB is classified in %s like a short one',
    { timeout: 60_000 },
    async (dialect) => {
      const sql = 'INSERT INTO t VALUES (1, 2, 3);\n'.repeat(32_000);
      expect((await statementsOf(sql, dialect)).length).toBe(32_000);
      expect(await ask(`${sql}COMMIT`, dialect)).toMatchObject({ reason: 'transaction control: COMMIT' });
    },
  );

  it('of any text has a verdict, and its slices are what stands in the text', async () => {
    const words = fc.constantFrom(
      'select',
      '1',
      ';',
      "'a;'",
      '"b"',
      '`c`',
      '(',
      ')',
      '--x\n',
      '/*;*/',
      'commit',
      'begin',
      'end',
      'create',
      'procedure',
      'if',
      'case',
      '\0',
      '$$',
      'é',
      '🚫',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(words, { maxLength: 12 }),
        fc.constantFrom<Dialect | null>('postgresql', 'mysql', null),
        async (parts, dialect) => {
          const sql = parts.join(' ');
          const verdict = await ask(sql, dialect);
          if (!verdict.ok) expect(verdict.reason).not.toBe('');
          let from = 0;
          for (const { text } of verdict.ok ? verdict.migrations[0]! : []) {
            const at = sql.indexOf(text, from);
            expect(at).toBeGreaterThanOrEqual(from);
            from = at + text.length;
          }
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe('on a real PostgreSQL', () => {
  let database: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    ({ database, client } = await connectEmptyDatabase());
  });
  afterAll(async () => {
    await client?.end();
    await database?.drop();
  });

  it('the slices of a migration run one by one, and the transaction around them is still the same', async () => {
    const sql = `create table é ("a;b" text); -- one;
      insert into é values ('x;y'), (E'\\\\;');
      do $body$ begin execute 'insert into é values (''z'')'; end $body$;
      create function f() returns int language sql begin atomic select 1; select 2; end;
      set local search_path = public; grant select on é to public`;
    const slices = await statementsOf(sql, 'postgresql');
    expect(slices.length).toBe(6);
    await client.query('begin');
    const xid = async () => (await client.query('select pg_current_xact_id()::text as id')).rows[0].id as string;
    const before = await xid();
    for (const text of slices) await client.query({ text, queryMode: 'extended' } as pg.QueryConfig);
    expect(await xid()).toBe(before);
    expect((await client.query('select count(*)::int as count from é')).rows).toEqual([{ count: 3 }]);
    await client.query('rollback');
  });
});
