import mysql, { type Connection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../../support/api.js';
import { findMysql, type MysqlDatabase } from '../../support/mysql.js';
import { eventually } from '../../support/processes.js';
import { startTestAgent, type TestAgent } from '../../support/test-agent.js';

const toml = `
[[databases]]
name = "shop"
environments = ["staging"]
dialect = "mysql"

[[auth.groups]]
name = "dba-team"
roles = ["approver"]

[[workflows]]
operations = ["execute_select"]
auto_approve = { mode = "always" }

[[workflows]]
operations = ["execute_dml"]
[[workflows.steps]]
[[workflows.steps.approvers]]
group = "dba-team"
`;

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('a pair of dialect mysql behind a real gateway', () => {
  let api: TestApi;
  let target: MysqlDatabase;
  let root: Connection;
  let agent: TestAgent;
  let dana: string;
  let erin: string;
  beforeAll(async () => {
    [api, target] = await Promise.all([startTestApi({ toml }), server!.createDatabase()]);
    root = await mysql.createConnection({ uri: target.adminUrl, multipleStatements: true });
    await root.query('create table parts (id int primary key, qty bigint); insert into parts values (1, 9007199254740993)');
    dana = await api.createUser('dana', { roles: ['requester'] });
    erin = await api.createUser('erin', { groups: ['dba-team'] });
    const tables = `read_url = "${target.readUrl}"`;
    agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: target.url, tables });
    await eventually(async () => (await api.services.database.query('select 1 from agents')).length === 1);
  });
  afterAll(async () => {
    agent?.stop();
    await agent?.exit;
    await api?.close();
    await root?.end();
    await target?.drop();
  });

  const create = (body: object) =>
    api.call('POST', '/api/requests', { token: dana, body: { database: 'shop', environment: 'staging', ...body } });
  const ended = async (id: string) => {
    const read = async () => (await api.call('GET', `/api/requests/${id}`, { token: dana })).body.status;
    await expect.poll(read, { timeout: 10_000 }).toMatch(/executed|failed/);
    return await api.call('GET', `/api/requests/${id}/result/content`, { token: dana });
  };

  it('C6: a read is run and its digits arrive', async () => {
    const created = await create({ detail: 'select `qty` from parts where id = 1' });
    expect(created.body.status).toBe('dispatched');
    expect((await ended(created.body.id)).text).toContain('9007199254740993');
  });

  it('AP-34: a write waits for its approval, then runs once with a marker', async () => {
    const created = await create({ detail: 'update parts set qty = 5 where id = 1', operation: 'execute_dml' });
    const { id } = created.body;
    expect(created.body.status).toBe('pending');
    expect((await api.call('POST', `/api/requests/${id}/approve`, { token: erin, body: {} })).status).toBe(200);
    expect((await api.call('POST', `/api/requests/${id}/resume`, { token: dana })).status).toBe(200);
    await ended(id);
    expect((await api.call('GET', `/api/requests/${id}`, { token: dana })).body).toMatchObject({ status: 'executed' });
    expect((await root.query('select qty from parts'))[0]).toEqual([{ qty: 5 }]);
    const markers = 'select state, rows_affected as n from svc_execution_marker where request_id = ?';
    expect((await root.query(markers, [id]))[0]).toEqual([{ state: 'done', n: 1 }]);
  });

  it('AP-60: preflight has the plan of a read and of a write', async () => {
    const asked = (sql: string) =>
      api.call('POST', '/api/preflight', { token: dana, body: { database: 'shop', environment: 'staging', sql } });
    expect((await asked('select * from parts where id = 1')).body.impact).toMatchObject({ status: 'completed' });
    expect((await asked('update parts set qty = 1 where id = 1')).body.impact).toMatchObject({ status: 'completed' });
    expect((await asked('select * from nowhere')).body.impact).toEqual({ status: 'error' });
    expect((await root.query('select qty from parts'))[0]).toEqual([{ qty: 5 }]);
  });
});
