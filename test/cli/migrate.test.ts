import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FakeApi } from '../support/fake-api.js';
import { type MigrateBench, startMigrateBench } from './migrate-bench.js';
import { login, runSvc } from './run-svc.js';
import { created, envelope, failedEnvelope, paths, requestId, runsAtOnce } from './samples.js';

let bench: MigrateBench;
let api: FakeApi;
beforeEach(async () => {
  bench = await startMigrateBench();
  api = bench.api;
});
afterEach(() => api.close());

const svc: MigrateBench['svc'] = (argv, options) => bench.svc(argv, options);

describe('svc migrate up and down', () => {
  it('sends every file, with the cap only when it is given (MI-10)', async () => {
    bench.threeFiles();
    runsAtOnce(api, envelope('{"applied":["1","2","3"]}'));
    expect(await svc(['up', '--yes', '-e', 'staging', '--reason', 'why', '--ticket', 'T-1'])).toMatchObject({ code: 0 });
    expect(bench.sent()).toMatchObject({
      database: 'app',
      environment: 'staging',
      operation: 'migrate_up',
      reason: 'why',
      metadata: { ticket: 'T-1' },
      detail: {
        format: 'v2',
        direction: 'up',
        versions: ['1', '2', '3'],
        migrations: [
          { version: '1', sql: 'CREATE TABLE users (id INT);', transactional: true },
          { version: '2' },
          { version: '3', transactional: false },
        ],
      },
    });
    expect(bench.sent().detail).not.toHaveProperty('max_count');
    expect(bench.sent().idempotency_key).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('sends the files after --after, and --count as the cap (MI-10)', async () => {
    bench.threeFiles();
    runsAtOnce(api, envelope('{"applied":["2"]}'));
    await svc(['up', '--yes', '--after', '1', '--count', '1']);
    expect(bench.sent().detail).toMatchObject({ versions: ['2', '3'], max_count: 1 });
  });

  it.each([
    [[], 1],
    [['--count', '2'], 2],
  ])('down %j sends the files with a down part and how many to revert (MI-10)', async (argv, maxCount) => {
    bench.threeFiles();
    runsAtOnce(api, envelope('{"reverted":["3"]}'));
    const result = await svc(['down', '--yes', ...argv]);
    expect(bench.sent()).toMatchObject({
      operation: 'migrate_down',
      detail: {
        direction: 'down',
        versions: ['1', '3'],
        migrations: [{ sql: 'DROP TABLE users;' }, { sql: 'DROP INDEX i;', transactional: true }],
        max_count: maxCount,
      },
    });
    expect(result.stdout).toBe(
      'VERSION  NAME   DIRECTION  OUTCOME\n-------  -----  ---------  --------\n3        index  down       reverted\n(1 reverted)\n',
    );
  });

  it('shows what it sends, the cap and that applied ones are skipped, then asks (MI-52)', async () => {
    bench.threeFiles();
    runsAtOnce(api, envelope('{"applied":[]}'));
    const no = await svc(['up', '--count', '2'], { terminal: true, stdin: 'n\n' });
    expect(no.code).toBe(1);
    expect(api.calls.map(({ path }) => path)).toEqual(['/api/preflight']);
    const plain = no.stderr.replace(/\u001b\[\d+m/g, '');
    expect(plain.indexOf('3 migrations for app/development\n  1  users\n  2  seed\n  3  index  (without a transaction)\n')).toBe(
      0,
    );
    expect(plain).toContain('skips those already applied and runs at most 2 of the rest');
    expect(plain.indexOf('Apply them? [y/N]')).toBeGreaterThan(plain.indexOf('skips'));
    expect((await svc(['up'], { terminal: true, stdin: 'y\n' })).code).toBe(0);
  });

  it('names what a down could not revert (MI-33, MI-52)', async () => {
    bench.threeFiles();
    const { stderr } = await svc(['down', '--count', '2'], { terminal: true, stdin: 'n\n' });
    expect(stderr.replace(/\u001b\[\d+m/g, '')).toContain(
      '2 migrations with a down part, for app/development\n  1  users\n  3  index\nWithout a down part: 2 seed\n' +
        'The agent reverts the 2 latest applied ones',
    );
  });

  it('needs --yes without a terminal, before any call but the preflight (CL-18)', async () => {
    bench.threeFiles();
    const refused = async (...argv: string[]) => {
      const result = await svc([...argv, '--json']);
      expect(JSON.parse(result.stdout).error.code).toBe('confirmation_required');
    };
    for (const argv of [
      ['up', '--no-preflight'],
      ['down', '--idempotency-key', 'k'],
    ])
      await refused(...argv);
    await refused('repair', '--action', 'remove', '--version', '1', '--emergency', '--reason', 'r');
    expect(api.calls).toHaveLength(0);
    for (const command of ['up', 'down']) await refused(command);
    expect(api.calls.map(({ path }) => path)).toEqual(['/api/preflight', '/api/preflight']);
  });

  it('says without a terminal what is wrong, or that nothing is to be done, before it asks for --yes (MI-52)', async () => {
    bench.threeFiles();
    const findings = [{ code: 'parse_failure', action: 'block', message: 'syntax error at or near "CRATE"' }];
    const preflight = (body: object) => api.on('POST /api/preflight', { body });
    preflight({ status: 'blocked', review: { findings }, fix_hints: ['x', 'migrations[1].sql'] });
    expect(await svc(['up'])).toMatchObject({
      code: 1,
      stderr: 'error: migrate up: blocked: syntax error at or near "CRATE"\nhint: in migrations/2_seed.sql\n',
    });
    preflight({ status: 'blocked', review: { findings: [] } });
    expect((await svc(['down'])).stderr).toBe(
      'error: migrate down: blocked: you may not submit this here\nhint: nothing was sent; svc migrate lint shows more\n',
    );
    expect((await svc(['up', '--emergency', '--reason', 'r'])).stderr).toContain('add --yes');
    preflight({ status: 'requestable', migrations: { seen_at: '2031-01-01T00:00:00.000Z', applied: ['1', '2', '3'] } });
    expect(await svc(['up'])).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing to do') });
    expect(api.calls.filter(({ path }) => path !== '/api/preflight')).toEqual([]);
  });

  it('says how large a bundle above the limit is and names --after (MI-13)', async () => {
    bench.write('1_a.sql', `-- migrate:up\nSELECT '${'x'.repeat(700_000)}';\n`);
    bench.write('2_b.sql', `-- migrate:up\nSELECT '${'x'.repeat(700_000)}';\n`);
    const result = await svc(['up', '--yes', '--json']);
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stdout).error.message).toContain('a request takes at most 1048576');
    expect(JSON.parse(result.stdout).error.hint).toContain('--after VERSION');
    expect(api.calls).toHaveLength(0);
    runsAtOnce(api, envelope('{"applied":["2"]}'));
    expect((await svc(['up', '--yes', '--after', '1'])).code).toBe(0);
  });

  it.each([
    [['up'], 'migrations has no migration; nothing was sent', false],
    [['up', '--after', '3'], 'migrations has no migration after 3; nothing was sent', true],
    [['down', '--after', '3'], 'migrations has no migration with a down part after 3; nothing was sent', true],
  ])('%j sends no empty bundle: exit 1 (CL-I1)', async (argv, message, filled) => {
    if (filled) bench.threeFiles();
    const result = await svc([...argv, '--yes', '--json']);
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stdout).error.message).toBe(`migrate ${argv[0]}: ${message}`);
    expect(api.calls).toHaveLength(0);
  });

  it('names the file that the server finds fault with', async () => {
    bench.threeFiles();
    api.on(paths.create, { status: 400, body: { error: 'syntax error', code: 'validation.failed', hint: 'migrations[1].sql' } });
    const result = await svc(['up', '--yes', '--json', '--after', '0']);
    expect(JSON.parse(result.stdout).error).toEqual({
      code: 'validation.failed',
      message: 'migrate up: syntax error',
      hint: 'in migrations/2_seed.sql',
    });
  });

  it('tells a missing directory by its name (MI-05)', async () => {
    const result = await svc(['up', '--yes'], { directory: join(bench.directory, 'migrations') });
    expect(result).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no directory migrations'),
    });
  });

  it('exits 2 while the request waits for approval, and shows the migrations once it is resumed (CL-21)', async () => {
    bench.threeFiles();
    api.on(paths.create, created('pending', { approvers: ['group:dba-team'] }));
    const waiting = await svc(['up', '--yes']);
    expect(waiting.code).toBe(2);
    expect(waiting.stderr).toContain(`svc request resume ${requestId}`);
    api
      .on(paths.resume, { body: { status: 'dispatched' } })
      .on(paths.stream, { body: envelope('{"applied":["1","2"],"out_of_order":["1"]}') });
    const resumed = await runSvc(['request', 'resume', requestId], { environment: login(api.url) });
    expect(resumed.stdout).toBe(
      'VERSION  DIRECTION  OUTCOME\n-------  ---------  --------------------\n1        up         applied out of order\n2        up         applied\n(2 applied)\n',
    );
  });

  it('gives the data of a result itself with --result-format json, and no colours in a file', async () => {
    api.on(paths.content, { body: envelope('{"applied": ["1"]}') });
    const options = { environment: login(api.url), directory: bench.directory, terminal: true };
    const result = (...argv: string[]) => runSvc(['request', 'result', requestId, ...argv], options);
    expect((await result('--result-format', 'json')).stdout).toBe('{"applied":["1"]}\n');
    await result('--result-format', 'table', '--output', 'out.txt');
    expect(readFileSync(join(bench.directory, 'out.txt'), 'utf8')).toContain('1        up         applied\n');
  });

  it('says so when there was nothing to do (MI-32)', async () => {
    bench.threeFiles();
    runsAtOnce(api, envelope('{"applied":[]}'));
    expect((await svc(['up', '--yes'])).stdout).toBe('Nothing to do: every migration of the request was applied before.\n');
  });

  it("is one line with the server's bytes in json and quiet (CL-12)", async () => {
    bench.threeFiles();
    const text = envelope('{"applied":["1"],\n "out_of_order":[] }');
    runsAtOnce(api, text);
    for (const format of ['json', 'quiet']) {
      const result = await svc(['up', '--yes', '--format', format]);
      expect(result).toMatchObject({
        code: 0,
        stderr: '',
        stdout: `{"ok":true,"data":${text.replace('\n', ' ')},"request_id":"${requestId}"}\n`,
      });
    }
  });

  it('never ends with 0 for a migration that failed, in every format (CL-I1, property)', async () => {
    bench.threeFiles();
    const done = fc.constantFrom(
      'null',
      '{"applied_before_failure":["1"],"failed_version":"2","error":"e"}',
      '{"reverted_before_failure_count":9}',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.string(),
        done,
        fc.constantFrom('human', 'json', 'quiet'),
        fc.constantFrom('up', 'down'),
        async (message, data, format, direction) => {
          runsAtOnce(api, failedEnvelope(message).replace('"result_data":null', `"result_data":${data}`));
          expect((await svc([direction, '--yes', '--format', format])).code).toBe(3);
        },
      ),
      { numRuns: 15 },
    );
  });
});
