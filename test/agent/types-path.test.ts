import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSvc } from '../cli/run-svc.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { findMysql, type MysqlDatabase, withMysql } from '../support/mysql.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';
import { databaseToml, passesToml } from '../support/toml.js';

/** An expression, the name of its type and the JSON it must become (section 10). */
type Value = [sql: string, type: string, json: string];

const onPostgres: Value[] = [
  ['(-32768)::int2', 'int2', '-32768'],
  ['2147483647::int4', 'int4', '2147483647'],
  ['(-9223372036854775808)::int8', 'int8', '-9223372036854775808'],
  ['9007199254740993::int8', 'int8', '9007199254740993'],
  ['1.5::float4', 'float4', '1.5'],
  ['(0.1::float8 + 0.2::float8)', 'float8', '0.30000000000000004'],
  ["'NaN'::float4", 'float4', '"NaN"'],
  ["'Infinity'::float8", 'float8', '"Infinity"'],
  ["'-Infinity'::float8", 'float8', '"-Infinity"'],
  ['true', 'bool', 'true'],
  ['false', 'bool', 'false'],
  ['null::text', 'text', 'null'],
  [`'{"b": 1.0, "a": [12345678901234567890], "b": 2e0}'::json`, 'json', '{"b": 1.0, "a": [12345678901234567890], "b": 2e0}'],
  [`'{"a":12345678901234567890.50}'::jsonb`, 'jsonb', '{"a": 12345678901234567890.50}'],
  ["'null'::jsonb", 'jsonb', 'null'],
  ["'\\x00ff10'::bytea", 'bytea', '"\\\\x00ff10"'],
  ["''::bytea", 'bytea', '"\\\\x"'],
  ['array[[1, null], [3, 4]]::int8[]', 'int8[]', '[[1,null],[3,4]]'],
  [`array['a,b', 'NULL', null, 'q"\\', '{x}']`, 'text[]', '["a,b","NULL",null,"q\\"\\\\","{x}"]'],
  ["array['NaN', 1.5]::float8[]", 'float8[]', '["NaN",1.5]'],
  ['array[true, false, null]', 'bool[]', '[true,false,null]'],
  [`array['{"a": 1}'::jsonb, 'null']`, 'jsonb[]', '[{"a": 1},null]'],
  ["array['\\x00ff'::bytea]", 'bytea[]', '["\\\\x00ff"]'],
  ["array['(1,1),(0,0)'::box, '(3,3),(2,2)']", 'box[]', '["(1,1),(0,0)","(3,3),(2,2)"]'],
  ["array[row(1, 'a'), row(2, null)]", 'record[]', '["(1,a)","(2,)"]'],
  ["array[row(1, 'a')::spot]", 'spot[]', '["(1,a)"]'],
  ['array[]::int4[]', 'int4[]', '[]'],
  ["'[2:3]={1,2}'::int4[]", 'int4[]', '"[2:3]={1,2}"'],
  ['5::small', 'int4', '5'],
  ['array[5, null]::small[]', 'small[]', '[5,null]'],
  ['12345678901234567890.1234567890::numeric', 'numeric', '"12345678901234567890.1234567890"'],
  ["'NaN'::numeric", 'numeric', '"NaN"'],
  ["'123e4567-e89b-12d3-a456-426655440000'::uuid", 'uuid', '"123e4567-e89b-12d3-a456-426655440000"'],
  ["'zu groß 😀'", 'text', '"zu groß 😀"'],
  ["'ab'::char(4)", 'bpchar', '"ab  "'],
  ["date '2024-02-29'", 'date', '"2024-02-29"'],
  ["date 'infinity'", 'date', '"infinity"'],
  ["date '0044-03-15 BC'", 'date', '"0044-03-15 BC"'],
  ["time '12:00:00.5'", 'time', '"12:00:00.5"'],
  ["timetz '12:00+02'", 'timetz', '"12:00:00+02"'],
  ["timestamp '2024-02-29 12:00:00.123456'", 'timestamp', '"2024-02-29 12:00:00.123456"'],
  ["timestamptz '2024-02-29 12:00+02'", 'timestamptz', '"2024-02-29 10:00:00+00"'],
  ["interval '1 year -2 days 3.5 seconds'", 'interval', '"1 year -2 days +00:00:03.5"'],
  ["'10.0.0.1/8'::inet", 'inet', '"10.0.0.1/8"'],
  ["'10.0.0.0/8'::cidr", 'cidr', '"10.0.0.0/8"'],
  ["'08:00:2b:01:02:03'::macaddr", 'macaddr', '"08:00:2b:01:02:03"'],
  ["'1.5'::money", 'money', '"$1.50"'],
  ["'fine'::mood", 'mood', '"fine"'],
  ["array['fine', 'bad']::mood[]", 'mood[]', '["fine","bad"]'],
  ['int4range(1, 5)', 'int4range', '"[1,5)"'],
  ["'{[1,3),[5,7)}'::int4multirange", 'int4multirange', '"{[1,3),[5,7)}"'],
  ["row(1, 'a')", 'record', '"(1,a)"'],
  ["row(1, 'a')::spot", 'spot', '"(1,a)"'],
  ['4294967295::oid', 'oid', '"4294967295"'],
  ["b'101'", 'bit', '"101"'],
  ["'<a/>'::xml", 'xml', '"<a/>"'],
  ["'(1,2)'::point", 'point', '"(1,2)"'],
  ["'a:1 b:2'::tsvector", 'tsvector', `"'a':1 'b':2"`],
];

