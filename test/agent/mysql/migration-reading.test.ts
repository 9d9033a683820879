import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { dataOf } from '../../support/migration-bench.js';
import { findMysql } from '../../support/mysql.js';
import { type MysqlMigrationBench, startMysqlMigrationBench } from '../../support/mysql-migrations.js';

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('HD-30: a migration runs as it was read, whatever value its SET computes', () => {
  let bench: MysqlMigrationBench;
  beforeAll(async () => {
    bench = await startMysqlMigrationBench(server!, 2);
  });
  beforeEach(() => bench.clear());
  afterAll(() => bench?.close());

  // With NO_BACKSLASH_ESCAPES the first string ends at its second quote, and what reads as a string is a list of values.
  const insert = `insert into notes values ('\\'), (-- ', 1),\n ('x', 2)`;

  it.each([
    "set session sql_mode = concat(@@sql_mode, ',NO_BACKSLASH_ESCAPES')",
    "set @old = concat('ANSI_QUOTES,', 'NO_BACKSLASH_ESCAPES'); set sql_mode = @old",
    "set @c = concat('g', 'bk'); set character_set_client = @c",
  ])('%s', async (set) => {
    const up = `create table notes (a varchar(100), b int); ${set}; ${insert}; insert into notes values ('中\\\\', 3), ("'", 4)`;
    expect(dataOf(await bench.up([{ version: 'v1', up }]))).toEqual({ applied: ['v1'] });
    expect(await bench.column('select a from notes order by b')).toEqual(["'), (-- ", 'x', '中\\', "'"]);
  });

  it('what else it sets stays for its later statements', async () => {
    const up = `set sql_mode = 'NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION'; create table notes (a int primary key auto_increment);
      insert into notes values (0)`;
    expect(dataOf(await bench.up([{ version: 'v1', up }]))).toEqual({ applied: ['v1'] });
    expect(await bench.column('select a from notes')).toEqual(['0']);
  });
});
