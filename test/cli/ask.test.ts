import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FakeApi } from '../support/fake-api.js';
import { type MigrateBench, startMigrateBench } from './migrate-bench.js';
import { login, runSvc } from './run-svc.js';
import { created, envelope, paths, runsAtOnce } from './samples.js';

let bench: MigrateBench;
let api: FakeApi;
beforeEach(async () => {
  bench = await startMigrateBench();
  api = bench.api;
  bench.threeFiles();
});
afterEach(() => api.close());

describe('--ask (HD-26)', () => {
  it('asks for the approval steps, of SQL and of migrations; nothing is sent of it otherwise', async () => {
    api.on(paths.create, { status: 201, body: created('pending') });
    const execute = (...argv: string[]) =>
      runSvc(['execute', 'select 1', '-e', 'staging', ...argv], { environment: login(api.url) });
    await execute('--ask');
    await execute();
    await bench.svc(['up', '--yes', '--ask']);
    expect(api.bodies(paths.create).map((body) => body.require_approval)).toEqual([true, undefined, true]);
  });

  it('excludes --emergency, before anything is sent', async () => {
    for (const argv of [
      ['execute', 'select 1', '--ask', '--emergency', '--reason', 'now'],
      ['migrate', 'up', '--ask', '--emergency', '--reason', 'now', '--yes'],
    ]) {
      const { code, stderr } = await runSvc(argv, { environment: login(api.url), directory: bench.directory });
      expect([code, stderr]).toEqual([2, expect.stringContaining('--ask and --emergency exclude each other')]);
    }
    expect(api.calls).toEqual([]);
  });
});

describe('svc migrate up tells what the review finds before it asks (HD-95)', () => {
  const finding = {
    code: 'drop_table',
    action: 'warn',
    message: 'DROP TABLE removes the table and its rows',
    statement_index: 1,
    version: '2',
  };

  it('one line each, with the place', async () => {
    api.on('POST /api/preflight', { body: { status: 'warning', review: { findings: [finding] } } });
    runsAtOnce(api, envelope('{"applied":["1"]}'));
    const { stderr } = await bench.svc(['up'], { terminal: true, stdin: 'n\n' });
    expect(stderr).toMatch(/drop_table {2}2, statement 2: DROP TABLE removes the table and its rows[\s\S]*Apply them\?/);
    const [asked] = api.bodies('POST /api/preflight');
    expect(asked).toMatchObject({ database: 'app', operation: 'migrate_up', include_explain: false });
    expect(JSON.parse(String(asked?.sql))).toMatchObject({ direction: 'up', versions: ['1', '2', '3'] });
  });

  it('goes on without them where the server does not tell, and asks for none where nobody is asked', async () => {
    for (const status of [400, 403, 500]) {
      api.on('POST /api/preflight', { status, body: { error: 'no', code: 'auth.forbidden', hint: null } });
      expect((await bench.svc(['up'], { terminal: true, stdin: 'n\n' })).stderr).toContain('Apply them?');
    }
    const before = api.calls.length;
    runsAtOnce(api, envelope('{"applied":["1"]}'));
    expect((await bench.svc(['up', '--yes'])).code).toBe(0);
    expect(api.calls.slice(before).some(({ path }) => path === '/api/preflight')).toBe(false);
  });
});
