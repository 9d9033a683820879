import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { postgresMarkerDdl } from '../../agent/marker.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { type OwnPostgres, openOwnPostgres } from '../support/own-postgres.js';
import { eventually } from '../support/processes.js';
import { type SwallowingProxy, startSwallowingProxy } from '../support/swallowing-proxy.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';
import { askOwn } from '../support/unsaved-ids.js';

let clusters: OwnPostgres[];
/** Leads to the first cluster at first, as a virtual address does. */
let front: TcpProxy;
let proxy: SwallowingProxy;
let gateway: FakeGateway;
let agent: TestAgent;

beforeAll(async () => {
  clusters = [await openOwnPostgres(), await openOwnPostgres()];
  // Ids that one of them gives next were those of transactions that the other one has rolled back.
  for (const [index, { url }] of clusters.entries())
    await askOwn(
      url,
      `create table parts (id int primary key, qty int); insert into parts values (1, 10), (2, 10); create table taken (n int);
       create schema svc; ${postgresMarkerDdl('svc.svc_execution_marker')};
       do $$ begin for n in 1..${index === 0 ? 500 : 2000} loop
         begin insert into taken values (n); raise exception 'no'; exception when others then null; end;
       end loop; end $$`,
    );
}, 240_000);
beforeEach(async () => {
  front = await startTcpProxy(clusters[0]!.url('postgres'));
  proxy = await startSwallowingProxy(Number(new URL(front.url).port));
  gateway = await startFakeGateway();
  const url = Object.assign(new URL(front.url), { port: String(proxy.port) }).href;
  agent = startTestAgent({ gateway, url, timings: { commitProbeMs: 3000 } });
  await gateway.nextPoll((body) => Number(body.limit) > 0);
});
afterEach(async () => {
  agent.stop();
  await agent.exit;
  await gateway.close();
  await proxy.close();
  await front.close();
});
afterAll(async () => {
  for (const one of clusters) await one.close();
});

const first = (sql: string) => askOwn(clusters[0]!.url, sql);
const second = (sql: string) => askOwn(clusters[1]!.url, sql);

it.each([
  ['required', 1],
  ['none', 2],
] as const)(
  'AP-37, AP-I5: a commit is not told as rolled back by another cluster, to which it may still be copied (marker %s)',
  async (marker, id) => {
    proxy.onClientData = (data) => {
      if (!data.includes('commit\0')) return 'pass';
      proxy.onClientData = null;
      proxy.up = false;
      return 'drop';
    };
    const job = gateway.offer({ operation: 'execute_dml', detail: `update parts set qty = 11 where id = ${id}`, marker });
    const [committed] = await eventually(async () => {
      const rows = proxy.up ? [] : await first(`select xmin::text from parts where id = ${id} and qty = 11`);
      return rows.length > 0 && rows;
    });
    expect(await second(`select pg_xact_status('${committed?.xmin}') as status`)).toEqual([{ status: 'aborted' }]);
    front.to(clusters[1]!.url('postgres'));
    proxy.up = true;
    expect(await job.result).toMatchObject({
      success: false,
      outcome: 'unknown',
      error_message: expect.stringContaining('commit outcome unknown: '),
    });
  },
  60_000,
);
