import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dataOf } from '../../support/migration-bench.js';
import { createMysqlDatabase } from '../../support/mysql.js';
import { type MysqlMigrationBench, startMysqlMigrationBench } from '../../support/mysql-migrations.js';
import { openOwnMariadb } from '../../support/own-mariadb.js';

const mariadb = await openOwnMariadb(import.meta.url, ['innodb-default-row-format=compact']);

describe.skipIf(mariadb === null)('a server whose tables have an older row format, with shorter keys', () => {
  let bench: MysqlMigrationBench;
  beforeAll(async () => {
    bench = await startMysqlMigrationBench({ url: mariadb!.url(), createDatabase: () => createMysqlDatabase(mariadb!.url()) });
  });
  afterAll(async () => {
    await bench?.close();
    await mariadb?.stop();
  });

  it('AP-50, MI-20: gets the marker table and the tracking table', async () => {
    expect(dataOf(await bench.up([{ version: 'v1', up: 'create table t1 (id int)' }]))).toEqual({ applied: ['v1'] });
    expect(await bench.column('select state from svc_execution_marker')).toEqual(['done']);
  });
});
