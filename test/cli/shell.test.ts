import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { login, runSvc, type SvcOptions } from './run-svc.js';
import { created, failedEnvelope, paths, requestId, runsAtOnce, shown, twoRows } from './samples.js';

let api: FakeApi;
let home: string;
beforeEach(async () => {
  home = await temporaryFolder();
  api = await startFakeApi();
  runsAtOnce(api, twoRows);
  api.on('GET /api/databases', { body: { databases: [{ database: 'app', environment: 'staging', dialect: 'postgresql' }] } });
  api.on('POST /api/preflight', { body: { status: 'requestable' } });
});
afterEach(() => api.close());

const environment = () => ({ ...login(api.url), HOME: home, SVC_ENV: 'staging' });
const sent = () => api.bodies(paths.create).map(({ detail }) => detail);
const piped = (stdin: string, ...argv: string[]) => runSvc(['shell', ...argv], { environment: environment(), stdin });

describe('svc shell in a pipe (CL-53)', () => {
  it('makes a request of each statement, as execute does, in turn', async () => {
    const { code, stdout } = await piped("-- first\nselect ';';\n\nselect\n  2; update t set a = 1", '--yes', '--reason', 'why');
    expect(code).toBe(0);
    expect(sent()).toEqual(["select ';'", 'select\n  2', 'update t set a = 1']);
    const bodies = api.bodies(paths.create);
    expect(new Set(bodies.map((body) => body.idempotency_key)).size).toBe(3);
    for (const body of bodies) expect(body).toMatchObject({ database: 'app', environment: 'staging', reason: 'why' });
    expect(stdout.match(/\(2 rows\)/g)).toHaveLength(3);
  });

  it('stops at the first that does not succeed, names its line, and has its exit code', async () => {
    api.on(paths.stream, { body: twoRows }, { body: failedEnvelope('no such table') });
    api.on(paths.show, shown('failed'));
    const failed = await piped('select 1;\nselect\n 2;\nselect 3;');
    expect([failed.code, sent()]).toEqual([3, ['select 1', 'select\n 2']]);
    expect(failed.stderr).toContain('stopped at the statement that ends in line 3 of the input; nothing after it was run');
    expect(failed.stderr).toContain('error: execute: no such table');
    api.on(paths.create, created('pending', { approvers: ['group:dba-team'] }));
    const waiting = await piped('select 4; select 5;');
    expect([waiting.code, sent().slice(2)]).toEqual([2, ['select 4']]);
    const unasked = await piped('delete from t where id = 1; select 6;');
    expect([unasked.code, sent().slice(3)]).toEqual([1, []]);
    expect(unasked.stderr).toContain('add --yes');
    const last = await piped('\ndelete from t where id = 1\n\n');
    expect(last.stderr).toContain('in line 2 of the input');
  });

  it('runs nothing of what ends within a quote, and reads it as the database does', async () => {
    const open = await piped("select 1; select 'a; select 2;");
    expect([open.code, sent()]).toEqual([2, ['select 1']]);
    expect(open.stderr).toContain('ends within a quote; it was not run');
    const mysql = { databases: [{ database: 'app', environment: 'staging', dialect: 'mysql' }] };
    api.on('GET /api/databases', { body: mysql });
    expect((await piped("select 'it\\'s; one';")).code).toBe(0);
    expect(sent().at(-1)).toBe("select 'it\\'s; one'");
  });

  it('shows the schema, and knows no other commands', async () => {
    const table = { schema_name: 'public', name: 'items', estimated_rows: 3, columns: [{ name: 'id', data_type: 'int8' }] };
    const page = { database: 'app', environment: 'staging', dialect: 'postgresql', status: 'ready' };
    api.on('GET /api/schemas/app', ({ query }) => ({
      body: { ...page, tables: [table], ...(query.has('table') && { table }) },
    }));
    const { code, stdout } = await piped('\\dt\n\\d items;\n\\d\n\\q\nselect 1;');
    expect([code, sent()]).toEqual([0, []]);
    expect(stdout).toMatch(/SCHEMA +TABLE[\s\S]*int8/);
    expect(api.calls.filter(({ path }) => path === '/api/schemas/app').map(({ query }) => Object.fromEntries(query))).toEqual([
      { environment: 'staging' },
      { environment: 'staging', table: 'items' },
      { environment: 'staging', summary: 'false' },
    ]);
    const unknown = await piped('\\! rm\u001b[2J -rf\nselect 1;');
    expect([unknown.code, sent()]).toEqual([2, []]);
    expect(unknown.stderr).toContain('\\! rm\\u001b[2J -rf is not a command');
  });

  it.each([
    [['--json'], 'select 1;'],
    [['--format', 'quiet'], 'select 1;'],
    [['--emergency'], 'select 1;'],
    [['--idempotency-key', 'k'], 'select 1;'],
    [[], ''],
    [[], ' \n'],
  ])('refuses %j with %j', async (argv, stdin) => {
    expect((await piped(stdin, ...argv)).code).toBe(2);
    expect(sent()).toEqual([]);
  });

  it('keeps no history', async () => {
    await piped('select 1;');
    expect(existsSync(join(home, '.config'))).toBe(false);
  });
});

