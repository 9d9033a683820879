import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier } from '../../sql/classify.js';

let classifier: SqlClassifier;
beforeAll(async () => {
  classifier = await createSqlClassifier();
});
afterAll(() => classifier.close());

const refused = {
  verdict: 'refused',
  reason: expect.stringMatching(/^reserved_table: svc_execution_marker/),
  hint: 'agents keep there what they have run; no request may name it',
};
const options = { statementTimeoutSecs: 30 } as const;

const postgres = [
  'SELECT * FROM svc_execution_marker',
  'SELECT * FROM svc.svc_execution_marker',
  'SELECT * FROM "svc"."svc_execution_marker"',
  'SELECT * FROM SVC_Execution_MARKER',
  'SELECT * FROM "SVC_EXECUTION_MARKER"',
  'SELECT * FROM U&"svc\\005fexecution\\005fmarker"',
  'SELECT * FROM any_schema . /* x */ svc_execution_marker',
  `INSERT INTO svc_execution_marker (request_id) VALUES ('x')`,
  `WITH a AS (INSERT INTO svc.svc_execution_marker SELECT * FROM t RETURNING 1) SELECT * FROM a`,
  `UPDATE svc_execution_marker SET state = 'done'`,
  `UPDATE t SET a = 1 FROM svc_execution_marker m WHERE m.fence = t.id`,
  'DELETE FROM ONLY svc_execution_marker WHERE fence = 1',
  'MERGE INTO svc_execution_marker m USING t ON m.fence = t.id WHEN MATCHED THEN DELETE',
  'TRUNCATE t, svc_execution_marker',
  'DROP TABLE svc.svc_execution_marker',
  'DROP INDEX svc.svc_execution_marker_pkey',
  'ALTER TABLE svc_execution_marker RENAME TO x',
  'ALTER TABLE x RENAME TO svc_execution_marker',
  'ALTER TABLE svc_execution_marker SET SCHEMA app',
  `COMMENT ON TABLE svc_execution_marker IS 'x'`,
  'CREATE INDEX i ON svc_execution_marker (state)',
  'CREATE VIEW v AS SELECT * FROM svc_execution_marker',
  'CREATE TABLE t (LIKE svc_execution_marker)',
  'CREATE TABLE t () INHERITS (svc.svc_execution_marker)',
  'CREATE TABLE svc_execution_marker (id int)',
  'CREATE TABLE t (id text REFERENCES svc_execution_marker)',
  `SELECT 'svc_execution_marker'::regclass`,
  `SELECT to_regclass('svc."svc_execution_marker"')`,
  `SELECT E'svc\\x5fexecution_marker'::regclass`,
  `SELECT query_to_xml('select * from svc_execution_marker', true, true, '')`,
  'EXPLAIN ANALYZE DELETE FROM svc_execution_marker',
  'TABLE svc_execution_marker',
  'SELECT 1; UPDATE t SET a = 1 WHERE id = 1; DELETE FROM svc_execution_marker WHERE fence = 1',
];

const mysql = [
  'SELECT * FROM svc_execution_marker',
  'SELECT * FROM `svc`.`svc_execution_marker`',
  'SELECT * FROM SVC_EXECUTION_MARKER',
  'SELECT * FROM `Svc_Execution_Marker`',
  'SELECT * FROM `svc_execution_mar\u212aer`',
  'SELECT * FROM svc_execut\u0130on_marker',
  "INSERT INTO svc . svc_execution_marker (request_id) VALUES ('x')",
  "REPLACE svc_execution_marker SET request_id = 'x'",
  "UPDATE t JOIN svc_execution_marker m ON m.fence = t.id SET m.state = 'done' WHERE t.id = 1",
  'DELETE m FROM svc_execution_marker m WHERE fence = 1',
  'DROP TABLE t, svc_execution_marker',
  'TRUNCATE svc_execution_marker',
  'RENAME TABLE x TO svc_execution_marker',
  'ALTER TABLE svc_execution_marker ENGINE = MyISAM',
  'CREATE TABLE t LIKE svc_execution_marker',
  'CREATE OR REPLACE VIEW v AS SELECT * FROM svc_execution_marker',
  'CREATE INDEX i ON svc_execution_marker (state)',
  'SHOW CREATE TABLE svc_execution_marker',
  "SELECT 'svc_exec\\ution_marker'",
  "CALL run('insert into svc_exec' 'ution_marker values (1)')",
];

