import { afterAll, beforeAll, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc } from './run-svc.js';
import { paths, requestId, shown } from './samples.js';

let api: FakeApi;
beforeAll(async () => {
  api = await startFakeApi();
});
afterAll(() => api.close());

const svc = (...argv: string[]) => runSvc(argv, { environment: login(api.url) });
const bundle = (direction: string, more: object = {}) =>
  JSON.stringify({
    format: 'v2',
    direction,
    versions: ['1', '2'],
    dir_sha256: 'abc',
    migrations: [
      { version: '1', sql: 'create table t (\n  id int\n);', transactional: true },
      { version: '2', sql: 'create index concurrently i on t (id);', transactional: false },
    ],
    ...more,
  });

async function shownAs(operation: string, detail: string, more: object = {}, argv: string[] = []): Promise<string> {
  api.on(paths.show, shown('pending', { operation, detail, ...more })).on(paths.executions, { body: { executions: [] } });
  const { code, stdout } = await svc('request', 'show', requestId, ...argv);
  expect(code).toBe(0);
  return stdout;
}

it('shows an approver each migration with its SQL, not the JSON around it (CL-31)', async () => {
  expect(await shownAs('migrate_up', bundle('up', { max_count: 1 }))).toContain(
    'Migrations\n  applies the pending ones of 2 files, at most 1\n  directory hash abc\n\n' +
      '  1\n    create table t (\n      id int\n    );\n\n  2  (without a transaction)\n    create index concurrently i on t (id);\n\n',
  );
  expect(await shownAs('migrate_down', bundle('down', { max_count: 3 }))).toContain('reverts the 3 latest applied of 2 files\n');
});

it('folds the migrations that are applied, and says what shows them (CL-31, MI-45)', async () => {
  const migrations = { seen_at: '2026-05-01T08:00:00.000Z', applied: ['1'] };
  const folded = await shownAs('migrate_up', bundle('up'), { migrations });
  expect(folded).toContain(
    `  directory hash abc\n  1  applied, seen at 2026-05-01T08:00:00.000Z; svc request show ${requestId} --full shows their SQL\n\n  2  (without`,
  );
  expect(folded).not.toContain('create table');
  expect(await shownAs('migrate_up', bundle('up'), { migrations }, ['--full'])).toContain('  1\n    create table t (\n');
  for (const other of [null, undefined, {}, 5, { seen_at: null, applied: [1] }])
    expect(await shownAs('migrate_up', bundle('up'), { migrations: other })).toContain('create table t');
});

it('folds them before an approval too', async () => {
  api.on(
    paths.show,
    shown('pending', { operation: 'migrate_up', detail: bundle('up'), migrations: { seen_at: 'x', applied: ['1', '2'] } }),
  );
  api.on(`POST /api/requests/${requestId}/approve`, {
    body: { status: 'approved', step_completed: 1, total_steps: 1, matched_selector: 'user:bob' },
  });
  const { stderr } = await svc('request', 'approve', requestId);
  expect(stderr).toContain(`2 from 1 to 2  applied, seen at x; svc request show ${requestId} --full`);
  expect(stderr).not.toContain('create');
});

it('shows what a repair would do, and nothing for a status (CL-31)', async () => {
  const repair = JSON.stringify({ action: 'mark_applied', version: '7' });
  expect(await shownAs('migrate_repair', repair)).toContain('Migrations\n  mark applied 7\n');
  expect(await shownAs('migrate_status', '')).not.toContain('Migrations');
});

it('shows a detail of another shape as it is, with nothing in it that steers the terminal (CL-13)', async () => {
  expect(await shownAs('migrate_up', '[5]')).toContain('SQL\n  [5]\n');
  const sql = JSON.stringify({ direction: 'up', migrations: [{ version: '\u001b[2J', sql: 'select \u001b[2J' }] });
  expect(await shownAs('migrate_up', sql)).not.toContain('\u001b');
});

it('names the versions in lists', async () => {
  const item = (operation: string, detail: string) => ({ ...shown('pending').body, operation, detail, next_approvers: [] });
  const requests = [
    item('migrate_up', bundle('up')),
    item('migrate_status', ''),
    item('migrate_down', bundle('down', { migrations: [{ version: '1' }, { version: '2' }, { version: '3' }] })),
  ];
  api.on(paths.list, { body: { requests, total: 3 } });
  const { stdout } = await svc('request', 'list');
  for (const text of ['up: 1, 2\n', 'which versions are applied\n', 'down: 3 files to 3\n']) expect(stdout).toContain(text);
});
