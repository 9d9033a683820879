import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { mysqlMarkerDdl } from '../../../agent/marker.js';
import { type FakeGateway, startFakeGateway } from '../../support/fake-gateway.js';
import { createMysqlDatabase, type MysqlDatabase, withMysql } from '../../support/mysql.js';
import { openOwnMariadb } from '../../support/own-mariadb.js';
import { type SwallowingProxy, startSwallowingProxy } from '../../support/swallowing-proxy.js';
import { startTestAgent, type TestAgent } from '../../support/test-agent.js';

const server = await openOwnMariadb(import.meta.url);
afterAll(() => server?.stop());

const root = <T>(sql: string): Promise<T[]> =>
  withMysql(`${server!.url()}?multipleStatements=true`, async (connection) => (await connection.query(sql))[0] as T[]);

describe.skipIf(server === null)(
  'a COMMIT on MariaDB whose answer is lost, while the agent finds that its markers lie elsewhere',
  () => {
    let target: MysqlDatabase;
    let user: string;
    let proxy: SwallowingProxy;
    let gateway: FakeGateway;
    let agent: TestAgent;
    beforeEach(async () => {
      target = await createMysqlDatabase(server!.url());
      user = `'${new URL(target.url).username}'@'%'`;
      await root(`grant all on svc.* to ${user}; use ${target.name}; ${mysqlMarkerDdl('svc_execution_marker')};
      create table parts (id int primary key, qty int) engine = InnoDB; insert into parts values (1, 10)`);
      proxy = await startSwallowingProxy(Number(new URL(target.url).port));
      gateway = await startFakeGateway();
      const url = Object.assign(new URL(target.url), { port: String(proxy.port) }).href;
      agent = startTestAgent({ gateway, url, timings: { commitProbeEveryMs: 4000 } });
      await gateway.nextPoll();
      return async () => {
        agent.stop();
        await agent.exit;
        await gateway.close();
        await proxy.close();
        await root('set global read_only = 0; drop database if exists svc');
        await target.drop();
      };
    });

    /** From the next COMMIT on, which takes place; resolves once the agent was refused when it came back to ask. */
    function loseCommit(): Promise<void> {
      return new Promise((resolve) => {
        proxy.onClientData = (data) => {
          if (!data.toString('latin1').endsWith('\x03commit')) return 'pass';
          proxy.onClientData = null;
          Object.defineProperty(proxy, 'up', { configurable: true, get: () => resolve() });
          return 'drop';
        };
      });
    }
    const comeBack = () => Object.defineProperty(proxy, 'up', { value: true });

    it.each([
      ['takes no writes any more', () => 'set global read_only = 1', 'no marker rows can be written'],
      [
        'lets its account only read them',
        () => `revoke all on svc.* from ${user}; grant select on svc.* to ${user}`,
        'marker rows can be written',
      ],
    ])('AP-37: is proven where it wrote its marker, when the server %s', async (_, sql, told) => {
      const lost = loseCommit();
      const { result } = gateway.offer({ operation: 'execute_dml', detail: 'update parts set qty = qty + 1' });
      await lost;
      await root(sql());
      comeBack();
      const refused = await gateway.offer({ operation: 'execute_dml', detail: 'create table other (id int)' }).result;
      expect(refused).toMatchObject({ outcome: 'not_started', error_message: 'marker table not available' });
      await expect.poll(() => agent.lines.join('\n')).toContain(told);
      expect(await result).toMatchObject({ success: true, outcome: 'committed' });
      expect(await root(`select qty from ${target.name}.parts`)).toEqual([{ qty: 11 }]);
    });
  },
);
