import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { untilActive } from '../support/active-statement.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import type { JobInput } from '../support/fake-job.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { type SwallowingProxy, startSwallowingProxy } from '../support/swallowing-proxy.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

const role = { username: `texts_${Date.now()}`, password: 'pass-word-in-address' };

let database: TestDatabase;
let target: pg.Client;
let proxy: SwallowingProxy;
let url: string;
let gateway: FakeGateway;
let agent: TestAgent;

beforeAll(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
  await target.query(`create table parts (id int primary key, name text not null); create table hidden (a int)`);
  await target.query(`create role ${role.username} login password '${role.password}'; grant all on parts to ${role.username}`);
  await target.query(`grant create, usage on schema public to ${role.username}`);
  proxy = await startSwallowingProxy(Number(new URL(database.url).port));
  url = Object.assign(new URL(database.url), { ...role, host: `127.0.0.1:${proxy.port}` }).href;
});
beforeEach(async () => {
  gateway = await startFakeGateway();
  agent = startTestAgent({ gateway, url, head: 'max_concurrent_tasks = 2', tables: 'pool_max = 1' });
});
afterEach(async () => {
  agent.stop();
  await agent.exit;
  await gateway.close();
  proxy.up = true;
});
afterAll(async () => {
  await proxy.close();
  // The server does not notice that the proxy is gone before its statement ends, and the role cannot go while it holds a lock.
  await target.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role.username]);
  await target.query(`drop owned by ${role.username}; drop role ${role.username}`);
  await target.end();
  await database.drop();
});

/** The error text of a job, which must not say how the database is reached. */
async function textOf(detail: string, input: Partial<JobInput> = {}): Promise<string> {
  const { success, error_message: text } = await gateway.offer({ detail, ...input }).result;
  expect(success).toBe(false);
  const { hostname, port } = new URL(url);
  for (const secret of [role.password, role.username, `${hostname}:${port}`, `:${port}`, 'postgres://'])
    expect(text).not.toContain(secret);
  return text as string;
}

const dml = { operation: 'execute_dml' };

describe('the error texts of section 11', () => {
  it.each([
    ['select * from nowhere', {}, 'driver error: query failed: relation "nowhere" does not exist (SQLSTATE 42P01, position 15)'],
    [
      'select nam from parts',
      {},
      'driver error: query failed: column "nam" does not exist (SQLSTATE 42703, position 8); hint: Perhaps you meant to reference the column "parts.name".',
    ],
    ['select * from hidden', {}, 'driver error: query failed: permission denied for table hidden (SQLSTATE 42501)'],
    ['select 1 / 0', {}, 'driver error: query failed: division by zero (SQLSTATE 22012)'],
    [
      `insert into parts (id) values (1)`,
      dml,
      'driver error: query failed: null value in column "name" of relation "parts" violates not-null constraint (SQLSTATE 23502)',
    ],
  ])('%s: the message, SQLSTATE, position and hint of the server', async (detail, input, text) => {
    expect(await textOf(detail, input)).toBe(text);
  });

  it('a timeout says how long the statement was allowed', async () => {
    const endless = 'select count(*) from generate_series(1, 10000000000)';
    expect(await textOf(endless, { statementTimeoutSecs: 1 })).toBe('driver error: query timed out after 1s');
    expect(await textOf('select pg_sleep(30)', { ...dml, statementTimeoutSecs: 1 })).toBe(
      'driver error: query timed out after 1s',
    );
  });

  it('a cancel', async () => {
    const job = gateway.offer({ ...dml, detail: 'select pg_sleep(40)' });
    await untilActive(target, 'pg_sleep(40)');
    job.heartbeat = { status: 200, cancelled: true };
    expect(await job.result).toMatchObject({ error_message: 'driver error: query cancelled', cancelled: true });
  });

  it('a connection that cannot be made, one that breaks, and credentials that are refused', async () => {
    const broken = gateway.offer({ ...dml, detail: 'select pg_sleep(50)' });
    await untilActive(target, 'pg_sleep(50)');
    proxy.up = false;
    proxy.cut();
    expect((await broken.result).error_message).toMatch(/^driver error: connection failed: /);
    expect(await textOf('select 1')).toMatch(/^driver error: connection failed: ECONNRESET, connection reset$|^config error: /);
    proxy.up = true;
    await gateway.nextPoll((body) => JSON.stringify(body).includes('"shop"'));
    await target.query(`alter role ${role.username} password 'changed'`);
    proxy.cut();
    const refused = 'driver error: authentication failed: SQLSTATE 28P01, the user or the password is wrong';
    expect(await textOf('select 1')).toBe(refused);
    await target.query(`alter role ${role.username} password '${role.password}'`);
  });

  it('what the agent does not do: operations, scopes and texts', async () => {
    expect(await textOf('', { operation: 'vanish' })).toBe('unsupported operation: vanish');
    expect(await textOf('', { operation: 'migrate_repair' })).toBe('unsupported operation: migrate_repair');
    expect(await textOf('select 1', { database: 'other' })).toBe('config error: no pool for database=other environment=staging');
    for (const detail of ['insert into parts values (1)', 'select 1; commit', '', '-- nothing'])
      expect(await textOf(detail)).toMatch(/^refused: ./);
    expect(await textOf('commit', dml)).toMatch(/^refused: ./);
  });
});

describe('a token outside its life (ET-33, ET-40)', () => {
  const ago = (secs: number) => ({ issuedAt: new Date(Date.now() - secs * 1000) });

  it('is refused when it has ended, or begins later than clocks may differ', async () => {
    const insert = `insert into parts values (7, 'x')`;
    expect(await textOf(insert, { ...dml, ...ago(331) })).toBe('token verification failed: token expired');
    expect(await textOf(insert, { ...dml, ...ago(-40) })).toBe('token verification failed: token not yet valid');
    expect((await target.query('select * from parts')).rows).toEqual([]);
    expect((await gateway.offer({ detail: 'select 1', ...ago(320) }).result).success).toBe(true);
  });

  it('is refused when it ended while the job waited for a connection', async () => {
    const long = gateway.offer({ ...dml, detail: 'select pg_sleep(4)' });
    await untilActive(target, 'pg_sleep(4)');
    const waiting = textOf(`insert into parts values (8, 'x')`, { ...dml, ...ago(328) });
    expect(await waiting).toBe('the token or the lease of the run ended before it could start');
    expect(await long.result).toMatchObject({ success: true });
    expect((await target.query('select * from parts')).rows).toEqual([]);
  });
});
