import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixedTables } from '../../domain/fixed-rows.js';
import { indexTables } from '../../domain/snapshot.js';
import { createSqlClassifier, type SqlClassifier } from '../../sql/classify.js';
import { table } from '../support/snapshots.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
});
afterAll(() => sql.close());

const types = { id: 'bigint(20) unsigned', name: 'varchar(200)', code: 'int(11)', day: 'date' };
const column = ([name, type]: [string, string]) => ({
  name,
  data_type: type,
  nullable: false,
  default_value: null,
  is_primary_key: false,
});
const big = table('big', {
  columns: Object.entries(types).map(column),
  keys: [['id'], ['name'], ['code', 'day'], ['code', 'name']],
});
const lookup = indexTables({ tables: [big, table('other')] }, 'execute_dml');

it.each([
  ['update big set a = 1 where id = 5', true],
  ['update big set a = 1 where `ID` = 5 and b > 3 limit 1', true],
  [`delete from big where big.name = 'x'`, true],
  [`delete from big where code = 5 and name = 'x'`, true],
  ['insert into big (id) values (1), (2)', true],
  ['insert into big set id = 1 on duplicate key update code = 2', true],
  // A number equals many texts.
  ['delete from big where name = 0', false],
  [`delete from big where id = '5'`, false],
  ['delete from big where id = 5e0', false],
  [`delete from big where name = 'x' collate utf8mb4_general_ci`, false],
  [`delete from big where code = 5 and day = '2026-01-01'`, false],
  ['delete from big where id = 5 or 1', false],
  ['delete from big where id = 5 || name is null', false],
  ['delete from big where not id = 5', false],
  ['delete from big where code between 1 and id = 5', false],
  ['delete from big where case when code and id = 5 then 1 else 1 end', false],
  ['delete from big where id = 5 xor code = 1', false],
  ['delete from big where id <=> null', false],
  ['delete from big where id = @a', false],
  ['update big join other on big.code = other.id set a = 1 where big.id = 5', false],
  ['replace into big (id) values (1)', false],
  ['insert into big (id) select id from other', false],
  ['insert into other (id) values ((select max(id) from big))', false],
])('%s of MySQL tells its rows: %s (HD-96)', async (text, expected) => {
  const verdict = await sql.classify(text, { dialect: 'mysql', statementTimeoutSecs: 30 });
  if (verdict.verdict !== 'accepted') throw new Error(JSON.stringify(verdict));
  expect(fixedTables(verdict.facts, lookup).has(big)).toBe(expected);
});
