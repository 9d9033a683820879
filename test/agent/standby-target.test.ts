import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { asSuperuser, type OwnPostgres, openOwnPostgres } from '../support/own-postgres.js';
import { eventually } from '../support/processes.js';
import { openStandby, primarySettings, type Standby } from '../support/standby.js';
import { type SwallowingProxy, startSwallowingProxy } from '../support/swallowing-proxy.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

let primary: OwnPostgres;
let standby: Standby;
/** Leads to the primary at first, as a virtual address does. */
let front: TcpProxy;
let proxy: SwallowingProxy;
let gateway: FakeGateway;
let agent: TestAgent;

beforeAll(async () => {
  primary = await openOwnPostgres();
  await primary.stop();
  await primary.start(...primarySettings);
  await on(
    primary,
    'create table parts (id int primary key, qty int); insert into parts values (1, 10), (2, 10); create table seen (n serial)',
  );
  standby = await openStandby(primary);
  front = await startTcpProxy(primary.url('postgres'));
  proxy = await startSwallowingProxy(Number(new URL(front.url).port));
  gateway = await startFakeGateway();
  const url = Object.assign(new URL(front.url), { port: String(proxy.port) }).href;
  agent = startTestAgent({ gateway, url, timings: { commitProbeMs: 60_000 } });
  await gateway.nextPoll((body) => Number(body.limit) > 0);
}, 240_000);
afterAll(async () => {
  agent?.stop();
  await agent?.exit;
  await gateway?.close();
  await proxy?.close();
  await front?.close();
  await standby?.close();
  await primary?.close();
});

const on = async (server: OwnPostgres, sql: string) =>
  (await asSuperuser(server.url('postgres'), (client) => client.query<Record<string, unknown>>(sql))).rows;
const quantity = async (server: OwnPostgres) => (await on(server, 'select qty from parts where id = 2'))[0]?.qty;

const add = (id: number) => ({ operation: 'execute_dml', detail: `update parts set qty = qty + 1 where id = ${id}` });

/** The standby receives the log and shows no more of it. */
async function pauseStandby(): Promise<void> {
  const [seen] = await on(primary, 'insert into seen default values returning n');
  await eventually(async () => (await on(standby, `select n from seen where n = ${seen?.n}`)).length > 0);
  await on(standby, 'select pg_wal_replay_pause()');
  await eventually(async () => (await on(standby, 'select pg_get_wal_replay_pause_state() as state'))[0]?.state === 'paused');
}

// The standby is promoted by the last of them.
describe('a target that fails over to a standby', { shuffle: false }, () => {
  it('AP-54, AG-59: a marker that a standby does not show yet is not told as absent', async () => {
    await pauseStandby();
    const requestId = randomUUID();
    expect(await gateway.offer({ ...add(1), requestId }).result).toMatchObject({ outcome: 'committed' });
    front.to(standby.url('postgres'));
    const again = await gateway.offer({ ...add(1), requestId, fence: 2, unresolvedFences: [1] }).result;
    expect(again).toMatchObject({ success: false, outcome: 'unknown' });
    front.to(primary.url('postgres'));
    await on(standby, 'select pg_wal_replay_resume()');
  }, 60_000);

  it('AP-37, AP-I5: a commit that a standby does not show yet is not told as rolled back', async () => {
    await pauseStandby();
    proxy.onClientData = (data) => {
      if (!data.includes('commit\0')) return 'pass';
      proxy.onClientData = null;
      proxy.up = false;
      return 'drop';
    };
    const job = gateway.offer(add(2));
    await eventually(async () => !proxy.up && (await quantity(primary)) === 11);
    let looks = 0;
    proxy.onClientData = (data) => {
      if (data.includes('svc_execution_marker')) looks++;
      return 'pass';
    };
    front.to(standby.url('postgres'));
    proxy.up = true;
    await Promise.race([job.result, eventually(() => looks > 1, 30_000)]);
    expect(await quantity(standby)).toBe(10);
    await standby.promote();
    expect(await job.result).toMatchObject({ success: true, outcome: 'committed' });
    expect(await quantity(standby)).toBe(11);
  }, 120_000);
});