describe('a text that names the marker table is refused (HD-40)', () => {
  it.each(postgres)('PostgreSQL: %s', async (text) => {
    expect(await classifier.classify(text, { dialect: 'postgresql', ...options })).toMatchObject(refused);
  });

  it.each(mysql)('MySQL: %s', async (text) => {
    expect(await classifier.classify(text, { dialect: 'mysql', ...options })).toMatchObject(refused);
  });

  it.each(['SELECT 1 -- svc_execution_marker', 'SELECT * FROM execution_marker', 'SELECT * FROM svc.orders'])(
    'what only looks like it passes: %s',
    async (text) => {
      for (const dialect of ['postgresql', 'mysql'] as const)
        expect(await classifier.classify(text, { dialect, ...options })).toMatchObject({ verdict: 'accepted' });
    },
  );

  it('the name that an agent has in its own file is refused beside the usual one', async () => {
    for (const dialect of ['postgresql', 'mysql'] as const) {
      for (const name of ['Our_Markers', 'svc_execution_marker'])
        expect(
          await classifier.classify(`DELETE FROM ops.${name} WHERE fence = 1`, {
            dialect,
            ...options,
            markerTable: 'our_markers',
          }),
        ).toMatchObject({ verdict: 'refused', reason: `reserved_table: ${name.toLowerCase()}` });
      const migration = [{ sql: 'drop table our_markers', transactional: true }];
      expect(await classifier.classifyMigrations(migration, dialect, '', { markerTable: 'our_markers' })).toMatchObject({
        ok: false,
      });
      expect(await classifier.classifyMigrations(migration, dialect)).toMatchObject({ ok: true });
    }
  });
});

describe('a migration that names it, or the whole schema it lies in, is refused (HD-40)', () => {
  const verdictOn = (sql: string, dialect: 'postgresql' | 'mysql') =>
    classifier.classifyMigrations([{ sql, transactional: true }], dialect);
  it.each([
    ...postgres.slice(6),
    `DO $$ begin execute 'delete from svc_execution_marker'; end $$`,
    `CREATE FUNCTION f() RETURNS void LANGUAGE sql AS 'DELETE FROM svc.svc_execution_marker'`,
    'CREATE RULE r AS ON INSERT TO t DO ALSO INSERT INTO svc_execution_marker SELECT * FROM t',
    'CREATE TRIGGER g BEFORE INSERT ON svc_execution_marker FOR EACH ROW EXECUTE FUNCTION f()',
    'GRANT ALL ON svc_execution_marker TO public',
    'DROP SCHEMA IF EXISTS x, svc CASCADE',
    'ALTER SCHEMA svc RENAME TO x',
    'ALTER SCHEMA svc OWNER TO x',
    'GRANT ALL ON ALL TABLES IN SCHEMA svc TO public',
    'GRANT CREATE ON SCHEMA svc TO public',
  ])('PostgreSQL: %s', async (text) => {
    expect(await verdictOn(text, 'postgresql')).toMatchObject({ ok: false, reason: expect.stringContaining('reserved_table: ') });
  });

  it.each([
    ...mysql,
    'CREATE PROCEDURE p() BEGIN DELETE FROM svc_execution_marker; END',
    "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW INSERT INTO svc.svc_execution_marker (request_id) VALUES ('x')",
    'DROP DATABASE svc',
    'DROP SCHEMA IF EXISTS `SVC`',
    'ALTER DATABASE svc CHARACTER SET latin1',
    'GRANT ALL ON svc.* TO x',
  ])('MySQL: %s', async (text) => {
    expect(await verdictOn(text, 'mysql')).toMatchObject({ ok: false, reason: expect.stringContaining('reserved_table: ') });
  });

  it.each(['DROP SCHEMA services', 'CREATE TABLE svc.orders (id int)', 'GRANT SELECT ON svc.orders TO x'])(
    'what only looks like it passes: %s',
    async (text) => {
      for (const dialect of ['postgresql', 'mysql'] as const) expect(await verdictOn(text, dialect)).toMatchObject({ ok: true });
    },
  );
});

describe('a text that writes the version rows of migrations is never safe by itself (HD-40)', () => {
  it.each([
    "INSERT INTO schema_migrations VALUES ('1')",
    'DELETE FROM app.schema_migrations WHERE version = 1',
    'CREATE TABLE schema_migrations (version text)',
    'ALTER TABLE schema_migrations ADD COLUMN x int',
  ])('%s', async (text) => {
    for (const dialect of ['postgresql', 'mysql'] as const) {
      const verdict = await classifier.classify(text, { dialect, ...options });
      expect(verdict).toMatchObject({ verdict: 'accepted', facts: [{ writesUnknown: true, safeForm: false }] });
    }
  });

  it.each([
    "CREATE VIEW schema_migrations AS SELECT '1' AS version",
    "CREATE VIEW app.Schema_Migrations AS SELECT '1' AS version",
    "CREATE VIEW schema_mİgrations AS SELECT '1' AS version",
    'CREATE TABLE IF NOT EXISTS schema_migrations (version varchar(99) PRIMARY KEY CHECK (version < 2))',
    'CREATE TABLE noted (version varchar(99) REFERENCES schema_migrations (version))',
    'CREATE VIEW versions AS SELECT version FROM schema_migrations',
  ])('nor one that gives their place to something else, or holds on to them: %s', async (text) => {
    for (const dialect of ['postgresql', 'mysql'] as const) {
      const verdict = await classifier.classify(text, { dialect, ...options });
      expect(verdict).toMatchObject({ verdict: 'accepted', facts: [{ safeForm: false }] });
    }
  });

  it('reading them is a read as any other', async () => {
    const verdict = await classifier.classify('SELECT * FROM schema_migrations', { dialect: 'postgresql', ...options });
    expect(verdict).toMatchObject({ read: true, facts: [{ writesUnknown: false }] });
  });
});
