import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';

let api: TestApi;
let admin: pg.Client;
beforeAll(async () => {
  api = await startTestApi();
  admin = new pg.Client({ connectionString: api.database.adminUrl, options: '-c default_transaction_read_only=off' });
  await admin.connect();
});
afterAll(async () => {
  await admin?.end();
  await api?.close();
});

const create = (id: string) => api.call('POST', '/api/users', { token: api.tokens.admin, body: { id } });
const me = () => api.call('GET', '/api/me', { token: api.tokens.admin });
const databaseCheck = async () => {
  const { status, body } = await api.call('GET', '/ready');
  return [status, body.checks.database];
};
const lineOf = ({ headers }: { headers: Headers }, msg: string) =>
  api.logged.map((line) => JSON.parse(line)).find((line) => line.call_id === headers.get('x-request-id') && line.msg === msg);

/** As a server that was set read-only under its open sessions. */
async function makeSessionsReadOnly(): Promise<void> {
  const { pool } = api.services.database;
  const clients = await Promise.all(Array.from({ length: 10 }, () => pool.connect()));
  for (const client of clients) {
    await client.query('set default_transaction_read_only = on');
    client.release();
  }
}

const endSessions = () =>
  admin.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );

async function setReadOnly(isOn: boolean): Promise<void> {
  const name = new URL(api.database.url).pathname.slice(1);
  await admin.query(
    `alter database ${name} ${isOn ? 'set default_transaction_read_only = on' : 'reset default_transaction_read_only'}`,
  );
  await endSessions();
}

describe('our own Postgres that can only be read (HT-112, OP-10)', () => {
  it('under open sessions: /ready says so, a write is 503 and no bug, and what it would have written is not stored', async () => {
    await makeSessionsReadOnly();
    await expect.poll(databaseCheck, { timeout: 10_000 }).toEqual([503, 'unavailable']);
    const refused = await create('unstored');
    expect([refused.status, refused.body.code]).toEqual([503, 'service.unavailable']);
    expect(lineOf(refused, 'call')).toMatchObject({ outage: 'read_only' });
    expect(lineOf(refused, 'unexpected error')).toBeUndefined();
    await endSessions();
    await expect.poll(async () => (await me()).status, { timeout: 10_000 }).toBe(200);
    expect((await api.call('GET', '/api/users/unstored', { token: api.tokens.admin })).status).toBe(404);
  });

  it('for new sessions: it counts as away until it takes writes again, without a restart', async () => {
    await setReadOnly(true);
    await expect.poll(databaseCheck, { timeout: 10_000 }).toEqual([503, 'unavailable']);
    const [read, write] = await Promise.all([me(), create('early')]);
    expect([read.status, write.status]).toEqual([503, 503]);
    expect(lineOf(write, 'call')).toMatchObject({ outage: 'read_only' });
    await setReadOnly(false);
    await expect.poll(databaseCheck, { timeout: 10_000 }).toEqual([200, 'ok']);
    expect((await create('early')).status).toBe(201);
  });
});
