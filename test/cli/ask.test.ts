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
      expect([code, stderr]).toEqual([2, expect.stringContaining('--ask and --emergency cannot be used together')]);
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

  it('goes on without them where the server does not tell, and asks for none with --no-preflight or a key', async () => {
    for (const status of [400, 403, 500]) {
      api.on('POST /api/preflight', { status, body: { error: 'no', code: 'auth.forbidden', hint: null } });
      expect((await bench.svc(['up'], { terminal: true, stdin: 'n\n' })).stderr).toContain('Apply them?');
    }
    const before = api.calls.length;
    runsAtOnce(api, envelope('{"applied":["1"]}'));
    expect((await bench.svc(['up', '--yes', '--no-preflight'])).code).toBe(0);
    expect((await bench.svc(['up', '--yes', '--idempotency-key', 'k'])).code).toBe(0);
    expect((await bench.svc(['up', '--no-preflight'])).code).toBe(1);
    expect(api.calls.slice(before).some(({ path }) => path === '/api/preflight')).toBe(false);
  });
});

describe('svc migrate up tells what is applied (MI-45)', () => {
  const seen = (...applied: string[]) => ({
    body: { status: 'requestable', review: { findings: [] }, migrations: { seen_at: '2026-05-01T08:00:00.000Z', applied } },
  });

  it('folds the applied files, lists the others, and sends all of them', async () => {
    api.on('POST /api/preflight', seen('1', '2'));
    runsAtOnce(api, envelope('{"applied":["3"]}'));
    const { stderr, code } = await bench.svc(['up', '--no-color'], {
      terminal: true,
      stdin: 'y\n',
      now: () => Date.parse('2026-05-01T10:00:00Z'),
    });
    expect(code).toBe(0);
    expect(stderr).toContain(
      '3 migrations for app/development\n  2 from 1 to 2  applied, seen at 2026-05-01 08:00:00 UTC (2 h ago)\n  3  index  (without a transaction)\n',
    );
    expect(bench.sent().detail).toMatchObject({ versions: ['1', '2', '3'] });
  });

  it('ends without a request when every file is applied, and makes one with --no-preflight', async () => {
    api.on('POST /api/preflight', seen('1', '2', '3'));
    for (const words of [
      ['up', '--yes'],
      ['up', '--after', '1', '--yes'],
    ]) {
      const { code, stdout } = await bench.svc(words);
      expect([code, stdout]).toEqual([
        0,
        `Nothing to do: all ${words.length === 2 ? 3 : 2} migrations for app/development are applied, seen at 2026-05-01T08:00:00.000Z.\n`,
      ]);
    }
    const line = JSON.parse((await bench.svc(['up', '--yes', '--json'])).stdout);
    expect(line).toEqual({ ok: true, data: { nothing_to_do: true, seen_at: '2026-05-01T08:00:00.000Z', migrations: 3 } });
    expect(api.bodies(paths.create)).toEqual([]);
    runsAtOnce(api, envelope('{"applied":[]}'));
    expect((await bench.svc(['up', '--yes', '--no-preflight'])).code).toBe(0);
    expect(api.bodies(paths.create)).toHaveLength(1);
  });

  it.each([null, undefined, {}, { applied: 'all' }, { seen_at: null, applied: ['1', 2] }])(
    'makes the request where it is not known: %j',
    async (migrations) => {
      api.on('POST /api/preflight', { body: { ...seen().body, migrations } });
      runsAtOnce(api, envelope('{"applied":["1"]}'));
      expect((await bench.svc(['up', '--yes'])).code).toBe(0);
      expect(api.bodies(paths.create)).toHaveLength(1);
    },
  );

  it('reverts whatever is told, for only the agent knows what is there to revert', async () => {
    api.on('POST /api/preflight', seen('1', '2', '3'));
    runsAtOnce(api, envelope('{"reverted":["3"]}'));
    expect((await bench.svc(['down', '--yes'])).code).toBe(0);
    expect(api.bodies(paths.create)).toHaveLength(1);
  });
});
