import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc, type SvcOptions } from './run-svc.js';
import { created, envelope, failedEnvelope, paths, requestId, runsAtOnce, shown } from './samples.js';

let api: FakeApi;
let directory: string;
beforeEach(async () => {
  api = await startFakeApi();
  directory = mkdtempSync(join(tmpdir(), 'svc-migrate-'));
  mkdirSync(join(directory, 'migrations'));
});
afterEach(() => api.close());

const write = (name: string, text: string) => writeFileSync(join(directory, 'migrations', name), text);
const svc = (argv: string[], options: SvcOptions = {}) =>
  runSvc(['migrate', ...argv], { environment: login(api.url), directory, ...options });
const sent = () => {
  const [body] = api.bodies(paths.create);
  return { ...body, detail: JSON.parse(String(body!.detail)) } as { detail: object; idempotency_key: string };
};

/** Three files, of which the second has no down part. */
function threeFiles() {
  write('1_users.sql', '-- migrate:up\nCREATE TABLE users (id INT);\n-- migrate:down\nDROP TABLE users;\n');
  write('2_seed.sql', '-- migrate:up\nINSERT INTO users VALUES (1);\n');
  write(
    '3_index.sql',
    '-- migrate:up transaction:false\nCREATE INDEX CONCURRENTLY i ON users (id);\n-- migrate:down\nDROP INDEX i;\n',
  );
}

