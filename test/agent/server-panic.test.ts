import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { bundleOf } from '../support/migration-bench.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

/** What the proxy does with the next message that contains these words: its server gets it or not, and the client reads a PANIC. */
let panic: { at: string; reaches: boolean } | null = null;

const answer = Buffer.from('SPANIC\0VPANIC\0C53100\0Mcould not write to file "pg_wal/xlogtemp.7": No space left on device\0\0');
const panicMessage = Buffer.concat([Buffer.from([0x45, 0, 0, 0, 4 + answer.length]), answer]);

let database: TestDatabase;
let target: pg.Client;
let proxy: Server;
let gateway: FakeGateway;
let agent: TestAgent;

beforeAll(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
  proxy = createServer((client) => carry(client, Number(new URL(database.url).port)));
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  const url = Object.assign(new URL(database.url), { hostname: '127.0.0.1', port: String(port) }).href;
  gateway = await startFakeGateway();
  agent = startTestAgent({ gateway, url, head: 'operations = ["execute_dml", "migrate_up"]' });
  await gateway.nextPoll();
});
beforeEach(() => target.query('drop table if exists parts; create table parts (id int)'));
afterAll(async () => {
  agent.stop();
  await agent.exit;
  await gateway.close();
  proxy.close();
  await target.end();
  await database.drop();
});

function carry(client: Socket, port: number): void {
  const server = connect(port, '127.0.0.1');
  let dying = false;
  for (const socket of [client, server]) socket.on('error', () => {});
  client.on('data', (data: Buffer) => {
    if (panic === null || !data.includes(panic.at)) return server.write(Uint8Array.from(data));
    dying = true;
    const { reaches } = panic;
    panic = null;
    if (reaches) server.write(Uint8Array.from(data));
    else client.end(panicMessage);
  });
  server.on('data', (data: Buffer) => {
    if (dying) client.end(panicMessage);
    else client.write(Uint8Array.from(data));
  });
  client.on('close', () => server.destroy());
  server.on('close', () => client.destroy());
}

const markers = async (requestId: string) =>
  (await target.query('select mode, state from svc.svc_execution_marker where request_id = $1', [requestId])).rows;

describe('a server that panics', () => {
  it.each([
    { reaches: true, ends: { success: true, outcome: 'committed' }, rows: 1 },
    { reaches: false, ends: { success: false, outcome: 'rolled_back' }, rows: 0 },
  ])('AP-37: at COMMIT, is asked afterwards how it ended (it got COMMIT: $reaches)', async ({ reaches, ends, rows }) => {
    panic = { at: 'commit\0', reaches };
    const result = await gateway.offer({ operation: 'execute_dml', detail: 'insert into parts values (1)' }).result;
    expect(result).toMatchObject({ ...ends, ...(reaches ? {} : { error_message: expect.stringContaining('SQLSTATE 53100') }) });
    expect((await target.query('select count(*)::int as rows from parts')).rows).toEqual([{ rows }]);
  });

  it('AP-33: during a statement outside a transaction, makes its outcome unknown and keeps the marker row', async () => {
    panic = { at: 'vacuum parts', reaches: true };
    const job = gateway.offer({ operation: 'execute_dml', detail: 'vacuum parts' });
    expect(await job.result).toMatchObject({
      success: false,
      outcome: 'unknown',
      error_message: expect.stringMatching(/^commit outcome unknown: .*SQLSTATE 53100/),
    });
    expect(await markers(job.requestId)).toEqual([{ mode: 'auto', state: 'open' }]);
  });

  it('MI-38: during a migration without a transaction, makes its outcome unknown and keeps the marker row', async () => {
    panic = { at: 'create index concurrently', reaches: true };
    const up = 'create index concurrently parts_id on parts (id)';
    const job = gateway.offer({
      operation: 'migrate_up',
      detail: bundleOf('up', [{ version: 'v1', up, transactional: false }]),
    });
    expect(await job.result).toMatchObject({
      success: false,
      outcome: 'unknown',
      error_message: expect.stringMatching(/^migration v1 may be half applied; .*SQLSTATE 53100/),
    });
    expect(await markers(job.requestId)).toEqual([{ mode: 'auto', state: 'open' }]);
  });
});
