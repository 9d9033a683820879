import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMysqlMarker } from '../../../agent/drivers/mysql/marker.js';
import { createMysqlPool } from '../../../agent/drivers/mysql/pool.js';
import { SINCE } from '../../../agent/marker.js';
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

    it('AP-56: delete old marker rows, though the binary log holds statements', async () => {
      await bench.root.query("set global binlog_format = 'STATEMENT'");
      const marker = createMysqlMarker({ schema: null, table: 'svc_execution_marker' });
      const database = await createMysqlDatabase(mariadb!.url());
      const pool = createMysqlPool({ url: database.url, readOnly: false, max: 1, maxRowBytes: 1 << 20, connectTimeoutMs: 5000 });
      const session = (await pool.acquire())!;
      try {
        expect(await marker.prepare(session, false)).toMatchObject({ problem: null });
        expect(await session.query('select @@binlog_format')).toEqual([['STATEMENT']]);
        await session.run(`insert into svc_execution_marker (request_id, fence, mode, state, execution_id, agent_id, approval_digest, created_at)
          values ('old', 1, 'tx', 'done', '-', '-', '-', now() - interval 31 day)`);
        await session.run(`update svc_execution_marker set created_at = now() - interval 40 day where request_id = '${SINCE}'`);
        expect(await marker.deleteOld(session, 30)).toBe(1);
        const left = 'select request_id, timestampdiff(day, created_at, now(3)) from svc_execution_marker';
        expect(await session.query(left)).toEqual([[SINCE, '30']]);
      } finally {
        await session.release();
        await pool.close();
        await database.drop();
        await bench.root.query("set global binlog_format = 'MIXED'");
      }
    });

    it('AP-50, MI-20: have the marker table and the tracking table', async () => {
      const files = [{ version: 'v6', up: 'create table t6 (id int)' }];
      expect(dataOf(await bench.up(files))).toMatchObject({ applied: ['v6'] });
      expect(await bench.versions()).toContain('v6');
      expect(new Set(await bench.column("select state from svc_execution_marker where step <> ''"))).toEqual(new Set(['done']));
    });
  },
);
