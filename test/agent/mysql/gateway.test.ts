import mysql, { type Connection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../../support/api.js';
import { bundleOf, tableFiles } from '../../support/migration-bench.js';
import { findMysql, type MysqlDatabase } from '../../support/mysql.js';
import { eventually } from '../../support/processes.js';
import { startTestAgent, type TestAgent } from '../../support/test-agent.js';
import { databaseToml, dbaTeamToml, passesToml, workflowToml } from '../../support/toml.js';

const toml = [
  databaseToml('shop', ['staging', 'development'], 'mysql'),
  dbaTeamToml,
  passesToml(undefined, 'operations = ["execute_select", "migrate_up", "migrate_status"]'),
  workflowToml({ more: 'operations = ["execute_dml"]', steps: [[{ group: 'dba-team' }]] }),
].join('');

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
    await root.query(
      'create table parts (id int primary key, qty bigint); insert into parts values (1, 9007199254740993), (2, 10)',
    );
    dana = await api.createUser('dana', { roles: ['requester'] });
    erin = await api.createUser('erin', { groups: ['dba-team'] });
    const nowhere = Object.assign(new URL(target.url), { pathname: '/' }).href;
    const tables = `read_url = "${target.readUrl}"\n[databases.shop.development]\nurl = "${nowhere}"`;
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

  it('AP-61, AP-64: the schema of the target is read through the gateway, or why there is none', async () => {
    const schema = () => api.call('GET', '/api/schemas/shop?environment=staging&table=parts', { token: dana });
    await expect.poll(async () => (await schema()).body.status).toBe('ready');
    expect((await schema()).body).toMatchObject({ dialect: 'mysql', error_message: null });
    expect((await schema()).body.table).toMatchObject({
      name: 'parts',
      schema_name: target.name,
      columns: [{ name: 'id', is_primary_key: true }, { name: 'qty' }],
      constraints: [{ name: 'PRIMARY', constraint_type: 'primary_key', columns: ['id'] }],
      indexes: [{ name: 'PRIMARY', columns: ['id'], is_unique: true, index_type: 'btree' }],
    });
    const failed = `select last_error from schema_snapshots where environment = 'development' and last_status = 'failed'`;
    await expect
      .poll(() => api.services.database.query(failed))
      .toEqual([{ last_error: 'config error: the url names no database' }]);
  });

  it('AP-34: a write waits for its approval, then runs once with a marker', async () => {
    const created = await create({ detail: 'update parts set qty = 5 where id = 2', operation: 'execute_dml' });
    const { id } = created.body;
    expect(created.body.status).toBe('pending');
    expect((await api.call('POST', `/api/requests/${id}/approve`, { token: erin, body: {} })).status).toBe(200);
    expect((await api.call('POST', `/api/requests/${id}/resume`, { token: dana })).status).toBe(200);
    await ended(id);
    expect((await api.call('GET', `/api/requests/${id}`, { token: dana })).body).toMatchObject({ status: 'executed' });
    expect((await root.query('select qty from parts where id = 2'))[0]).toEqual([{ qty: 5 }]);
    const markers = 'select state, rows_affected as n from svc_execution_marker where request_id = ?';
    expect((await root.query(markers, [id]))[0]).toEqual([{ state: 'done', n: 1 }]);
  });

  it('MI-39, MI-40: a migration is applied, listed, and seen in the schema; one that fails half-way says what stays', async () => {
    const files = [...tableFiles(1), { version: 'v2', up: 'create table half (id int); alter table nowhere add b int' }];
    const result = async (operation: string, detail: string) => {
      const created = await create({ operation, detail });
      expect(created.body).toMatchObject({ status: 'dispatched' });
      return JSON.parse((await ended(created.body.id)).text);
    };
    expect(await result('migrate_up', bundleOf('up', files, 1))).toMatchObject({ result_data: { applied: ['v1'] } });
    const { success, error_message: told } = await result('migrate_up', bundleOf('up', files));
    expect([success, told]).toEqual([
      false,
      expect.stringMatching(/^version v2: .*; statement 2 of 2 failed; the first 1 are applied and stay$/),
    ]);
    expect(await result('migrate_status', '')).toMatchObject({ result_data: { applied_versions: ['v1'] } });
    const schema = () => api.call('GET', '/api/schemas/shop?environment=staging&table=half', { token: dana });
    await expect.poll(async () => (await schema()).status).toBe(200);
  });

  it('AP-60: preflight has the plan of a read, and of a write where the reader may write (HD-3)', async () => {
    const asked = (sql: string) =>
      api.call('POST', '/api/preflight', { token: dana, body: { database: 'shop', environment: 'staging', sql } });
    expect((await asked('select * from parts where id = 1')).body.impact).toMatchObject({ status: 'completed' });
    const write = 'update parts set qty = 1 where id = 1';
    expect((await asked(write)).body.impact).toMatchObject({ status: 'error', unknown_name: false });
    await root.query(`grant update on parts to '${new URL(target.readUrl).username}'@'%'`);
    expect((await asked(write)).body.impact).toMatchObject({ status: 'completed' });
    expect((await asked('select * from nowhere')).body.impact).toMatchObject({ status: 'error', unknown_name: true });
    expect((await root.query('select 1 from parts where id = 1 and qty = 9007199254740993'))[0]).toHaveLength(1);
  });
});