describe('svc shell on a terminal (CL-53)', () => {
  const prompt = 'app/staging=> ';

  /** Types each text when the prompt of the one before is there; a function waits for something else, and may do it. */
  async function typing(texts: readonly (string | ((control: Control) => Promise<void> | void))[], options: SvcOptions = {}) {
    let control: Control | undefined;
    const running = runSvc(['shell', '--no-color', '--no-pager'], {
      environment: environment(),
      terminal: true,
      ...options,
      started: (given) => {
        control = given;
      },
    });
    let seen = 0;
    for (const text of texts) {
      if (typeof text !== 'string') {
        await text(control!);
        continue;
      }
      const from = seen;
      await eventually(() => /(=> |-> )/.test(control!.stderr().slice(from)));
      seen = control!.stderr().length;
      control!.stdin.write(text);
    }
    return running;
  }
  type Control = Parameters<NonNullable<SvcOptions['started']>>[0];

  it('runs statements of several lines, and leaves by \\q and by Ctrl-D', async () => {
    const { code, stdout, stderr } = await typing(['select 1\n', '+ 2; select 3;\n', '\\q\n']);
    expect([code, sent()]).toEqual([0, ['select 1\n+ 2', 'select 3']]);
    expect(stdout.match(/\(2 rows\)/g)).toHaveLength(2);
    expect(stderr).toContain(prompt);
    expect((await typing(['\u0004'])).code).toBe(0);
  });

  it('takes exit, quit and help at an empty prompt as psql does, and elsewhere as SQL', async () => {
    const helped = await typing(['help\n', 'select a as\n', 'exit\n', ';\n', 'EXIT;\n']);
    expect([helped.code, sent()]).toEqual([0, ['select a as\nexit']]);
    expect(helped.stderr).toContain('list the tables, as the agent last saw them');
    expect((await typing(['quit\n'])).code).toBe(0);
    await piped('exit', '--yes');
    expect(sent()).toEqual(['select a as\nexit', 'exit']);
  });

  it('goes on after a statement that failed, but not with what follows it on the line or in a paste', async () => {
    api.on(paths.stream, { body: failedEnvelope('boom') }, { body: failedEnvelope('boom') }, { body: twoRows });
    api.on(paths.show, shown('failed'));
    const { code, stderr } = await typing(['select 1; select 2;\n', 'select 3;\nselect 4;\nselect 5', 'select 6;\n', '\\q\n']);
    expect([code, sent()]).toEqual([0, ['select 1', 'select 3', 'select 6']]);
    expect(stderr.match(/error: execute: boom/g)).toHaveLength(2);
    expect(stderr.match(/the rest of the input was not run/g)).toHaveLength(2);
  });

  it('drops what is typed at Ctrl-C', async () => {
    const { code } = await typing(['delete from t\n', 'where \u0003', 'select 1;\n', '\\q\n']);
    expect([code, sent()]).toEqual([0, ['select 1']]);
  });

  it('asks before a write, as execute does', async () => {
    const answer = (text: string) => async (control: Control) => {
      const asked = control.stderr().length;
      await eventually(() => /Run this on app\/staging\? \[y\/N\] $/.test(control.stderr()));
      expect(asked).toBeGreaterThan(0);
      control.stdin.write(text);
    };
    const { code, stderr } = await typing([
      ...['update t set a = 1;\n', answer('n\n'), 'update t set a = 2;\n', answer('y\n'), '\\q\n'],
    ]);
    expect([code, sent()]).toEqual([0, ['update t set a = 2']]);
    expect(stderr).toContain('not confirmed; nothing was done');
  });

  it('asks at Ctrl-C what becomes of a request that waits, and goes on (CL-26)', async () => {
    api.on(paths.show, shown('running')).on(paths.stream, { hang: true });
    const { code, stderr } = await typing([
      'select 1;\n',
      async (control) => {
        await eventually(() => api.calls.some(({ path }) => path.endsWith('/stream')));
        control.interrupt();
        await eventually(() => control.stderr().includes('Cancel the request?'));
        control.stdin.write('n\n');
        await eventually(() => control.stderr().includes(`request ${requestId} continues`));
        await eventually(() => control.stderr().endsWith(prompt) || control.stderr().includes(`${prompt}\u001b[`));
        control.stdin.write('\\q\n');
      },
    ]);
    expect([code, api.bodies(paths.cancel)]).toEqual([0, []]);
    expect(stderr).toContain('execute: interrupted');
  });

  it('ends with what runs when its process is told to end', async () => {
    api.on(paths.show, shown('running')).on(paths.stream, { hang: true });
    const { code, stderr } = await typing([
      'select 1;\n',
      async (control) => {
        await eventually(() => api.calls.some(({ path }) => path.endsWith('/stream')));
        control.interrupt('SIGTERM');
      },
    ]);
    expect([code, api.bodies(paths.cancel)]).toEqual([130, []]);
    expect(stderr).toContain(`request ${requestId} continues`);
  });

  it('ends when it is told to end at the prompt', async () => {
    const { code, stderr } = await typing([
      async (control) => {
        await eventually(() => control.stderr().includes(prompt));
        control.interrupt();
      },
    ]);
    expect([code, stderr]).toEqual([130, expect.stringContaining('shell: interrupted')]);
  });

  it('completes commands, keywords and the names of tables that need no quotes', async () => {
    const names = ['items', 'odd name', 'x\u001b[2J', 'x"; drop', 'zebra'];
    const tables = names.map((name) => ({ schema_name: name === 'zebra' ? 'zoo' : 'public', name }));
    api.on('GET /api/schemas/app', { body: { tables } });
    /** Types, presses Tab, and waits for what that adds. */
    const tab = (typed: string, added: string) => async (control: Control) => {
      control.stdin.write(typed);
      await eventually(() => control.stderr().endsWith(typed));
      control.stdin.write('\t');
      await eventually(() => control.stderr().endsWith(added));
    };
    const end = (control: Control) => void control.stdin.write(';\n');
    await typing([
      ...['', tab('sel', 'ect'), tab(' * from ite', 'ms'), end],
      ...['', tab('SEL', 'ECT'), tab(' 1 from zoo.', 'zebra'), end, '\\q\n'],
    ]);
    expect(sent()).toEqual(['select * from items', 'SELECT 1 from zoo.zebra']);
    const looks = () => api.calls.filter(({ path }) => path === '/api/schemas/app').length;
    expect(looks()).toBe(1);
    // Neither x has a name that could be typed as it is; and without a snapshot there are no names.
    await typing(['', tab('select 3 from x', 'x'), end, '\\q\n']);
    api.on('GET /api/schemas/app', { status: 403, body: { error: 'no', code: 'auth.forbidden', hint: null } });
    const before = looks();
    await typing([
      '',
      tab('select 4 from ite', 'ite'),
      async () => void (await eventually(() => looks() > before)),
      end,
      '\\q\n',
    ]);
    expect(sent().slice(2)).toEqual(['select 3 from x', 'select 4 from ite']);
  });

  describe('history (CL-54)', () => {
    const file = () => join(home, '.config', 'svc', 'history');

    it('is a file for its owner only, brought back by the next shell', async () => {
      await typing(['select 1\n', '+ 1;\n', '\\dt\n', '\\q\n']);
      expect(readFileSync(file(), 'utf8')).toBe('select 1\n+ 1;\n\\dt\n\\q\n');
      expect([statSync(file()).mode & 0o777, statSync(join(home, '.config', 'svc')).mode & 0o777]).toEqual([0o600, 0o700]);
      writeFileSync(file(), 'select 7;\nselect "\u001b[2J";\n');
      await typing(['\u001b[A\n', `select '${'x'.repeat(4000)}';\n`, '\\q\n']);
      expect(sent()[1]).toBe('select 7');
      expect(readFileSync(file(), 'utf8')).toMatch(/J";\nselect 7;\n\\q\n$/);
    });

    it('keeps nothing that begins with a blank, or that may hold a secret on any of its lines', async () => {
      const secrets = ['alter user a\n', 'password\n', "'hunter2';\n", "create user b identified by 'hunter2';\n"];
      await typing([
        ' select 1\n',
        ', 2;\n',
        ...secrets.slice(0, 3),
        (control) => answerNo(control),
        secrets[3]!,
        (control) => answerNo(control),
        'select 3;\n',
        '\\q\n',
      ]);
      expect(readFileSync(file(), 'utf8')).toBe('select 3;\n\\q\n');
    });

    const answerNo = async (control: Control) => {
      await eventually(() => control.stderr().endsWith('[y/N] '));
      control.stdin.write('n\n');
    };

    it.each(['svc_00112233445566778899aabbccddeeff', 'https://u:hunter2@example.com', '-----BEGIN PRIVATE KEY-----', 'api_key'])(
      'keeps nothing with %s',
      async (secret) => {
        await typing([`select '${secret}';\n`, '\\q\n']);
        expect(readFileSync(file(), 'utf8')).toBe('\\q\n');
      },
    );

    it('is not kept in what is a link or open to others, which is told once', async () => {
      mkdirSync(join(home, '.config', 'svc'), { recursive: true });
      writeFileSync(join(home, 'elsewhere'), '', { mode: 0o600 });
      symlinkSync(join(home, 'elsewhere'), file());
      const linked = await typing(['select 1;\n', '\\q\n']);
      expect([linked.code, readFileSync(join(home, 'elsewhere'), 'utf8')]).toEqual([0, '']);
      expect(linked.stderr.match(/the history is not kept/g)).toHaveLength(1);
      home = await temporaryFolder();
      mkdirSync(join(home, '.config', 'svc'), { recursive: true });
      writeFileSync(file(), 'select 9;\n');
      chmodSync(file(), 0o644);
      expect((await typing(['\u001b[A\n', 'select 2;\n', '\\q\n'])).stderr).toContain('others can read or write it');
      expect(readFileSync(file(), 'utf8')).toBe('select 9;\n');
      expect(sent().at(-1)).toBe('select 2');
    });

    it('is cut to its newest thousand lines', async () => {
      mkdirSync(join(home, '.config', 'svc'), { recursive: true });
      writeFileSync(file(), `select '${'x'.repeat(700)}';\n`.repeat(1500), { mode: 0o600 });
      await typing(['\\q\n']);
      expect(readFileSync(file(), 'utf8').split('\n')).toHaveLength(1002);
    });
  });
});
