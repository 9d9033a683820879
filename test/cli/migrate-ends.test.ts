import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FakeApi } from '../support/fake-api.js';
import { type MigrateBench, startMigrateBench } from './migrate-bench.js';
import { created, envelope, failedEnvelope, paths, requestId, runsAtOnce, shown } from './samples.js';

let bench: MigrateBench;
let api: FakeApi;
beforeEach(async () => {
  bench = await startMigrateBench();
  api = bench.api;
});
afterEach(() => api.close());

const svc: MigrateBench['svc'] = (argv, options) => bench.svc(argv, options);

/** What a person reads (migrations.md section 6). */
describe('a migration that did not succeed', () => {
  const failedWith = (message: string, data: string, outcome: string) => {
    bench.threeFiles();
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
      'error: migrate up: syntax error\nhint: 2 were applied and stay so; of 3 nothing stays but what the error names\nonce that is set right, svc migrate up continues from here\n',
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
      'the first 1 are applied and stay: X\nhint: this request applied none before it; of 1 nothing stays but what the error names\n',
    );
    expect(result.stdout).toContain('failed');
  });

  it('cancelled between two: those applied, then cancelled', async () => {
    failedWith('migration cancelled', '{"applied_before_failure":["1","2"],"error":"migration cancelled"}', 'partial');
    const result = await svc(['up', '--yes']);
    expect(result.code).toBe(3);
    expect(result.stdout).toContain('(2 applied)\n');
    expect(result.stderr).toContain(
      'error: migrate up: migration cancelled\nhint: 2 were applied and stay so\nsvc migrate up continues from here\n',
    );
  });

  it('cancelled before the first: exit 1, and that nothing was changed', async () => {
    bench.threeFiles();
    runsAtOnce(api, failedEnvelope('request cancelled')).on(paths.show, shown('cancelled', { operation: 'migrate_up' }));
    api.on(paths.executions, { body: { executions: [{ fence: 1, outcome: 'not_started' }] } });
    const result = await svc(['up', '--yes']);
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('hint: nothing was changed; svc request show') });
  });

  it.each([
    ['was lost', null],
    ['applied a part', 'partial'],
    ['was done', 'committed'],
  ])('cancelled or refused after a run that %s: does not say that nothing was changed', async (_, outcome) => {
    const executions = [
      { fence: 2, outcome: 'not_started' },
      { fence: 1, outcome },
    ];
    const ends = [
      [failedEnvelope('request cancelled'), 'cancelled', 1],
      [failedEnvelope('migration error: another migration holds the lock'), 'failed', 3],
    ] as const;
    for (const [answer, status, code] of ends) {
      bench.threeFiles();
      runsAtOnce(api, answer).on(paths.show, shown(status, { operation: 'migrate_up' }));
      api.on(paths.executions, { body: { executions } });
      const result = await svc(['up', '--yes']);
      expect(result.code).toBe(code);
      expect(result.stderr).not.toContain('nothing was changed');
    }
  });

  it('agent lost: which attempt, and that a resume continues after what is proven done', async () => {
    bench.threeFiles();
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
      message: 'migrate up: attempt 2: lost: no heartbeat since 2026-05-01T09:20:01.500Z',
      hint: expect.stringContaining(`svc request resume ${requestId} continues after what is proven done`),
    });
  });

  it('agent lost where nothing can be proven (AG-58): names no resume that would be refused', async () => {
    bench.threeFiles();
    const view = shown('execution_lost', { operation: 'migrate_up', lost_reason: 'lost', resumable: false });
    api.on(paths.create, created('dispatched')).on(paths.stream, { status: 204 }).on(paths.show, view);
    api.on(paths.executions, { body: { executions: [{ fence: 1, outcome: null }] } });
    const { stderr } = await svc(['up', '--yes']);
    expect(stderr).not.toContain('request resume');
    expect(stderr).toContain('hint: it cannot be resumed: check the database, then make a new request; svc migrate status shows');
  });
});

describe('one request for one command (CL-20, CL-I4)', () => {
  it('sends the same key again when the answer was lost', async () => {
    bench.threeFiles();
    api.on(paths.create, { drop: true }, created('dispatched')).on(paths.stream, { body: envelope('{"applied":[]}') });
    expect((await svc(['up', '--yes'])).code).toBe(0);
    const keys = api.bodies(paths.create).map((body) => body.idempotency_key);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  it.each([
    [['up']],
    [['down']],
    [['status']],
    [['repair', '--action', 'remove', '--version', '1', '--emergency', '--reason', 'r']],
  ])('%j takes the key that it is given, and says it when nobody knows whether the request exists', async (argv) => {
    bench.threeFiles();
    api.on(paths.create, { drop: true });
    const result = await svc([...argv, '--yes', '--json', '--idempotency-key', 'deploy-7']);
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stdout).error).toMatchObject({
      code: 'network_error',
      hint: expect.stringContaining('--idempotency-key deploy-7'),
    });
    expect(api.bodies(paths.create)[0]).toMatchObject({ idempotency_key: 'deploy-7' });
  });
});

describe('svc migrate status', () => {
  it('joins what is applied with the files (MI-51)', async () => {
    bench.threeFiles();
    runsAtOnce(api, envelope('{"applied_versions":["0","2"]}'));
    const result = await svc(['status']);
    expect(api.bodies(paths.create)[0]).toMatchObject({ operation: 'migrate_status', detail: '' });
    expect(result.stdout).toBe(
      'VERSION  NAME   STATUS\n-------  -----  ------------\n0               missing file\n1        users  out of order\n2        seed   applied\n3        index  pending\n',
    );
    expect(result.stderr).toBe('1 applied, 1 pending, 1 out of order, 1 missing file on app/development\n');
  });

  it('adds the raw result in json (MI-51)', async () => {
    bench.threeFiles();
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
    expect(result.stderr).toContain(`request ${requestId} continues`);
  });
});

describe('svc migrate repair', () => {
  const all = ['--action', 'mark-applied', '--version', '2', '--emergency', '--reason', 'was applied by hand'];

  it('sends the action, the version, the emergency and the reason (MI-14, MI-19)', async () => {
    runsAtOnce(api, envelope('{"repaired":"mark_applied","version":"2","changed":true}'));
    const result = await svc(['repair', ...all, '--yes']);
    expect(bench.sent()).toMatchObject({
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
