import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findMysql } from '../../support/mysql.js';
import { type MysqlBench, rowsText, startMysqlBench } from '../../support/mysql-agent.js';

const server = await findMysql(import.meta.url);

/** A column type, a value as SQL, the type's name and the JSON it must become (section 10). */
const values = [
  ['tinyint', '-128', 'tinyint', '-128'],
  ['tinyint unsigned', '255', 'tinyint unsigned', '255'],
  ['tinyint(1)', '0', 'tinyint(1)', 'false'],
  ['tinyint(1)', '1', 'tinyint(1)', 'true'],
  ['tinyint(1)', '7', 'tinyint(1)', '7'],
  ['boolean', 'true', 'tinyint(1)', 'true'],
  ['smallint', '-32768', 'smallint', '-32768'],
  ['mediumint unsigned', '16777215', 'mediumint unsigned', '16777215'],
  ['int', '-2147483648', 'int', '-2147483648'],
  ['int zerofill', '42', 'int unsigned', '42'],
  ['int zerofill', '0', 'int unsigned', '0'],
  ['bigint', '-9223372036854775808', 'bigint', '-9223372036854775808'],
  ['bigint unsigned', '9223372036854775807', 'bigint unsigned', '9223372036854775807'],
  ['bigint unsigned', '9223372036854775808', 'bigint unsigned', '"9223372036854775808"'],
  ['bigint unsigned', '18446744073709551615', 'bigint unsigned', '"18446744073709551615"'],
  ['float', '1.5', 'float', '1.5'],
  ['float zerofill', '1.5', 'float', '1.5'],
  ['double', '-1e300', 'double', '-1e300'],
  ['double', '0.1e0 + 0.2e0', 'double', '0.30000000000000004'],
  [
    'decimal(65,30)',
    '12345678901234567890.123456789012345678901234567890',
    'decimal',
    '"12345678901234567890.123456789012345678901234567890"',
  ],
  ['decimal(5,2)', '-1.5', 'decimal', '"-1.50"'],
  ['date', "'2024-02-29'", 'date', '"2024-02-29"'],
  ['date', "'0000-00-00'", 'date', '"0000-00-00"'],
  ['date', "'2024-00-00'", 'date', '"2024-00-00"'],
  ['datetime', "'0000-00-00 00:00:00'", 'datetime', '"0000-00-00 00:00:00"'],
  ['datetime(6)', "'9999-12-31 23:59:59.999999'", 'datetime', '"9999-12-31 23:59:59.999999"'],
  ['timestamp(3) null', "'2024-02-29 12:00:00.5'", 'timestamp', '"2024-02-29 12:00:00.500"'],
  ['time', "'-838:59:59'", 'time', '"-838:59:59"'],
  ['time(2)', "'01:02:03.4'", 'time', '"01:02:03.40"'],
  ['year', '2024', 'year', '"2024"'],
  ['char(5)', "'a'", 'char', '"a"'],
  ['varchar(50)', "'zu groß 😀 \"\\\\ \\n\\u0001'", 'varchar', '"zu groß 😀 \\"\\\\ \\nu0001"'],
  ['varchar(5) character set latin1', "'ß'", 'varchar', '"ß"'],
  ['tinytext', "'a'", 'tinytext', '"a"'],
  ['text', "'a'", 'text', '"a"'],
  ['mediumtext', "'a'", 'mediumtext', '"a"'],
  ['longtext', "'{}'", 'longtext', '"{}"'],
  ['binary(3)', "x'00ff'", 'binary', '"\\\\x00ff00"'],
  ['varbinary(5)', "x'00ff'", 'varbinary', '"\\\\x00ff"'],
  ['tinyblob', "''", 'tinyblob', '"\\\\x"'],
  ['blob', "x'c3'", 'blob', '"\\\\xc3"'],
  ['mediumblob', "'a'", 'mediumblob', '"\\\\x61"'],
  ['longblob', "'a'", 'longblob', '"\\\\x61"'],
  ['bit(12)', "b'100000000001'", 'bit', '"\\\\x0801"'],
  ['bit(1)', "b'1'", 'bit', '"\\\\x01"'],
  ["enum('fine','bad')", "'bad'", 'enum', '"bad"'],
  ["set('a','b','c')", "'c,a'", 'set', '"a,c"'],
  ['geometry', 'point(1, 2)', 'geometry', '"\\\\x000000000101000000000000000000f03f0000000000000040"'],
  ['int', 'null', 'int', 'null'],
  ['json', 'null', 'json', 'null'],
] as const;

describe.skipIf(server === null)('the type table of MySQL (section 10, AP-I7)', () => {
  let bench: MysqlBench;
  beforeAll(async () => {
    bench = await startMysqlBench(server!);
    await bench.root.query("set sql_mode = '', time_zone = '+00:00'");
  });
  afterAll(() => bench?.close());

  it.each(values)('AP-70: writes a column of %s that holds %s', async (type, sql, name, json) => {
    await bench.root.query(`create or replace table kinds (v ${type}); insert into kinds values (${sql})`);
    const result = await bench.run('execute_select', 'select v from kinds');
    expect(rowsText(result)).toBe(`[{"v":${json}}]`);
    expect(JSON.parse(result.result_data as string).column_types).toEqual([name]);
  });

  it('passes JSON through with its digits, order and doubled keys as the server stores them', async () => {
    await bench.root.query(
      `create or replace table kinds (v json); insert into kinds values ('{"b": 12345678901234567890, "a": [1.0, null]}'), ('"x"')`,
    );
    const result = await bench.run('execute_select', 'select v from kinds');
    expect(rowsText(result)).toMatch(
      /^\[\{"v":\{"(b": 12345678901234567890, "a": \[1.0, null\]|a": \[1.0, null\], "b": 12345678901234567890)\}\},\{"v":"x"\}\]$/,
    );
    expect(JSON.parse(result.result_data as string).column_types).toEqual(['json']);
  });

  it('keeps the order and every one of columns that share a name', async () => {
    await bench.root.query('create or replace table kinds (v int, w int); insert into kinds values (1, 2)');
    expect(rowsText(await bench.run('execute_select', 'select a.v, b.w, b.v, a.w from kinds a join kinds b'))).toBe(
      '[[1,2,1,2]]',
    );
  });

  it("writes MariaDB's own types as their text", async () => {
    if (!String(await bench.value('select version()')).includes('MariaDB')) return;
    const text = "select cast('123e4567-e89b-12d3-a456-426655440000' as uuid) as u, cast('::1' as inet6) as i";
    expect(rowsText(await bench.run('execute_select', text))).toBe('[{"u":"123e4567-e89b-12d3-a456-426655440000","i":"::1"}]');
  });
});
