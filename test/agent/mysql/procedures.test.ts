import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { bundleOf } from '../../support/migration-bench.js';
import { findMysql } from '../../support/mysql.js';
import { type MysqlBench, startMysqlBench } from '../../support/mysql-agent.js';
import { type SwallowingProxy, startSwallowingProxy } from '../../support/swallowing-proxy.js';

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('what a procedure leaves in its session', () => {
  let bench: MysqlBench;
  let proxy: SwallowingProxy;
  beforeAll(async () => {
    proxy = await startSwallowingProxy(Number(new URL(server!.url).port));
    const through = (url: string) => Object.assign(new URL(url), { port: String(proxy.port) }).href;
    bench = await startMysqlBench(server!, { through, head: 'max_concurrent_tasks = 1' });
    await bench.root.query(`
      create procedure opens() begin start transaction; update parts set qty = 77 where id = 1; end;
      create procedure stops_committing() begin set autocommit = 0; update parts set qty = 77 where id = 1; end;
      create procedure travels() set time_zone = '+05:00';
      create procedure rises() sql security invoker set role ${role()}`);
  });
  beforeEach(async () => {
    proxy.onClientData = null;
    await bench.root.query(`create or replace table parts (id int primary key, qty int); insert into parts values (1, 10);
      create or replace table visits (at timestamp)`);
  });
  afterAll(async () => {
    await bench?.root.query(`drop role if exists ${role()}`);
    await bench?.close();
    await proxy?.close();
  });

  const role = () => `${bench.database.name}_role`;
  const run = (detail: string) => bench.run('execute_dml', detail);
  const quantity = () => bench.value('select qty from parts where id = 1');

  it.each(['opens', 'stops_committing'])('AP-34: its changes are committed, and marked as done: %s', async (name) => {
    const job = bench.offer('execute_dml', `call ${name}()`);
    expect(await job.result).toMatchObject({ success: true, outcome: 'committed' });
    expect(await quantity()).toBe(77);
    expect(await bench.value('select state from svc_execution_marker where request_id = ?', [job.requestId])).toBe('done');
  });

  it('AP-37, AP-I5: whose COMMIT breaks off is unknown, in a migration too', async () => {
    const cutBehindCall = () => {
      let called = false;
      proxy.onClientData = (data) => {
        if (called) {
          proxy.onClientData = null;
          proxy.cut();
        }
        called ||= data.toString('latin1').includes('call opens()');
        return 'pass';
      };
    };
    const ofMigration = bundleOf('up', [{ version: 'v1', up: 'call opens()' }]);
    for (const [operation, detail] of [
      ['execute_dml', 'call opens()'],
      ['migrate_up', ofMigration],
    ] as const) {
      cutBehindCall();
      expect(await bench.run(operation, detail)).toMatchObject({ success: false, outcome: 'unknown' });
      // A second broken connection in a row would take the database out of service.
      expect(await run('update parts set qty = qty')).toMatchObject({ success: true });
    }
    expect(await quantity()).toBe(10);
  });

  it('HD-30: a time zone does not change the next statement, unless the text sets one', async () => {
    const visit = `call travels(); insert into visits values ('2026-01-01 12:00:00')`;
    const noted = async () => bench.value(`select max(unix_timestamp(at)) - unix_timestamp('2026-01-01') from visits`);
    await bench.root.query(`set time_zone = '+00:00'`);
    expect(await run(visit)).toMatchObject({ outcome: 'committed', rows_affected: 1 });
    expect(Number(await noted())).toBe(12 * 3600);
    await bench.root.query('delete from visits');
    expect(await run(`set time_zone = '+02:00'; ${visit}`)).toMatchObject({ outcome: 'committed', rows_affected: 1 });
    expect(Number(await noted())).toBe(10 * 3600);
  });

  it('AP-I6: a role gives no later job its rights', async () => {
    await bench.root.query(`create role ${role()}; grant ${role()} to '${bench.database.name}_w'@'%'`);
    const roleOf = () => run('update parts set qty = qty + 1 where id = 1 and current_role() is not null');
    expect(await run('call rises(); update parts set qty = 0 where current_role() is not null')).toMatchObject({
      rows_affected: 1,
    });
    expect(await roleOf()).toMatchObject({ outcome: 'committed', rows_affected: 0 });
  });
});