/** The same for columns of a table. */
const onMysql: [column: string, ...Value][] = [
  ['tinyint', '-128', 'tinyint', '-128'],
  ['smallint', '-32768', 'smallint', '-32768'],
  ['mediumint', '8388607', 'mediumint', '8388607'],
  ['int', '-2147483648', 'int', '-2147483648'],
  ['bigint', '9007199254740993', 'bigint', '9007199254740993'],
  ['bigint unsigned', '9223372036854775807', 'bigint unsigned', '9223372036854775807'],
  ['bigint unsigned', '18446744073709551615', 'bigint unsigned', '"18446744073709551615"'],
  ['tinyint(1)', '0', 'tinyint(1)', 'false'],
  ['tinyint(1)', '1', 'tinyint(1)', 'true'],
  ['tinyint(1)', '-7', 'tinyint(1)', '-7'],
  ['float', '1.5', 'float', '1.5'],
  ['double', '0.1e0 + 0.2e0', 'double', '0.30000000000000004'],
  ['json', `'{"b": 12345678901234567890}'`, 'json', '{"b": 12345678901234567890}'],
  ['blob', "x'00ff'", 'blob', '"\\\\x00ff"'],
  ['binary(3)', "x'00ff'", 'binary', '"\\\\x00ff00"'],
  ['varbinary(3)', "x'00ff'", 'varbinary', '"\\\\x00ff"'],
  ['bit(12)', "b'100000000001'", 'bit', '"\\\\x0801"'],
  ['geometry', 'point(1, 2)', 'geometry', '"\\\\x000000000101000000000000000000f03f0000000000000040"'],
  ['decimal(30,10)', '12345678901234567890.1234567890', 'decimal', '"12345678901234567890.1234567890"'],
  ['date', "'2024-02-29'", 'date', '"2024-02-29"'],
  ['time(2)', "'-838:59:59'", 'time', '"-838:59:59.00"'],
  ['datetime(6)', "'9999-12-31 23:59:59.999999'", 'datetime', '"9999-12-31 23:59:59.999999"'],
  ['timestamp null', "'2024-02-29 12:00:00'", 'timestamp', '"2024-02-29 12:00:00"'],
  ['year', '2024', 'year', '"2024"'],
  ['char(5)', "'a'", 'char', '"a"'],
  ['varchar(20)', "'zu groß 😀'", 'varchar', '"zu groß 😀"'],
  ['text', "'a\\nb'", 'text', '"a\\nb"'],
  ["enum('fine','bad')", "'bad'", 'enum', '"bad"'],
  ["set('a','b','c')", "'c,a'", 'set', '"a,c"'],
  ['int', 'null', 'int', 'null'],
];

const mysql = await findMysql(import.meta.url);

let api: TestApi;
let target: TestDatabase;
let store: MysqlDatabase | undefined;
let agent: TestAgent;
let dana: string;
beforeAll(async () => {
  const toml = databaseToml('shop', ['staging', 'ascii']) + databaseToml('store', ['staging'], 'mysql') + passesToml();
  [api, target, store] = await Promise.all([startTestApi({ toml }), createEmptyDatabase(), mysql?.createDatabase()]);
  await onTarget(
    "create type mood as enum ('fine', 'bad'); create domain small as int check (value < 10); create type spot as (a int, b text)",
  );
  await onTarget(`create database ${asciiName()} encoding 'SQL_ASCII' locale 'C' template template0`);
  dana = await api.createUser('dana', { roles: ['requester'] });
  const ascii = Object.assign(new URL(target.url), { pathname: `/${asciiName()}` }).href;
  const more = store === undefined ? '' : `[databases.store.staging]\nurl = "${store.url}"\nread_url = "${store.readUrl}"\n`;
  const tables = `[databases.shop.ascii]\nurl = "${ascii}"\n${more}`;
  agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: target.url, tables });
  await eventually(() => agent.lines.some((line) => line.includes('agent is ready')), 30_000);
});
afterAll(async () => {
  agent?.stop();
  await agent?.exit;
  await api?.close();
  await onTarget(`drop database if exists ${asciiName()} with (force)`);
  await store?.drop();
  await target?.drop();
});

