import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { findMysql, type MysqlDatabase } from '../support/mysql.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

const mysql = await findMysql(import.meta.url);
let postgres: TestDatabase;
let mariadb: MysqlDatabase | null = null;
let gateway: FakeGateway;
let proxy: TcpProxy;
let agent: TestAgent;
beforeAll(async () => {
  postgres = await createEmptyDatabase();
  mariadb = mysql && (await mysql.createDatabase());
});
afterAll(async () => {
  await postgres?.drop();
  await mariadb?.drop();
});
beforeEach(async () => {
  [gateway, proxy] = await Promise.all([startFakeGateway(), startTcpProxy(postgres.url)]);
  const store = mariadb ? `[databases.store.staging]\nurl = "${mariadb.url}"` : '';
  const tables = `[databases.other.staging]\nurl = "${postgres.url}"\n${store}`;
  agent = startTestAgent({ gateway, url: proxy.url, tables });
  await gateway.nextPoll((body) => Number(body.limit) > 0);
});
afterEach(async () => {
  proxy.heal();
  agent.stop();
  await agent.exit;
  await proxy.close();
  await gateway.close();
});

const healthy = ['other', ...(mysql === null ? [] : ['store'])];

describe('one database that fails', () => {
  it('AP-I9: and answers nothing, delays no job of another', async () => {
    await gateway.offer({ detail: 'select 1' }).result;
    proxy.freeze();
    const stuck = [
      gateway.offer({ detail: 'select 1' }),
      gateway.offer({ operation: 'execute_dml', detail: 'create table stuck (n int)' }),
    ];
    await Promise.all(stuck.map((job) => job.claimed));
    for (const database of [...healthy, ...healthy, ...healthy]) {
      expect(await gateway.offer({ database, detail: 'select 1' }).result).toMatchObject({ success: true });
    }
    expect(stuck.map((job) => job.submissions)).toEqual([[], []]);
    proxy.heal();
    for (const job of stuck) expect(await job.result).toMatchObject({ success: false });
  });

  it('AP-I9: and refuses connections, delays no job of another while it is tried again and again', async () => {
    proxy.cut();
    for (let n = 0; n < 2; n += 1) expect(await gateway.offer({ detail: 'select 1' }).result).toMatchObject({ success: false });
    await gateway.nextPoll((body) => !JSON.stringify(body).includes('"shop"'));
    for (const database of [...healthy, ...healthy]) {
      expect(await gateway.offer({ database, detail: 'select 1' }).result).toMatchObject({ success: true });
    }
    proxy.heal();
    await gateway.nextPoll((body) => JSON.stringify(body).includes('"shop"'));
    expect(await gateway.offer({ detail: 'select 1' }).result).toMatchObject({ success: true });
  });
});

describe('a statement that may write', () => {
  it('AP-I2: runs while its connection holds the lock of its request', async () => {
    const { result } = gateway.offer({
      operation: 'execute_dml',
      database: 'other',
      detail: `select count(*)::int as held from pg_locks where locktype = 'advisory' and granted and pid = pg_backend_pid()`,
    });
    expect((await result).result_data).toContain('"held":1');
  });

  it.skipIf(mysql === null)('AP-I2: the same on MySQL', async () => {
    const requestId = '6b0c6c1e-3c39-4f6c-9a0e-7a1b3a7f0a11';
    const detail = `select is_used_lock('svc:${requestId}') = connection_id() as held`;
    const { result } = gateway.offer({ operation: 'execute_dml', database: 'store', requestId, detail });
    expect((await result).result_data).toContain('"held":1');
  });

  it('AP-I2: does not run on a token that was signed for another text', async () => {
    const forge = (claim: Record<string, unknown>) => ({ ...claim, detail: 'create table forged (n int)' });
    const { result } = gateway.offer({
      operation: 'execute_dml',
      database: 'other',
      detail: 'create table agreed (n int)',
      forge,
    });
    expect(await result).toMatchObject({ success: false, outcome: 'not_started' });
    const tables = `select to_regclass('forged')::text as forged, to_regclass('agreed')::text as agreed`;
    const looked = await gateway.offer({ database: 'other', detail: tables }).result;
    expect(looked.result_data).toContain('"forged":null,"agreed":null');
  });
});
