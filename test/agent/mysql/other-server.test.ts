import type { Connection } from 'mysql2/promise';
import mysql from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findMysql } from '../../support/mysql.js';
import { type MysqlBench, startMysqlBench } from '../../support/mysql-agent.js';
import { openOwnMariadb } from '../../support/own-mariadb.js';
import { eventually } from '../../support/processes.js';
import { type SwallowingProxy, startSwallowingProxy } from '../../support/swallowing-proxy.js';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.js';

const primary = await findMysql(import.meta.url);
const replica = primary && (await openOwnMariadb(import.meta.url));

describe.skipIf(replica === null)('a COMMIT on MySQL whose answer is lost in a failover', () => {
  /** Leads to the primary at first, as a virtual address does. */
  let front: TcpProxy;
  let proxy: SwallowingProxy;
  let bench: MysqlBench;
  let copy: Connection;
  beforeAll(async () => {
    front = await startTcpProxy(primary!.url);
    proxy = await startSwallowingProxy(Number(new URL(front.url).port));
    const through = (url: string) => Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(proxy.port) }).href;
    bench = await startMysqlBench(primary!, { through, timings: { commitProbeMs: 60_000 } });
    await bench.root.query('create table counters (id int primary key, n int) engine=InnoDB; insert into counters values (1, 0)');
    copy = await mysql.createConnection({ uri: replica!.url(), rowsAsArray: true, multipleStatements: true });
    const [[[, marker] = []]] = (await bench.root.query('show create table svc_execution_marker')) as unknown as [string[][]];
    const { name, url } = bench.database;
    const user = `'${new URL(url).username}'@'%'`;
    await copy.query(`create database ${name}; create user ${user} identified by 'test'; grant all on ${name}.* to ${user}`);
    await copy.query(
      `use ${name}; ${marker}; create table counters (id int primary key, n int); insert into counters values (1, 0)`,
    );
  }, 240_000);
  afterAll(async () => {
    await bench?.close();
    await proxy?.close();
    await front?.close();
    await copy?.end();
    await replica?.stop();
  });

  it('AP-37, AP-I5: is not told as rolled back by a replica that has not received it yet', async () => {
    proxy.onClientData = (data) => {
      if (!data.toString('latin1').endsWith('\x03commit')) return 'pass';
      proxy.onClientData = null;
      proxy.up = false;
      return 'drop';
    };
    const job = bench.offer('execute_dml', 'update counters set n = n + 1 where id = 1');
    await eventually(async () => !proxy.up && (await bench.value('select n from counters')) === 1);
    let looks = 0;
    proxy.onClientData = (data) => {
      if (data.includes('svc_execution_marker')) looks++;
      return 'pass';
    };
    front.to(replica!.url());
    proxy.up = true;
    await Promise.race([job.result, eventually(() => looks > 1, 30_000)]);
    // What replication brings.
    const [rows] = (await bench.root.query('select * from svc_execution_marker where state = ?', ['done'])) as unknown as [
      unknown[][],
    ];
    expect(rows).toHaveLength(1);
    await copy.query('update counters set n = 1');
    await copy.query('insert into svc_execution_marker values (?)', [rows[0]]);
    expect(await job.result).toMatchObject({ success: true, outcome: 'committed', rows_affected: 1 });
  }, 120_000);
});