describe('svc migrate up and down', () => {
  it('sends every file, with the cap only when it is given (MI-10)', async () => {
    threeFiles();
    runsAtOnce(api, envelope('{"applied":["1","2","3"]}'));
    expect(await svc(['up', '--yes', '-e', 'staging', '--reason', 'why', '--ticket', 'T-1'])).toMatchObject({ code: 0 });
    expect(sent()).toMatchObject({
      ...{ database: 'app', environment: 'staging', operation: 'migrate_up', reason: 'why', metadata: { ticket: 'T-1' } },
      detail: {
        ...{ format: 'v2', direction: 'up', versions: ['1', '2', '3'] },
        migrations: [
          { version: '1', sql: 'CREATE TABLE users (id INT);', transactional: true },
          { version: '2' },
          { version: '3', transactional: false },
        ],
      },
    });
    expect(sent().detail).not.toHaveProperty('max_count');
    expect(sent().idempotency_key).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('sends the files after --after, and --count as the cap (MI-10)', async () => {
    threeFiles();
    runsAtOnce(api, envelope('{"applied":["2"]}'));
    await svc(['up', '--yes', '--after', '1', '--count', '1']);
    expect(sent().detail).toMatchObject({ versions: ['2', '3'], max_count: 1 });
  });

  it.each([
    [[], 1],
    [['--count', '2'], 2],
  ])('down %j sends the files with a down part and how many to revert (MI-10)', async (argv, maxCount) => {
    threeFiles();
    runsAtOnce(api, envelope('{"reverted":["3"]}'));
    const result = await svc(['down', '--yes', ...argv]);
    expect(sent()).toMatchObject({
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
    threeFiles();
    runsAtOnce(api, envelope('{"applied":[]}'));
    const no = await svc(['up', '--count', '2'], { terminal: true, stdin: 'n\n' });
    expect(no.code).toBe(1);
    expect(api.calls).toHaveLength(0);
    const plain = no.stderr.replace(/\u001b\[\d+m/g, '');
    expect(
      plain.indexOf('3 migrations sent to app/development\n  1  users\n  2  seed\n  3  index  (without a transaction)\n'),
    ).toBe(0);
    expect(plain).toContain('skips those that are applied already and runs at most 2 of the others');
    expect(plain.indexOf('Apply them? [y/N]')).toBeGreaterThan(plain.indexOf('skips'));
    expect((await svc(['up'], { terminal: true, stdin: 'y\n' })).code).toBe(0);
  });

  it('needs --yes without a terminal, before the first call (CL-18)', async () => {
    threeFiles();
    for (const argv of [['up'], ['down'], ['repair', '--action', 'remove', '--version', '1', '--emergency', '--reason', 'r']]) {
      const result = await svc([...argv, '--json']);
      expect(JSON.parse(result.stdout).error.code).toBe('confirmation_required');
    }
    expect(api.calls).toHaveLength(0);
  });

  it('says how large a bundle above the limit is and names --after (MI-13)', async () => {
    write('1_a.sql', `-- migrate:up\nSELECT '${'x'.repeat(700_000)}';\n`);
    write('2_b.sql', `-- migrate:up\nSELECT '${'x'.repeat(700_000)}';\n`);
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
    if (filled) threeFiles();
    const result = await svc([...argv, '--yes', '--json']);
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stdout).error.message).toBe(`migrate ${argv[0]}: ${message}`);
    expect(api.calls).toHaveLength(0);
  });

  it('names the file that the server finds fault with', async () => {
    threeFiles();
    api.on(paths.create, { status: 400, body: { error: 'syntax error', code: 'validation.failed', hint: 'migrations[1].sql' } });
    const result = await svc(['up', '--yes', '--json', '--after', '0']);
    expect(JSON.parse(result.stdout).error).toEqual({
      ...{ code: 'validation.failed', message: 'migrate up: syntax error' },
      hint: 'migrations[1].sql: migrations/2_seed.sql',
    });
  });

  it('tells a missing directory by its name (MI-05)', async () => {
    const result = await svc(['up', '--yes'], { directory: join(directory, 'migrations') });
    expect(result).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the directory migrations cannot be read (ENOENT)'),
    });
  });

  it('exits 2 while the request waits for approval, and shows the migrations once it is resumed (CL-21)', async () => {
    threeFiles();
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
    const options = { environment: login(api.url), directory, terminal: true };
    const result = (...argv: string[]) => runSvc(['request', 'result', requestId, ...argv], options);
    expect((await result('--result-format', 'json')).stdout).toBe('{"applied":["1"]}\n');
    await result('--result-format', 'table', '--output', 'out.txt');
    expect(readFileSync(join(directory, 'out.txt'), 'utf8')).toContain('1        up         applied\n');
  });

  it('says so when there was nothing to do (MI-32)', async () => {
    threeFiles();
    runsAtOnce(api, envelope('{"applied":[]}'));
    expect((await svc(['up', '--yes'])).stdout).toBe('Nothing to do: every migration of the request was applied before.\n');
  });

  it("is one line with the server's bytes in json and quiet (CL-12)", async () => {
    threeFiles();
    const text = envelope('{"applied":["1"],\n "out_of_order":[] }');
    runsAtOnce(api, text);
    for (const format of ['json', 'quiet']) {
      const result = await svc(['up', '--yes', '--format', format]);
      expect(result).toMatchObject({ code: 0, stderr: '', stdout: `{"ok":true,"data":${text.replace('\n', ' ')}}\n` });
    }
  });

  it('never ends with 0 for a migration that failed, in every format (CL-I1, property)', async () => {
    threeFiles();
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

/** What a person reads (migrations.md section 6). */
describe('a migration that did not succeed', () => {
  const failedWith = (message: string, data: string, outcome: string) => {
    threeFiles();
    runsAtOnce(api, failedEnvelope(message).replace('"result_data":null', `"result_data":${data}`));
    api.on(paths.show, shown('failed', { operation: 'migrate_up' }));
    api.on(paths.executions, { body: { executions: [{ fence: 1, outcome }] } });
  };

  it('first one failed and rolled back: its error, and that nothing was changed', async () => {
    failedWith('migration error: relation "x" does not exist', 'null', 'rolled_back');
    expect(await svc(['up', '--yes'])).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringContaining(
        'error: migrate up: migration error: relation "x" does not exist\nhint: nothing was changed\n',
      ),
    });
  });

  it('third of the plan failed: the two applied, the error, that they stay and nothing of the third', async () => {
    failedWith('syntax error', '{"applied_before_failure":["1","2"],"failed_version":"3","error":"syntax error"}', 'partial');
    const result = await svc(['up', '--yes']);
    expect(result.code).toBe(3);
    expect(result.stdout).toBe(
      'VERSION  NAME   DIRECTION  OUTCOME\n-------  -----  ---------  -------\n1        users  up         applied\n2        seed   up         applied\n3        index  up         failed\n(2 applied)\n',
    );
    expect(result.stderr).toContain(
      'error: migrate up: syntax error\nhint: 2 were applied and stay so; of 3 nothing stays but what the error names\nsvc migrate up goes on from here\n',
    );
  });

  it('first one applied in part: that something stays', async () => {
    failedWith(
      'statement 2 of 3 failed; the first 1 are applied and stay: X',
      '{"applied_before_failure":[],"failed_version":"1","error":"X"}',
      'partial',
    );
    const result = await svc(['up', '--yes']);
    expect(result.stderr).toContain(
      'the first 1 are applied and stay: X\nhint: nothing was applied before; of 1 nothing stays but what the error names\n',
    );
    expect(result.stdout).toContain('failed');
  });

  it('cancelled between two: those applied, then cancelled', async () => {
    failedWith('migration cancelled', '{"applied_before_failure":["1","2"],"error":"migration cancelled"}', 'partial');
    const result = await svc(['up', '--yes']);
    expect(result.code).toBe(3);
    expect(result.stdout).toContain('(2 applied)\n');
    expect(result.stderr).toContain(
      'error: migrate up: migration cancelled\nhint: 2 were applied and stay so\nsvc migrate up goes on from here\n',
    );
  });

  it('cancelled before the first: exit 1, and that nothing was changed', async () => {
    threeFiles();
    runsAtOnce(api, failedEnvelope('request cancelled')).on(paths.show, shown('cancelled', { operation: 'migrate_up' }));
    const result = await svc(['up', '--yes']);
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('hint: nothing was changed; svc request show') });
  });

  it('agent lost: which attempt, and that a resume goes on after what is proven done', async () => {
    threeFiles();
    const view = shown('execution_lost', {
      operation: 'migrate_up',
      lost_reason: 'lost: no heartbeat since 2026-05-01T09:20:01.500Z',
    });
    api.on(paths.create, created('dispatched')).on(paths.stream, { status: 204 }).on(paths.show, view);
    api.on(paths.executions, { body: { executions: [{ fence: 2, outcome: null }] } });
    const result = await svc(['up', '--yes', '--json']);
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stdout).error).toMatchObject({
      code: 'execution_lost',
      message: 'migrate up: attempt 2 was lost: lost: no heartbeat since 2026-05-01T09:20:01.500Z',
      hint: expect.stringContaining(`svc request resume ${requestId} goes on after what is proven done`),
    });
  });
});

