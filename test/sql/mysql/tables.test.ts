import type { RowDataPacket } from 'mysql2';
import type { Connection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assessRisk } from '../../../domain/risk.js';
import { createSqlClassifier, type SqlClassifier } from '../../../sql/classify.js';
import { findMysql, type MysqlDatabase, withMysql } from '../../support/mysql.js';

const server = await findMysql(import.meta.url);
let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
});
afterAll(() => sql.close());

async function factsOf(text: string) {
  const verdict = await sql.classify(text, { dialect: 'mysql', statementTimeoutSecs: 30 });
  expect(verdict, text).toMatchObject({ verdict: 'accepted' });
  return verdict.verdict === 'accepted' ? verdict.facts : [];
}

const namesOf = (tables: readonly { name: string }[] = []) => tables.map(({ name }) => name);
const isAudited = (tables: readonly { name: string }[] = []) => namesOf(tables).includes('audited');

/** `audited` is written, where the text names it in a way that people rarely use. */
const oddlyWritten = [
  'update .audited set x = 1 where id = 5',
  'update small, .audited a set a.x = 1 where a.id = 5',
  'update small use index for order by (primary), audited a set a.x = 1 where a.id = 5',
  'delete from .audited where id = 5',
  'delete from small using (audited as small) where small.id = 5',
  'delete from small, audited using (small, audited) where audited.id = 5',
  'delete small from audited partition (p0) as small, small as s where small.id = 5',
  'delete audited from audited join (select 1 as x from small as audited) d where audited.id = 5',
];

describe('HD-21: no alias and no column hides the tables behind it', () => {
  it.each([
    ...oddlyWritten,
    // MySQL only: VALUES(column) in any condition.
    'update small join wide on values(wide.x) is null, audited a set a.x = 1 where a.id = 5',
    'update small value, audited a set a.x = 1 where a.id = 5',
    'update small join wide on value = 1, audited a set a.x = 1 where a.id = 5',
    'update small join wide on window > 1, audited a set a.x = 1 where a.id = 5',
    'update small join wide w on w.with = 1, audited a set a.x = 1 where a.id = 5',
    'update small returning, audited a set a.x = 1 where a.id = 5',
    'update small returning left join wide on true, audited a set a.x = 1 where a.id = 5',
    'update small intersect, audited a set a.x = 1 where a.id = 5',
    'update lateral, audited a set a.x = 1 where a.id = 5',
    'delete a from small value, audited a where a.id = 5',
  ])('%s', async (text) => {
    const facts = await factsOf(text);
    expect(isAudited(facts[0]?.changed)).toBe(true);
    const risk = assessRisk({
      operation: 'execute_dml',
      facts,
      findings: [],
      autoApprove: { allowReadOnly: true, allowSafeDdl: true, maxEstimatedRows: 1000, maxSnapshotAgeSecs: 86_400 },
      snapshot: { tables: ['small', 'wide', 'lateral', 'audited'].map(tableOf), user_code: noCode },
      snapshotAgeMs: 0,
    });
    expect(risk).toMatchObject({ level: 'medium', factors: [{ name: 'triggers', tables: ['shop.audited'] }] });
  });

  it.each([
    'update small set x = (select max(a.x) from (select 1 as x) value, audited a) where id = 1',
    'update small set x = (with quick as (select 1 as x) select max(a.x) from quick, audited a) where id = 1',
    'update small set x = (select max(a.x) from lateral (select 1 as x) l, audited a) where id = 1',
    'update small set x = (select 1 except select x from audited) where id = 1',
    'update small set x = (select max(a.x) from small s use index for group by (primary), audited a) where id = 1',
    'insert into shop.mid (select x from audited)',
    'insert into small select x, x from .audited on duplicate key update x = 1',
  ])('nor in a query: %s', async (text) => {
    expect(isAudited((await factsOf(text))[0]?.named)).toBe(true);
  });

  it.each([
    'delete from small where id = 1 returning x, id',
    'delete from small returning x, id',
    'insert into small select x, y from wide returning x, y',
    'insert into small select x, y from wide on duplicate key update x = values(x), y = 1',
    'delete from small using small join wide using (id), (wide w) where small.id = 1',
    'update small set x = (select sum(x) over w from wide window w as (order by y), w2 as (order by x) limit 1) where id = 1',
    'update small set x = (select x from wide intersect select y from wide) where id = 1',
  ])('but no word of a clause is taken for a table: %s', async (text) => {
    expect(new Set(namesOf((await factsOf(text))[0]?.named))).toEqual(new Set(/wide/.test(text) ? ['small', 'wide'] : ['small']));
  });
});

/** The account may not read `audited`, so the server itself tells whether a text names it. */
describe.skipIf(server === null)('HD-21: whatever word the real server takes for an alias, the tables behind it are seen', () => {
  let database: MysqlDatabase;
  beforeAll(async () => {
    database = await server!.createDatabase();
    await withMysql(database.adminUrl, async (connection) => {
      for (const table of ['small', 'audited'])
        await connection.query(`create table ${table} (id int primary key, x int) partition by hash (id) partitions 2`);
      await connection.query(`revoke all on ${database.name}.* from '${database.name}_w'@'%'`);
      await connection.query(`grant select, update, delete on ${database.name}.small to '${database.name}_w'@'%'`);
    });
  });
  afterAll(() => database.drop());

  it.each(oddlyWritten)('%s', async (text) => {
    expect(await withMysql(database.url, (connection) => names(connection, text))).toBe(true);
  });

  it.each([
    (word: string) => `update small ${word}, audited a set a.x = 1 where a.id = 5`,
    (word: string) => `delete a from (select 1 as x) ${word}, audited a where a.id = 5`,
    (word: string) => `select 1 from (with ${word} as (select 1 as x) select a.x from ${word}, audited a) d`,
  ])('%s', async (textOf) => {
    const words = await withMysql(database.url, wordsOf);
    const named = await withMysql(database.url, async (connection) => {
      const texts: string[] = [];
      for (const word of words) if (await names(connection, textOf(word))) texts.push(textOf(word));
      return texts;
    });
    const unseen: string[] = [];
    for (const text of named) if (!isAudited((await factsOf(text))[0]?.named)) unseen.push(text);
    expect(unseen).toEqual([]);
    expect(named.length).toBeGreaterThan(100);
  });
});

async function names(connection: Connection, text: string): Promise<boolean> {
  const error = await connection.query(`explain ${text}`).then(
    () => null,
    (thrown: Error) => thrown,
  );
  return error !== null && /denied.*audited/.test(error.message);
}

async function wordsOf(connection: Connection): Promise<string[]> {
  const [rows] = await connection.query<RowDataPacket[]>('select word as name from information_schema.keywords');
  return rows.map(({ name }) => String(name).toLowerCase()).filter((word) => /^\w+$/.test(word));
}

const noCode = { functions: [], fields: [], operators: [], casts: [] };
const tableOf = (name: string) => ({
  name,
  schema_name: 'shop',
  estimated_rows: 10,
  columns: [],
  constraints: [],
  indexes: [],
  triggers: name === 'audited' ? ['keeps_track'] : [],
  code: [],
  keys: [],
  has_namesakes: false,
});
