import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FakeApi } from '../support/fake-api.js';
import { type MigrateBench, startMigrateBench } from './migrate-bench.js';

let bench: MigrateBench;
let api: FakeApi;
beforeEach(async () => {
  bench = await startMigrateBench();
  api = bench.api;
  bench.threeFiles();
});
afterEach(() => api.close());

const route = 'POST /api/preflight';
const finding = (version: string, more: object = {}) => ({
  code: 'drop_table',
  action: 'warn',
  message: 'DROP TABLE removes the table and its rows',
  statement_index: 0,
  version,
  line: 1,
  ...more,
});
const clean = { body: { status: 'requestable', classification: {}, review: { findings: [], blocked: false }, fix_hints: [] } };
const answers = (...findings: object[]) => ({ body: { ...clean.body, status: 'warning', review: { findings } } });
const refused = (place: string, message = 'syntax error at or near "CRATE"') => ({
  body: {
    status: 'blocked',
    review: { findings: [{ code: 'parse_failure', action: 'block', message, statement_index: 0 }] },
    fix_hints: [message, place],
  },
});
const versionsOf = (body: Record<string, unknown>) => JSON.parse(String(body.sql)).versions;

describe('svc migrate lint (MI-53)', () => {
  it('asks for both directions, makes no request, and names file and line; warnings are exit 0', async () => {
    bench.write('4_late.sql', '-- by me\n-- migrate:up\n\n\nSELECT 1;\n\nDROP TABLE users;\n-- migrate:down\nSELECT 1\n');
    api.on(route, answers(finding('4', { line: 3 })), answers(finding('1')));
    const { code, stdout, stderr } = await bench.svc(['lint']);
    expect([code, stdout, stderr]).toEqual([
      0,
      'migrations/1_users.sql:4: warn drop_table: DROP TABLE removes the table and its rows\n' +
        'migrations/4_late.sql:7: warn drop_table: DROP TABLE removes the table and its rows\n',
      '4 files, 2 findings\n',
    ]);
    expect(api.calls.map(({ method, path }) => `${method} ${path}`)).toEqual([route, route]);
    const asked = api.bodies(route);
    expect(asked.map(({ operation }) => operation)).toEqual(['migrate_up', 'migrate_down']);
    expect(asked.map(versionsOf)).toEqual([
      ['1', '2', '3', '4'],
      ['1', '3', '4'],
    ]);
    expect(asked[0]).toMatchObject({ database: 'app', environment: 'development', include_explain: false });
  });

  it('is exit 1 for what blocks, and with --strict for any finding, in every format', async () => {
    api.on(route, answers(finding('1')), clean);
    expect(await bench.svc(['lint', '--strict'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/\d files?, \d findings?, and --strict allows none\n/),
    });
    api.on(route, answers(finding('1', { action: 'block' })), clean);
    const { code, stdout } = await bench.svc(['lint', '--json']);
    expect([code, JSON.parse(stdout)]).toMatchObject([
      1,
      {
        ok: false,
        data: {
          files: 3,
          blocked: true,
          findings: [{ file: 'migrations/1_users.sql', line: 2, direction: 'up', action: 'block' }],
        },
        error: { code: 'blocked' },
      },
    ]);
    for (const format of ['human', 'quiet', 'github', 'sarif']) {
      api.on(route, answers(finding('1', { action: 'block' })), clean);
      expect((await bench.svc(['lint', '--format', format])).code, format).toBe(1);
    }
    api.on(route, clean);
    expect((await bench.svc(['lint', '--strict', '--after', '1', '--direction', 'down'])).code).toBe(0);
    expect(versionsOf(api.bodies(route).at(-1)!)).toEqual(['3']);
  });

  it('finds every file that does not parse, and looks at the others', async () => {
    api.on(
      route,
      refused('migrations[1].sql'),
      refused('migrations[0].sql', 'transaction control: COMMIT'),
      answers(finding('3')),
      clean,
    );
    const { code, stdout } = await bench.svc(['lint']);
    expect([code, stdout]).toEqual([
      1,
      'migrations/1_users.sql:2: block parse_failure: transaction control: COMMIT\n' +
        'migrations/2_seed.sql:2: block parse_failure: syntax error at or near "CRATE"\n' +
        'migrations/3_index.sql:2: warn drop_table: DROP TABLE removes the table and its rows\n',
    ]);
    expect(api.bodies(route).map(versionsOf)).toEqual([['1', '2', '3'], ['1', '3'], ['3'], ['1', '3']]);
  });

  it('writes annotations of GitHub that no file name or message can break', async () => {
    bench.write('5_a:b,c%\n::error::x.sql', '-- migrate:up\nSELECT 1');
    const message = 'DROP\n::error::forged 100%\u001b';
    api.on(route, answers(finding('5', { message, action: 'block' }), finding('1')), clean);
    const { stdout } = await bench.svc(['lint', '--format', 'github']);
    expect(stdout).toBe(
      '::warning file=migrations/1_users.sql,line=2,title=drop_table::DROP TABLE removes the table and its rows\n' +
        '::error file=migrations/5_a%3Ab%2Cc%25%0A%3A%3Aerror%3A%3Ax.sql,line=2,title=drop_table::DROP\\n::error::forged 100%25\\u001b\n',
    );
  });

  it('writes SARIF, also when there is nothing', async () => {
    bench.write('5_a b#.sql', '-- migrate:up\nSELECT 1');
    api.on(route, answers(finding('5', { action: 'block' })), clean);
    const sarif = JSON.parse((await bench.svc(['lint', '--format', 'sarif'])).stdout);
    expect(sarif).toMatchObject({
      version: '2.1.0',
      runs: [
        {
          tool: { driver: { name: 'svc', rules: [{ id: 'drop_table' }] } },
          results: [
            {
              ruleId: 'drop_table',
              level: 'error',
              message: { text: 'DROP TABLE removes the table and its rows' },
              locations: [
                { physicalLocation: { artifactLocation: { uri: 'migrations/5_a%20b%23.sql' }, region: { startLine: 2 } } },
              ],
            },
          ],
        },
      ],
    });
    api.on(route, clean);
    expect(JSON.parse((await bench.svc(['lint', '--format', 'sarif'])).stdout).runs[0].results).toEqual([]);
  });

  it('fails where nothing was looked at, and refuses these formats for other commands', async () => {
    for (const [reply, code] of [
      [
        { status: 403, body: { error: 'forbidden', code: 'auth.forbidden', hint: 'you lack request.preflight' } },
        'auth.forbidden',
      ],
      [refused('no place', 'no workflow matches'), 'blocked'],
    ] as const) {
      api.on(route, reply);
      const { stdout, code: exit } = await bench.svc(['lint', '--json']);
      expect([exit, JSON.parse(stdout).error.code]).toEqual([1, code]);
    }
    for (const words of [
      ['up', '--format', 'github'],
      ['status', '--format', 'sarif'],
      ['lint', '--direction', 'sideways'],
      ['lint', '--after', ''],
    ])
      expect((await bench.svc(words)).code, words.join(' ')).toBe(2);
    bench.write('bad.sql', 'x');
    const bad = await bench.svc(['lint', '--json']);
    expect([bad.code, JSON.parse(bad.stdout).error.code]).toEqual([1, 'config_error']);
  });

  it('asks in parts where the files are more than a request takes', async () => {
    const large = `-- migrate:up\nSELECT '${'x'.repeat(600_000)}'`;
    for (const name of ['6_a.sql', '7_b.sql', '8_c.sql']) bench.write(name, large);
    api.on(route, clean);
    expect((await bench.svc(['lint', '--direction', 'up'])).code).toBe(0);
    expect(api.bodies(route).map(versionsOf)).toEqual([['1', '2', '3', '6'], ['7'], ['8']]);
  });
});