describe('svc migrate status', () => {
  it('joins what is applied with the files (MI-51)', async () => {
    threeFiles();
    runsAtOnce(api, envelope('{"applied_versions":["0","2"]}'));
    const result = await svc(['status']);
    expect(api.bodies(paths.create)[0]).toMatchObject({ operation: 'migrate_status', detail: '' });
    expect(result.stdout).toBe(
      'VERSION  NAME   STATUS\n-------  -----  ------------\n0               missing file\n1        users  out of order\n2        seed   applied\n3        index  pending\n',
    );
    expect(result.stderr).toBe('1 applied, 1 pending, 1 out of order, 1 missing file on app/development\n');
  });

  it('adds the raw result in json (MI-51)', async () => {
    threeFiles();
    const text = envelope('{"applied_versions":["1"]}');
    runsAtOnce(api, text);
    const result = await svc(['status', '--json']);
    expect(result.stdout).toContain(`"result":${text}}`);
    expect(JSON.parse(result.stdout).data.migrations).toEqual([
      { version: '1', name: 'users', status: 'applied' },
      { version: '2', name: 'seed', status: 'pending' },
      { version: '3', name: 'index', status: 'pending' },
    ]);
  });

  it('is not 0 when the answer lists no versions (CL-I1)', async () => {
    runsAtOnce(api, envelope('{"rows":[]}'));
    expect((await svc(['status'])).code).toBe(1);
  });

  it('offers no cancel at Ctrl-C (CL-26)', async () => {
    api
      .on(paths.create, created('running'))
      .on(paths.stream, { hang: true })
      .on(paths.show, shown('running', { operation: 'migrate_status' }));
    const result = await svc(['status'], {
      terminal: true,
      started: ({ interrupt, stderr }) => {
        const timer = setInterval(() => {
          if (!stderr().includes('running')) return;
          clearInterval(timer);
          interrupt();
        }, 5);
      },
    });
    expect(result.code).toBe(130);
    expect(result.stderr).not.toContain('Cancel the request?');
    expect(result.stderr).toContain(`request ${requestId} goes on`);
  });
});

describe('svc migrate repair', () => {
  const all = ['--action', 'mark-applied', '--version', '2', '--emergency', '--reason', 'was applied by hand'];

  it('sends the action, the version, the emergency and the reason (MI-14, MI-19)', async () => {
    runsAtOnce(api, envelope('{"repaired":"mark_applied","version":"2","changed":true}'));
    const result = await svc(['repair', ...all, '--yes']);
    expect(sent()).toMatchObject({
      operation: 'migrate_repair',
      emergency: true,
      reason: 'was applied by hand',
      detail: { action: 'mark_applied', version: '2' },
    });
    expect(result).toMatchObject({ code: 0, stdout: '2 is marked as applied; the schema was not touched.\n' });
  });

  it('asks first, and names what it is about to do (CL-18)', async () => {
    const result = await svc(['repair', '--action=remove', '--version=2', '--emergency', '--reason', 'r'], {
      terminal: true,
      stdin: 'n\n',
    });
    expect(result.stderr).toContain('Remove 2 from the applied migrations of');
    expect(api.calls).toHaveLength(0);
  });

  it.each([
    ['mark_applied', '2 was marked as applied already; nothing changed.\n'],
    ['remove', '2 was not among the applied ones; nothing changed.\n'],
  ])('says so when %s changed nothing (MI-42)', async (repaired, text) => {
    runsAtOnce(api, envelope(`{"repaired":"${repaired}","version":"2","changed":false}`));
    expect((await svc(['repair', ...all, '--yes'])).stdout).toBe(text);
  });

  it.each(['--action', '--version', '--emergency', '--reason'])('is a usage error without %s', async (option) => {
    const at = all.indexOf(option);
    const argv = all.filter((_, index) => index !== at && !(option !== '--emergency' && index === at + 1));
    const result = await svc(['repair', ...argv, '--yes', '--json']);
    expect(result.code).toBe(2);
    expect(JSON.parse(result.stdout).error).toMatchObject({ code: 'usage', message: `migrate repair: ${option} must be given` });
    expect(api.calls).toHaveLength(0);
  });

  it('has --version for itself; elsewhere it is the version of the program', async () => {
    expect((await svc(['up', '--version'])).stdout).toMatch(/^svc \d/);
    expect((await svc(['-d', 'app', 'repair', '--version'])).code).toBe(2);
  });
});
