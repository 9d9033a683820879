import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { temporaryFolder } from '../support/processes.js';
import { table } from '../support/snapshots.js';
import { login, runSvc } from './run-svc.js';

let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
});
afterEach(() => api.close());

const path = 'GET /api/schemas/app';
const svc = (...argv: string[]) => runSvc(['schema', ...argv], { environment: login(api.url) });
const head = {
  database: 'app',
  environment: 'production',
  dialect: 'postgresql',
  status: 'ready',
  error_message: null,
  collected_at: '2026-05-01T08:00:00.000Z',
};
const sizes = (name: string, rows: number, schema = 'public') => ({
  name,
  schema_name: schema,
  estimated_rows: rows,
  column_count: 5,
  constraint_count: 2,
  index_count: 3,
});
const orders = table('orders', {
  constraints: [
    ...table('orders').constraints,
    {
      name: 'orders_buyer_fk',
      constraint_type: 'foreign_key',
      columns: ['buyer_id'],
      on_delete: 'SET_NULL',
      referenced_schema: 'public',
      referenced_table: 'buyers',
      referenced_columns: ['id'],
    },
  ],
  columns: [
    ...table('orders').columns,
    { name: 'state', data_type: 'text', nullable: true, default_value: "'new\u001b[31m'::text", is_primary_key: false },
  ],
});

describe('svc schema', () => {
  it('lists tables with their sizes; the server chooses the environment (SC-1, SC-3)', async () => {
    api.on(path, { body: { ...head, tables: [sizes('log', -1, 'audit'), sizes('users', 1234567)] } });
    const result = await svc();
    expect(result).toMatchObject({ code: 0 });
    expect(result.stdout).toBe(
      [
        'SCHEMA  TABLE  ROWS (ABOUT)  COLUMNS  CONSTRAINTS  INDEXES',
        '------  -----  ------------  -------  -----------  -------',
        'audit   log                        5            2        3',
        'public  users     1,234,567        5            2        3',
        '',
      ].join('\n'),
    );
    expect(result.stderr).toBe(
      'environment: chosen by the server; choose another with -e\napp/production, postgresql, 2 tables, seen at 2026-05-01T08:00:00.000Z\n',
    );
    expect([...api.calls[0]!.query.keys()]).toEqual([]);
  });

  it('says which environment it takes where -e names none, also when that fails', async () => {
    const directory = await temporaryFolder();
    writeFileSync(join(directory, 'svc.toml'), 'default_environment = "qa"\n');
    api.on(path, { status: 404, body: { error: 'database not found', code: 'database.not_found', hint: null } });
    const told = async (environment: object, ...argv: string[]) =>
      (await runSvc(['schema', ...argv], { directory, environment: { ...login(api.url), ...environment } })).stderr;
    expect(await told({})).toBe(
      `environment: qa, from ${join(directory, 'svc.toml')}: default_environment; choose another with -e\nerror: schema: database not found\nhint: svc databases lists those that you can see\n`,
    );
    expect(await told({ SVC_ENV: 'staging' })).toContain('environment: staging, from SVC_ENV; choose another with -e\n');
    expect(await told({}, '-e', 'production')).toBe(
      'error: schema: database not found\nhint: svc databases lists those that you can see\n',
    );
    expect(await told({}, '--format', 'quiet')).toBe('');
  });

  it('shows one table in full', async () => {
    api.on(path, { body: { ...head, table: orders } });
    const { stdout } = await svc('--table', 'public.orders', '-e', 'qa');
    expect(stdout).toBe(
      [
        'public.orders  about 1,200 rows',
        '  COLUMN  TYPE    NULL  DEFAULT                KEY',
        '  ------  ------  ----  ---------------------  -------',
        '  id      bigint  no                           primary',
        "  state   text    yes   'new\\u001b[31m'::text",
        '  Constraints',
        '    orders_pkey      primary key (id)',
        '    orders_buyer_fk  foreign key (buyer_id) to public.buyers (id), on delete set null',
        '  Indexes',
        '    orders_pkey  unique btree (id)',
        '',
      ].join('\n'),
    );
    expect(Object.fromEntries(api.calls[0]!.query)).toEqual({ environment: 'qa', table: 'public.orders' });
  });

  it('shows all tables in full with --full', async () => {
    api.on(path, { body: { ...head, tables: [orders, table('users')] } });
    const { stdout } = await svc('--full');
    expect(api.calls[0]!.query.get('summary')).toBe('false');
    expect(stdout.split('\n\n')).toHaveLength(2);
    expect(stdout).toContain('public.users');
  });

  it('warns that a later sync failed, in the line of json too (SC-2)', async () => {
    api.on(path, { body: { ...head, status: 'failed', error_message: 'connection failed', tables: [] } });
    const human = await svc();
    expect(human.stderr).toContain('the last sync failed (connection failed); this is the schema of 2026-05-01 08:00:00 UTC');
    const line = JSON.parse((await svc('--json')).stdout);
    expect(line).toMatchObject({ ok: true, data: { status: 'failed' }, warnings: [expect.stringContaining('last sync')] });
  });

  it('passes on what the server says of an unknown table or database', async () => {
    api.on(path, { status: 404, body: { error: 'table not found', code: 'table.not_found', hint: 'found in the schemas a, b' } });
    const result = await svc('--table', 'dup');
    expect(result.code).toBe(1);
    expect(result.stderr).toContain('table not found');
    expect(result.stderr).toContain('found in the schemas a, b');
  });
});