const asciiName = () => `${new URL(target.url).pathname.slice(1)}_ascii`;

async function onTarget(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: target.adminUrl });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

/** What `svc request result --json` prints of a read with the columns c0, c1 and so on: types, and each value as it is written there. */
async function printed(database: string, environment: string, detail: string): Promise<{ types: string[]; values: string[] }> {
  const created = await api.call('POST', '/api/requests', { token: dana, body: { database, environment, detail } });
  expect(created.status).toBe(201);
  const { id } = created.body;
  const read = async () => (await api.call('GET', `/api/requests/${id}`, { token: dana })).body.status;
  await expect.poll(read, { timeout: 15_000 }).toMatch(/executed|failed/);
  const environmentOf = { SVC_SERVER_URL: api.url, SVC_TOKEN: dana };
  const { code, stdout } = await runSvc(['request', 'result', id, '--json'], { environment: environmentOf });
  expect([code, stdout]).toEqual([0, expect.any(String)]);
  const row = /"rows":\s*\[\s*\{(.*)\}\s*\],\s*"truncated"/s.exec(stdout)?.[1] ?? stdout;
  const types = JSON.parse(stdout).data.result_data.column_types;
  return { types, values: row.split(/,?"c\d+":/).slice(1) };
}

describe('every type of section 10, as `svc request result --json` prints it (AP-70, AP-I7)', () => {
  it('AP-70: on PostgreSQL', async () => {
    const { types, values } = await printed(
      'shop',
      'staging',
      `select ${onPostgres.map(([sql], at) => `${sql} as c${at}`).join(', ')}`,
    );
    const told = onPostgres.map(([sql], at) => [sql, types[at], values[at]]);
    expect(told).toEqual(onPostgres);
  });

  it('AP-I7: values of types that are named like built-in ones stay strings', async () => {
    await onTarget(`create type public.bool as enum ('yes', 'true'); create type public.int8 as enum ('0,"x":1');
      create type public.float8 as (a int); create type public.json as enum ('{"a":1}'); create domain public.int4 as public.bool`);
    const named: Value[] = [
      ["'yes'::public.bool", 'bool', '"yes"'],
      [`'0,"x":1'::public.int8`, 'int8', '"0,\\"x\\":1"'],
      ['row(1)::public.float8', 'float8', '"(1)"'],
      [`'{"a":1}'::public.json`, 'json', '"{\\"a\\":1}"'],
      ["array['yes', null]::public.bool[]", 'bool[]', '["yes",null]'],
      [`array['0,"x":1']::public.int8[]`, 'int8[]', '["0,\\"x\\":1"]'],
      ["array['true']::public.int4[]", 'int4[]', '["true"]'],
    ];
    const { types, values } = await printed(
      'shop',
      'staging',
      `select ${named.map(([sql], at) => `${sql} as c${at}`).join(', ')}`,
    );
    expect(named.map(([sql], at) => [sql, types[at], values[at]])).toEqual(named);
  });

  it('AP-70: a text that is no UTF-8, alone and in an array, is written as hexadecimal digits', async () => {
    const detail = `select chr(195) as c0, 'ä' as c1, array['a', chr(195) || 'b', 'ß'] as c2, row(chr(195)) as c3`;
    expect((await printed('shop', 'ascii', detail)).values).toEqual([
      '"\\\\xc3"',
      '"ä"',
      '["a","\\\\xc362","ß"]',
      '"\\\\x28c329"',
    ]);
    // Also on a connection that was used before.
    expect((await printed('shop', 'ascii', 'select chr(195) as c0')).values).toEqual(['"\\\\xc3"']);
  });

  it.skipIf(mysql === null)('AP-70: on MySQL', async () => {
    await withMysql(store!.adminUrl, async (root) => {
      await root.query(`create table kinds (${onMysql.map(([type], at) => `c${at} ${type}`).join(', ')})`);
      // The defaults are the server's, which other files share and change.
      await root.query("set time_zone = '+00:00', sql_mode = 'STRICT_TRANS_TABLES'");
      await root.query(`insert into kinds values (${onMysql.map(([, sql]) => sql).join(', ')})`);
    });
    const { types, values } = await printed('store', 'staging', 'select * from kinds');
    const told = onMysql.map(([type, sql], at) => [type, sql, types[at], values[at]]);
    expect(told).toEqual(onMysql);
  });
});
