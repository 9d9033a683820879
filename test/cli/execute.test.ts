import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc } from './run-svc.js';
import { conflict, created, envelope, failedEnvelope, paths, requestId, runsAtOnce, shown, twoRows } from './samples.js';

let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
});
afterEach(() => api.close());

const svc = (...argv: string[]) => runSvc(argv, { environment: login(api.url) });

describe('execute', () => {
  it('runs a read and shows its rows, exit 0', async () => {
    runsAtOnce(api, twoRows);
    const result = await svc('execute', 'SELECT 1', '-e', 'staging');
    expect(result).toMatchObject({ code: 0 });
    expect(result.stdout).toContain('9007199254740993  alice');
    expect(api.bodies(paths.create)[0]).toMatchObject({ database: 'app', environment: 'staging', detail: 'SELECT 1' });
    expect(api.bodies(paths.create)[0]).not.toHaveProperty('operation');
  });

  it('sends the SQL of a file byte for byte, and of stdin', async () => {
    runsAtOnce(api, twoRows);
    const directory = mkdtempSync(join(tmpdir(), 'svc-cli-'));
    writeFileSync(join(directory, 'q.sql'), ' SELECT 1;\r\n-- ä\n');
    await runSvc(['execute', '--file', 'q.sql'], { environment: login(api.url), directory });
    await runSvc(['execute', '--file', '-'], { environment: login(api.url), stdin: 'SELECT 2\n' });
    expect(api.bodies(paths.create).map((body) => body.detail)).toEqual([' SELECT 1;\r\n-- ä\n', 'SELECT 2\n']);
  });

  it('reads - and a pipe as SQL, and says what is missing when there is none', async () => {
    runsAtOnce(api, twoRows);
    for (const argv of [['execute', '-'], ['execute']])
      expect((await runSvc(argv, { environment: login(api.url), stdin: 'SELECT 3\n' })).code).toBe(0);
    expect(api.bodies(paths.create).map((body) => body.detail)).toEqual(['SELECT 3\n', 'SELECT 3\n']);
    for (const options of [{ stdin: '' }, { terminal: true }]) {
      const none = await runSvc(['execute'], { environment: login(api.url), ...options });
      expect([none.code, none.stderr.replaceAll(/\u001b\[\d+m/g, '')]).toEqual([
        2,
        "error: execute: no SQL is given\nhint: svc execute 'select 1', or --file query.sql, or pipe it in\n",
      ]);
    }
  });

  it('names the request in the line of json, however it ends (CL-12)', async () => {
    const idOf = async (...argv: string[]) => JSON.parse((await svc('execute', 'SELECT 1', '--json', ...argv)).stdout).request_id;
    runsAtOnce(api, twoRows);
    expect(await idOf()).toBe(requestId);
    runsAtOnce(api, failedEnvelope('boom'));
    expect(await idOf()).toBe(requestId);
    api.on(paths.create, created('pending', { approvers: ['group:dba-team'] }));
    expect(await idOf()).toBe(requestId);
    api.on(paths.create, { status: 403, body: { error: 'forbidden', code: 'auth.forbidden', hint: null } });
    expect(await idOf()).toBeUndefined();
  });

  it('prints what the server warns of, such as a --share-with that reaches nobody', async () => {
    runsAtOnce(api, twoRows);
    const told = 'share-with: there is no active user nobody';
    const warnings = ['share_with: there is no active user nobody'];
    api.on(paths.create, created('dispatched', { warnings }));
    const shared = await svc('execute', 'SELECT 1', '--share-with', 'nobody');
    expect([shared.code, shared.stderr]).toEqual([0, expect.stringContaining(`warning: --${told}\n`)]);
    const line = await svc('execute', 'SELECT 1', '--share-with', 'nobody', '--json');
    expect(JSON.parse(line.stdout)).toMatchObject({ ok: true, warnings: [`--${told}`] });
  });

  it('splices the bytes of the answer into one line (CL-12)', async () => {
    runsAtOnce(api, envelope('{"rows":[{"id":9007199254740993,"id":1.0}],\r\n "x":"\\u001b"}'));
    const result = await svc('execute', 'SELECT 1', '--format', 'quiet');
    expect(result.stderr).toBe('');
    expect(result.stdout).toContain(
      `"result_data":{"rows":[{"id":9007199254740993,"id":1.0}],   "x":"\\u001b"}},"request_id":"${requestId}"}\n`,
    );
    expect(result.stdout.trimEnd()).not.toContain('\n');
  });

  it('never ends with 0 for a statement that failed, in every format (CL-I1, property)', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string(),
        fc.constantFrom('human', 'json', 'quiet'),
        fc.constantFrom('table', 'csv', 'vertical', 'json'),
        async (message, format, results) => {
          runsAtOnce(api, failedEnvelope(message));
          const result = await svc('execute', 'SELECT 1', '--format', format, '--result-format', results);
          expect(result.code).toBe(3);
          if (format !== 'human')
            expect(JSON.parse(result.stdout)).toMatchObject({
              ok: false,
              data: { success: false },
              error: { code: 'execution_failed', hint: null },
            });
        },
      ),
      { numRuns: 20 },
    );
  });

  it('exits 1 when nothing ran', async () => {
    runsAtOnce(api, failedEnvelope('approved content changed', false));
    expect((await svc('execute', 'SELECT 1')).code).toBe(1);
  });

  it('exits 1 with the code of a request that was cancelled, rejected or expired while it was awaited (CL-22)', async () => {
    for (const status of ['cancelled', 'rejected', 'expired']) {
      runsAtOnce(api, failedEnvelope(`request ${status}`)).on(paths.show, shown(status));
      const result = await svc('execute', 'SELECT 1', '--json');
      expect(result.code).toBe(1);
      expect(JSON.parse(result.stdout).error.code).toBe(status);
    }
  });

  it('exits 2 with the approvers while the request waits for approval (CL-21)', async () => {
    api.on(paths.create, created('pending', { approvers: ['group:dba-team'] }));
    const result = await svc('execute', 'SELECT 1', '--json');
    expect(result.code).toBe(2);
    expect(JSON.parse(result.stdout)).toMatchObject({
      data: { request_id: requestId, status: 'pending_approval', approvers: ['group:dba-team'] },
      error: { code: 'pending_approval' },
    });
  });

  it('exits 2 for a replay that is approved, and resumes it with --wait (CL-21)', async () => {
    api.on(paths.create, created('approved')).on(paths.resume, { body: { id: requestId, status: 'dispatched' } });
    api.on(paths.stream, { body: twoRows }).on(paths.show, shown('executed'));
    expect((await svc('execute', 'SELECT 1')).code).toBe(2);
    expect((await svc('execute', 'SELECT 1', '--wait')).code).toBe(0);
    expect(api.calls.filter((call) => call.path.endsWith('/resume'))).toHaveLength(1);
  });

  it('waits for the approval, resumes and shows the result with --wait', async () => {
    api.on(paths.create, created('pending')).on(paths.show, shown('pending'), shown('approved'), shown('executed'));
    api.on(paths.resume, conflict('it runs', 'already_dispatched')).on(paths.stream, { body: twoRows });
    const result = await svc('execute', 'SELECT 1', '--wait');
    expect(result.code).toBe(0);
    expect(result.stderr).toContain(`request ${requestId} pending: next approvers group:dba-team (1/2 steps)`);
    // An approval between the two looks would be told at once: the wait is for another status than the one seen.
    const looks = api.calls.flatMap(({ method, path, query }) => (`${method} ${path}` === paths.show ? query.toString() : []));
    expect(looks.slice(0, 2)).toEqual(['', 'wait=30&seen=pending']);
  });

  it('exits 1 with the code of a request that ended otherwise, and says why one was lost (CL-21)', async () => {
    for (const code of ['rejected', 'cancelled', 'expired', 'execution_lost']) {
      api.on(paths.create, created(code)).on(paths.show, shown(code, { lost_reason: 'agent agent-1 fell silent' }));
      const result = await svc('execute', 'SELECT 1', '--json');
      expect(result.code).toBe(1);
      expect(JSON.parse(result.stdout).error.code).toBe(code);
      if (code === 'execution_lost') expect(JSON.parse(result.stdout).error.message).toContain('agent agent-1 fell silent');
    }
  });

  it('does not tell a request that its key found as one that ran just now (CL-20)', async () => {
    api.on(paths.create, created('executed', { idempotent: true })).on(paths.content, { body: twoRows });
    const again = await svc('execute', 'SELECT 1', '--idempotency-key', 'k');
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('(2 rows)') });
    expect(again.stderr).toBe(`request ${requestId} executed; found by its idempotency key, not run again\n`);
    // Without a key of the caller's own only a lost answer was asked for again.
    expect((await svc('execute', 'SELECT 1')).stderr).toMatch(/executed in \d/);
  });

  it('fetches the stored result of a replay that is executed', async () => {
    api.on(paths.create, created('executed')).on(paths.content, { body: twoRows });
    expect((await svc('execute', 'SELECT 1')).code).toBe(0);
  });

  it('reports a success whose result is not stored with a warning (CL-22)', async () => {
    api.on(paths.create, created('executed')).on(paths.show, shown('executed'));
    api.on(paths.content, {
      status: 410,
      body: { error: 'result not stored for this request', code: 'result.gone', hint: null },
    });
    const result = await svc('execute', 'SELECT 1', '--json');
    expect(result.code).toBe(0);
    expect(JSON.parse(result.stdout).warnings).toHaveLength(1);
  });

  it('resumes three times after dispatch timeouts, then is not ready and names the queue hint (CL-22)', async () => {
    api
      .on(paths.create, created('dispatched'))
      .on(paths.stream, { status: 204 })
      .on(paths.resume, { body: { status: 'dispatched' } });
    api.on(paths.show, shown('dispatched', { queue_hint: 'no_agents' }), shown('approved'));
    const result = await svc('execute', 'SELECT 1', '--json');
    expect(JSON.parse(result.stdout).error).toMatchObject({ code: 'not_ready' });
    expect(result.code).toBe(1);
    expect(api.calls.filter((call) => call.path.endsWith('/resume'))).toHaveLength(3);
  });

  it('goes on waiting after a stream that broke or told nothing (CL-22)', async () => {
    api
      .on(paths.create, created('running'))
      .on(paths.show, shown('running'))
      .on(paths.stream, { drop: true }, { status: 204 }, { body: twoRows });
    expect((await svc('execute', 'SELECT 1')).code).toBe(0);
  });

  it('exits 124 when --timeout has passed, naming the request and how to go on (CL-24)', async () => {
    api.on(paths.create, created('running')).on(paths.stream, { hang: true }).on(paths.show, shown('running'));
    const result = await svc('execute', 'SELECT 1', '--timeout', '1', '--json');
    expect(result.code).toBe(124);
    expect(JSON.parse(result.stdout).error).toMatchObject({ code: 'timeout', hint: `svc request wait ${requestId}` });
  });

  it('passes on the code, the text and the hint of a refusal', async () => {
    api.on(paths.create, { status: 403, body: { error: 'forbidden', code: 'auth.forbidden', hint: 'ask' } });
    const result = await svc('execute', 'SELECT 1', '--json');
    expect(JSON.parse(result.stdout).error).toEqual({ code: 'auth.forbidden', message: 'execute: forbidden', hint: 'ask' });
    expect(result.stderr).toBe('error: execute: forbidden\nhint: ask\n');
    expect(result.code).toBe(1);
  });

  it('asks before what does not begin like a read, and not without a terminal (CL-18)', async () => {
    for (const sql of [
      'UPDATE t SET a = 1',
      'WITH x AS (DELETE FROM t) SELECT 1',
      'EXPLAIN (ANALYZE) SELECT 1',
      '-- c\nDELETE FROM t',
    ]) {
      const result = await svc('execute', '--json', '--no-preflight', '--', sql);
      expect(JSON.parse(result.stdout).error.code).toBe('confirmation_required');
      expect(result.code).toBe(1);
    }
    expect(api.calls).toHaveLength(0);
    api.on('POST /api/preflight', { body: { status: 'requestable', classification: { mutating: true } } });
    expect((await svc('execute', 'UPDATE t SET a = 1')).stderr).toContain('this may change data');
    expect(api.bodies(paths.create)).toHaveLength(0);
    runsAtOnce(api, envelope('{"rows_affected":1}'));
    expect((await svc('execute', 'UPDATE t SET a = 1', '--yes')).code).toBe(0);
    expect((await svc('execute', '/* c */ select 1')).code).toBe(0);
  });

  it('runs after a yes on the terminal and does nothing after a no (CL-18)', async () => {
    runsAtOnce(api, envelope('{"rows_affected":1}'));
    const options = { environment: login(api.url), terminal: true };
    expect((await runSvc(['execute', 'DELETE FROM t'], { ...options, stdin: 'n\n' })).code).toBe(1);
    expect(api.bodies(paths.create)).toHaveLength(0);
    expect((await runSvc(['execute', 'DELETE FROM t'], { ...options, stdin: 'y\n' })).code).toBe(0);
  });

  describe('a preflight first (CL-19)', () => {
    const route = 'POST /api/preflight';
    const looked = {
      status: 'warning',
      risk: 'medium',
      classification: { statement_type: 'UPDATE', operation: 'execute_dml', mutating: true, statement_count: 1 },
      review: { findings: [{ code: 'large_in_list', action: 'warn', message: 'a list of 200\u001b[31m', statement_index: 0 }] },
      risk_assessment: { level: 'medium', factors: [{ name: 'large_table', rows: 50_000 }] },
      policy: { workflow_id: 'wf', caller_can_submit: true, approvers: [{ selector: 'role:dba', min: 2, step: 0 }] },
      impact: {
        status: 'completed',
        estimated_rows: 0,
        explain_plan: [
          { Plan: { 'Node Type': 'ModifyTable', 'Plan Rows': 0, Plans: [{ 'Node Type': 'Seq Scan', 'Plan Rows': 1234 }] } },
        ],
      },
    };
    const ask = (stdin: string, ...more: string[]) =>
      runSvc(['execute', 'UPDATE t SET a = 1', '--no-color', ...more], { environment: login(api.url), terminal: true, stdin });

    it('shows class, risk, rows, approvers and findings in the question', async () => {
      api.on(route, { body: looked });
      const { stderr, code } = await ask('n\n');
      expect([code, api.bodies(paths.create).length]).toEqual([1, 0]);
      for (const text of [
        'statement   UPDATE, changes rows',
        'risk        medium (large_table: 50,000 rows)',
        'rows        about 1,234 rows, by the plan',
        'approval    needs approval; step 1  role:dba, 2 needed',
        'warn   large_in_list  a list of 200\\u001b[31m',
        'Run this on app/development?',
      ])
        expect(stderr).toContain(text);
      expect(api.bodies(route)).toEqual([
        { database: 'app', environment: 'development', sql: 'UPDATE t SET a = 1', explain_timeout_ms: 2000 },
      ]);
    });

    it.each([
      [[], 'approval    approved at once\n'],
      [['--ask'], 'approval    needs approval; step 1  role:dba, 2 needed\n'],
    ])('names who has to approve what would pass by itself when --ask is given (HD-26): %j', async (more, line) => {
      api.on(route, { body: { ...looked, policy: { ...looked.policy, would_auto_approve: true } } });
      expect((await ask('n\n', ...more)).stderr).toContain(line);
    });

    it.each([
      ['a read in a script', ['execute', 'SELECT * FROM partz', '--json'], false],
      ['a write in a script', ['execute', 'UPDATE partz SET a = 1', '--yes', '--json'], false],
      ['a write on a terminal', ['execute', 'UPDATE partz SET a = 1'], true],
    ])('ends with 1 before anything is sent where a table is not known: %s', async (_, argv, terminal) => {
      const impact = { status: 'error', error: 'relation "partz\u001b" does not exist (SQLSTATE 42P01)', unknown_name: true };
      api.on(route, { body: { ...looked, impact } });
      const result = await runSvc(argv, { environment: login(api.url), terminal, ...(terminal ? { stdin: 'y\n' } : {}) });
      expect([result.code, api.bodies(paths.create)]).toEqual([1, []]);
      expect(result.stdout + result.stderr).toContain('does not exist (SQLSTATE 42P01)');
      if (!terminal)
        expect(JSON.parse(result.stdout).error).toMatchObject({
          code: 'blocked',
          hint: expect.stringContaining('--no-preflight'),
        });
    });

    it('does not ask about what changes nothing', async () => {
      api.on(route, {
        body: { ...looked, status: 'requestable', classification: { ...looked.classification, mutating: false } },
      });
      runsAtOnce(api, envelope('{"rows_affected":1}'));
      expect((await svc('execute', 'WITH x AS (SELECT 1) SELECT * FROM x')).code).toBe(0);
    });

    it('asks nothing of what is blocked, and with --yes lets the creation say it', async () => {
      const findings = [{ code: 'no_where_update', action: 'block', message: 'UPDATE without WHERE', statement_index: 0 }];
      api.on(route, { body: { ...looked, status: 'blocked', review: { findings, blocked: true } } });
      const told = await ask('y\n');
      expect([told.code, told.stderr]).toEqual([1, expect.stringContaining('blocked: UPDATE without WHERE')]);
      expect([told.stderr.includes('[y/N]'), api.bodies(paths.create)]).toEqual([false, []]);
      const nobody = await svc('execute', 'selct 1', '--json');
      expect(JSON.parse(nobody.stdout).error).toMatchObject({
        code: 'blocked',
        message: 'execute: blocked: UPDATE without WHERE',
      });
      expect(api.bodies(paths.create)).toEqual([]);
      api.on(paths.create, { status: 400, body: { error: 'UPDATE without WHERE', code: 'validation.failed', hint: null } });
      const script = await svc('execute', 'UPDATE t SET a = 1', '--yes', '--json');
      expect(JSON.parse(script.stdout).error.code).toBe('validation.failed');
    });

    it.each([403, 404, 429, 500])('goes on without it where the server does not tell: %i', async (status) => {
      api.on(route, { status, body: { error: 'no', code: 'rate.limited', hint: null }, headers: { 'retry-after': '60' } });
      runsAtOnce(api, envelope('{"rows_affected":1}'));
      expect((await ask('y\n')).code).toBe(0);
    });

    it('is left out with --no-preflight, before an emergency and with a key', async () => {
      runsAtOnce(api, envelope('{"rows_affected":1}'));
      for (const more of [['--no-preflight'], ['--emergency', '--reason', 'now'], ['--idempotency-key', 'k']])
        expect((await ask('y\n', ...more)).code).toBe(0);
      expect(api.bodies(route)).toEqual([]);
    });
  });

  it('writes --output with mode 0600, as the answer of the server or in the format asked for (CL-17)', async () => {
    runsAtOnce(api, twoRows);
    const directory = mkdtempSync(join(tmpdir(), 'svc-cli-'));
    const run = (...argv: string[]) => runSvc(['execute', 'SELECT 1', ...argv], { environment: login(api.url), directory });
    expect(await run('--output', 'a.json')).toMatchObject({ code: 0, stdout: '' });
    expect(readFileSync(join(directory, 'a.json'), 'utf8')).toBe(twoRows);
    await run('--output', 'a.csv', '--result-format', 'csv');
    expect(readFileSync(join(directory, 'a.csv'), 'utf8')).toBe('id,name\r\n9007199254740993,alice\r\n2,NULL\r\n');
    expect(statSync(join(directory, 'a.csv')).mode & 0o777).toBe(0o600);
    const sent = api.calls.length;
    expect(await run('--output', 'nowhere/a.csv')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--output nowhere/a.csv cannot be written (no such file or folder); nothing was sent'),
    });
    expect(await run('--output', '.')).toMatchObject({ code: 2, stderr: expect.stringContaining('is a directory') });
    expect(api.calls).toHaveLength(sent);
  });

  it.skipIf(!existsSync('/dev/full'))(
    'names the request, and has its rows, where --output could not be written (CL-12)',
    async () => {
      runsAtOnce(api, twoRows);
      const { code, stdout, stderr } = await svc('execute', 'SELECT 1', '--output', '/dev/full', '--json');
      const line = JSON.parse(stdout);
      expect([code, line.ok, line.request_id, line.data]).toEqual([1, false, requestId, JSON.parse(twoRows)]);
      expect(stderr).toContain(`the disk is full)\nhint: svc request result ${requestId}\n`);
    },
  );

  describe('--output of what is no file to replace (CL-17)', () => {
    const write = (directory: string, output: string) =>
      runSvc(['execute', 'SELECT 1', '--output', output], { environment: login(api.url), directory });

    it('writes into a pipe, which stays one', async () => {
      runsAtOnce(api, twoRows);
      const directory = mkdtempSync(join(tmpdir(), 'svc-cli-'));
      execFileSync('mkfifo', [join(directory, 'pipe')]);
      const reader = spawn('cat', [join(directory, 'pipe')], { stdio: ['ignore', 'pipe', 'inherit'] });
      let read = '';
      reader.stdout.on('data', (part) => {
        read += String(part);
      });
      try {
        expect(await write(directory, 'pipe')).toMatchObject({ code: 0 });
        expect([lstatSync(join(directory, 'pipe')).isFIFO(), readdirSync(directory)]).toEqual([true, ['pipe']]);
        await once(reader, 'close');
        expect(read).toBe(twoRows);
      } finally {
        reader.kill();
      }
    });

    it('writes into a file that a shell has opened, behind what is there, and says before anything is sent that none is open', async () => {
      runsAtOnce(api, twoRows);
      const directory = mkdtempSync(join(tmpdir(), 'svc-cli-'));
      const file = openSync(join(directory, 'log'), 'a');
      try {
        writeSync(file, 'before\n');
        expect(await write(directory, `/dev/fd/${file}`)).toMatchObject({ code: 0 });
      } finally {
        closeSync(file);
      }
      expect(readFileSync(join(directory, 'log'), 'utf8')).toBe(`before\n${twoRows}`);
      const sent = api.calls.length;
      expect(await write(directory, `/dev/fd/${file}`)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('nothing was sent'),
      });
      expect(api.calls).toHaveLength(sent);
    });

    it.each([
      ['execute', 'SELECT 1'],
      ['audit', 'export'],
      ['evidence', 'get', '4f0c9d0e'],
    ])('takes - for no file: %s', async (...argv) => {
      expect(await svc(...argv, '--output', '-')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("--output does not take '-': it must be a file"),
      });
      expect(api.calls).toEqual([]);
    });
  });

  it('keeps results in [results] dir, 0700 and 0600, and only warns when that fails (CL-17)', async () => {
    runsAtOnce(api, twoRows);
    const directory = mkdtempSync(join(tmpdir(), 'svc-cli-'));
    writeFileSync(join(directory, 'svc.toml'), '[results]\ndir = "kept"\nformat = "csv"\n');
    const options = { environment: login(api.url), directory };
    expect((await runSvc(['execute', 'SELECT 1'], options)).stdout).toContain('id,name\r\n');
    expect(readFileSync(join(directory, 'kept', `${requestId}.json`), 'utf8')).toBe(twoRows);
    expect(statSync(join(directory, 'kept')).mode & 0o777).toBe(0o700);
    writeFileSync(join(directory, 'svc.toml'), '[results]\ndir = "svc.toml"\n');
    const failed = await runSvc(['execute', 'SELECT 1', '--json'], options);
    expect(failed.code).toBe(0);
    expect(JSON.parse(failed.stdout).warnings).toHaveLength(1);
  });

  it('keeps nothing where a project file that was found leads out of its folder, also by a link (HD-60)', async () => {
    runsAtOnce(api, twoRows);
    const outside = mkdtempSync(join(tmpdir(), 'svc-cli-'));
    const directory = mkdtempSync(join(tmpdir(), 'svc-cli-'));
    symlinkSync(outside, join(directory, 'link'));
    for (const dir of [outside, '..', '.', 'link/deep']) {
      writeFileSync(join(directory, 'svc.toml'), `[results]\ndir = "${dir}"\n`);
      const ran = await runSvc(['execute', 'SELECT 1', '--json'], { environment: login(api.url), directory });
      expect([ran.code, JSON.parse(ran.stdout).warnings]).toEqual([
        0,
        [expect.stringContaining('is outside the folder of the file')],
      ]);
    }
    expect([...readdirSync(outside), ...readdirSync(directory)].sort()).toEqual(['link', 'svc.toml']);
    const named = ['execute', 'SELECT 1', '--config', join(directory, 'svc.toml')];
    expect((await runSvc(named, { environment: login(api.url), directory })).code).toBe(0);
    expect(readdirSync(join(outside, 'deep'))).toEqual([`${requestId}.json`]);
  });

  it('warns of a result that was cut and says why (CL-16)', async () => {
    runsAtOnce(api, envelope('{"columns":["a"],"rows":[[1]],"truncated":true,"truncation_reason":"row limit reached (1)"}'));
    expect((await svc('execute', 'SELECT 1')).stderr).toContain(
      'warning: the result is cut: row limit reached (1); ask for the rest in parts: add WHERE key > (the last one you have)',
    );
  });
});
