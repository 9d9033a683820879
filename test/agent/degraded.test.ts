import { existsSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

let databases: TestDatabase[];
/** Proxies in front of `shop` and of `reports`. */
let shop: TcpProxy;
let reports: TcpProxy;
let gateway: FakeGateway;
let agent: TestAgent | undefined;

beforeAll(async () => {
  databases = await Promise.all([createEmptyDatabase(), createEmptyDatabase()]);
  [shop, reports] = (await Promise.all(databases.map(({ url }) => startTcpProxy(url)))) as [TcpProxy, TcpProxy];
});
beforeEach(async () => {
  gateway = await startFakeGateway();
});
afterEach(async () => {
  shop.heal();
  reports.heal();
  agent?.stop();
  await agent?.exit;
  await gateway.close();
});
afterAll(async () => {
  await Promise.all([shop.close(), reports.close()]);
  await Promise.all(databases.map((database) => database.drop()));
});

function start(head = '', httpConnectMs = 2000): TestAgent {
  const tables = `[databases.reports.staging]\nurl = "${reports.url}"`;
  agent = startTestAgent({ gateway, url: shop.url, tables, head, pollWaitMs: 300, timings: { httpConnectMs } });
  return agent;
}

const scopesOf = (poll: Record<string, unknown>) =>
  (poll.capabilities as { scopes: { database: string }[] }).scopes.map(({ database }) => database);
const untilScopes = (...names: string[]) => gateway.nextPoll((poll) => JSON.stringify(scopesOf(poll)) === JSON.stringify(names));
const isReady = (one: TestAgent) => existsSync(join(one.directory, 'svc-agent-ready'));
const read = (database: string) => gateway.offer({ detail: 'select 1', database });

describe('one database of several is away', () => {
  it('the polls leave it out and bring it back, the other is served all the while, and the agent stays ready (AP-15)', async () => {
    const one = start();
    await untilScopes('shop', 'reports');
    shop.cut();
    for (const _ of [1, 2]) {
      expect(await read('shop').result).toMatchObject({ success: false, outcome: 'not_started' });
      expect(await read('reports').result).toMatchObject({ success: true });
    }
    await untilScopes('reports');
    expect(isReady(one)).toBe(true);
    const late = await read('shop').result;
    expect(late).toMatchObject({
      outcome: 'not_started',
      error_message: 'config error: no pool for database=shop environment=staging',
    });
    for (const _ of [1, 2, 3]) expect(await read('reports').result).toMatchObject({ success: true });
    shop.heal();
    await untilScopes('shop', 'reports');
    expect(await read('shop').result).toMatchObject({ success: true });
    expect(one.lines.filter((line) => /database is (degraded|back)/.test(line))).toEqual([
      'warn database is degraded {"database":"shop/staging"}',
      'info database is back {"database":"shop/staging"}',
    ]);
  });

  it('is not degraded by one failure, nor by errors of statements, nor by two failures with a success between them (AP-15)', async () => {
    const one = start();
    await untilScopes('shop', 'reports');
    for (const _ of [1, 2]) {
      shop.cut();
      expect(await read('shop').result).toMatchObject({ success: false });
      shop.heal();
      expect(await read('shop').result).toMatchObject({ success: true });
      const broken = await gateway.offer({ detail: 'select * from "connection refused"' }).result;
      expect(broken).toMatchObject({ success: false, outcome: 'rolled_back' });
    }
    await untilScopes('shop', 'reports');
    expect(one.lines.join()).not.toContain('degraded');
  });

  it('is not degraded by a statement that fails with an error of a connection while its session goes on (AP-15)', async () => {
    const one = start();
    await untilScopes('shop', 'reports');
    const owner = new pg.Client({ connectionString: databases[0]!.adminUrl });
    await owner.connect();
    for (const code of ['08001', '08006', '08P01', '57P01']) {
      await owner.query(
        `create or replace function away() returns int language plpgsql as $$ begin raise sqlstate '${code}'; end $$`,
      );
      for (const operation of ['execute_select', 'execute_dml', 'execute_select', 'execute_dml']) {
        const detail = operation === 'execute_select' ? 'select away()' : 'select away() for update';
        expect(await gateway.offer({ detail, operation }).result).toMatchObject({ success: false, outcome: 'rolled_back' });
      }
    }
    await owner.end();
    expect(await read('shop').result).toMatchObject({ success: true });
    expect(one.lines.join()).not.toContain('degraded');
  });

  it('is not degraded by a text that has the server end idle sessions at once (SQ-51)', async () => {
    const one = start();
    await untilScopes('shop', 'reports');
    const rows = "select repeat('x', 10000) from generate_series(1, 1000)";
    for (const _ of [1, 2, 3, 4]) {
      const result = await gateway.offer({ detail: `set idle_in_transaction_session_timeout = 1; ${rows}` }).result;
      expect(result).toMatchObject({ success: false, outcome: 'not_started' });
      expect(result.error_message).toMatch(/^refused: session state: idle_in_transaction_session_timeout must be/);
    }
    expect(one.lines.join()).not.toContain('degraded');
  });

  it('jobs of a database that hangs delay none of another one (AP-I9)', async () => {
    start('max_concurrent_tasks = 4', 60_000);
    await untilScopes('shop', 'reports');
    let hanging = 3;
    shop.freeze();
    const stuck = [1, 2, 3].map(() => read('shop'));
    for (const job of stuck) void job.result.then(() => hanging--);
    await Promise.all(stuck.map((job) => job.claimed));
    for (const _ of [1, 2, 3, 4, 5]) {
      expect(await read('reports').result).toMatchObject({ success: true });
      expect(hanging).toBe(3);
    }
    shop.heal();
    for (const job of stuck) expect((await job.result).outcome).toMatch(/not_started|rolled_back|committed/);
  });

  it('all away: the agent is not ready, asks for no jobs of theirs, and recovers by itself', async () => {
    const one = start();
    await untilScopes('shop', 'reports');
    shop.cut();
    reports.cut();
    for (const database of ['shop', 'reports', 'shop', 'reports']) await read(database).result;
    await untilScopes();
    await eventually(() => !isReady(one));
    reports.heal();
    await untilScopes('reports');
    await eventually(() => isReady(one));
    shop.heal();
    await untilScopes('shop', 'reports');
    for (const database of ['shop', 'reports']) expect(await read(database).result).toMatchObject({ success: true });
  });
});

describe('a database that is away at the start (AP-04, AP-06)', () => {
  it('keeps the agent from starting only until the deadline; then the other is served, and it joins when it is back', async () => {
    shop.cut();
    const one = start('startup_max_wait_secs = 1');
    await untilScopes('reports');
    await eventually(() => isReady(one));
    expect(await read('reports').result).toMatchObject({ success: true });
    const failures = one.lines.filter((line) => line.includes('start: database shop/staging failed'));
    expect(failures, 'the first three, and a summary every 30 s').toHaveLength(3);
    shop.heal();
    await untilScopes('shop', 'reports');
    expect(await read('shop').result).toMatchObject({ success: true });
  });

  it('refused credentials of one end the start at once, though the other is there (AP-05)', async () => {
    const wrong = Object.assign(new URL(databases[0]!.url), { username: 'nobody', password: 'wrong' }).href;
    const tables = `[databases.reports.staging]\nurl = "${reports.url}"`;
    agent = startTestAgent({ gateway, url: wrong, tables });
    expect(await agent.exit).toBe(1);
    expect(agent.lines.at(-1)).toBe(
      'error database shop/staging: authentication failed: SQLSTATE 28P01, the user or the password is wrong {}',
    );
    agent = undefined;
  });

  it('credentials that are refused later only degrade it (AP-15)', async () => {
    const { adminUrl } = databases[0]!;
    const admin = new pg.Client({ connectionString: adminUrl });
    await admin.connect();
    await admin.query(`create role changing login password 'one'`);
    const url = Object.assign(new URL(shop.url), { username: 'changing', password: 'one' }).href;
    agent = startTestAgent({ gateway, url, tables: `[databases.reports.staging]\nurl = "${reports.url}"`, pollWaitMs: 300 });
    await untilScopes('shop', 'reports');
    await admin.query(`alter role changing password 'two'`);
    shop.heal();
    for (const _ of [1, 2]) {
      const { error_message: text } = await read('shop').result;
      expect(text).toBe('driver error: authentication failed: SQLSTATE 28P01, the user or the password is wrong');
    }
    await untilScopes('reports');
    expect(await read('reports').result).toMatchObject({ success: true });
    await admin.query(`alter role changing password 'one'`);
    await untilScopes('shop', 'reports');
    agent.stop();
    await agent.exit;
    await admin.query('drop role changing');
    await admin.end();
  });
});
