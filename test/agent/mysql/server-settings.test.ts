import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dataOf } from '../../support/migration-bench.js';
import { createMysqlDatabase } from '../../support/mysql.js';
import { type MysqlMigrationBench, startMysqlMigrationBench } from '../../support/mysql-migrations.js';
import { openOwnMariadb } from '../../support/own-mariadb.js';

const mariadb = await openOwnMariadb(import.meta.url, ['innodb-default-row-format=compact']);

describe.skipIf(mariadb === null)(
  'migrations on a server with a binary log, and with an older row format, whose keys are shorter',
  () => {
    let bench: MysqlMigrationBench;
    beforeAll(async () => {
      bench = await startMysqlMigrationBench({ url: mariadb!.url(), createDatabase: () => createMysqlDatabase(mariadb!.url()) });
    });
    afterAll(async () => {
      await bench?.close();
      await mariadb?.stop();
    });

    it('MI-32, MI-36: all run, though the server changes variables of its own with every commit', async () => {
      const files = [1, 2, 3].map((n) => ({ version: `v${n}`, up: `create table t${n} (id int); insert into t${n} values (1)` }));
      expect(dataOf(await bench.up(files))).toMatchObject({ applied: ['v1', 'v2', 'v3'] });
    });

    it('MI-36: all run, though somebody changes a variable of the server meanwhile', async () => {
      await bench.root.query('create procedure others() set global innodb_lru_scan_depth = 1800');
      const files = ['call others()', 'create table t5 (id int)'].map((up, at) => ({ version: `v${4 + at}`, up }));
      expect(dataOf(await bench.up(files))).toMatchObject({ applied: ['v4', 'v5'] });
    });

    it('AP-50, MI-20: have the marker table and the tracking table', async () => {
      const files = [{ version: 'v6', up: 'create table t6 (id int)' }];
      expect(dataOf(await bench.up(files))).toMatchObject({ applied: ['v6'] });
      expect(await bench.versions()).toContain('v6');
      expect(new Set(await bench.column("select state from svc_execution_marker where step <> ''"))).toEqual(new Set(['done']));
    });
  },
);
