import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { version } from '../../cli/version.js';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc } from './run-svc.js';

let api: FakeApi;
beforeAll(async () => {
  api = await startFakeApi();
});
afterAll(() => api.close());

/** Section 14, and CL-01, CL-29. */
const usageErrors: string[][] = [
  ['bogus'],
  [],
  ['request'],
  ['request', 'bogus', 'abcd'],
  ['whoami', '--bogus'],
  ['whoami', 'extra'],
  ['request', 'show'],
  ['request', 'list', '--limit'],
  ['request', 'list', '--limit', 'x'],
  ['request', 'show', 'abc'],
  ['whoami', '--format', 'xml'],
  ['execute'],
  ['execute', 'SELECT 1', '--file', 'q.sql'],
  ['execute', ''],
  ['execute', '--file', '/nonexistent/q.sql'],
  ['execute', 'SELECT 1', '--result-format', 'xml'],
  ['execute', 'SELECT 1', '--allow-ddl'],
  ['execute', '--share-with', 'bob', 'SELECT 1'],
  ['execute', 'SELECT 1', '--timeout', '-1'],
  ['request', 'approve', 'abcd', '--as', 'dba-team'],
  ['token', 'create', '--no-scope-ceiling'],
  ['token', 'create', '--subject', 'a', '--subject-type', 'agent', '--no-scope-ceiling', '--scope-roles', 'x'],
  ['token', 'create', '--expires', 'tomorrow'],
  ['token', 'create', '--scope', 'shop/staging'],
  ['token', 'create', '--agent', 'a', '--subject', 'b'],
  ['token', 'create', '--agent', 'a', '--subject-type', 'user'],
  ['token', 'create', '--agent', 'a', '--scope'],
  ['token', 'create', '--subject-type', 'agent'],
  ['user', 'update', 'mira'],
  ['user', 'update', 'mira', '--role', 'dba', '--add-role', 'x'],
  ['user', 'update', 'mira', '--role', 'dba', '--rm-role', 'x'],
  ['user', 'update', '--role', 'dba'],
  ['user', 'suspend'],
  ['user', 'rm', 'a', 'b'],
  ['group', 'show'],
  ['role'],
  ['audit', 'list', '--since', '2026-05-01T00:00:00'],
  ['audit', 'list', '--event-type', 'nosuch'],
  ['audit', 'export', '--operation', 'drop'],
  ['policy', 'resolve', 'shop', 'staging', '--operation', 'nosuch'],
  ['webhook', 'deliveries', '--event', 'nosuch'],
  ['migrate'],
  ['migrate', 'create'],
  ['migrate', 'create', ' '],
  ['migrate', 'up', '--count', '0'],
  ['migrate', 'up', '--count', '1.5'],
  ['migrate', 'up', '--after', 'a b'],
  ['migrate', 'down', '--count', '-1'],
  ['migrate', 'up', '--allow-ddl'],
  ['migrate', 'repair', '--action', 'add', '--version', '1', '--emergency', '--reason', 'r'],
  ['migrate', 'repair', '--action', 'remove', '--version', 'a_b', '--emergency', '--reason', 'r'],
];

describe('bad command lines', () => {
  it('names an option that is not known and the one that may be meant, and says where SQL with a dash goes (CL-01)', async () => {
    const mistyped = await runSvc(['execute', '--flie', 'q.sql']);
    expect(mistyped.stderr).toMatch(/^error: unknown option --flie \(did you mean --file\?\)\n/);
    const sql = await runSvc(['execute', "-1 + 'a'"]);
    expect(sql.stderr).toBe('error: text that begins with - is taken for an option\nhint: put SQL that begins with - after --\n');
  });

  for (const argv of usageErrors) {
    it(`svc ${argv.join(' ')}: exit 2, code usage, nothing sent`, async () => {
      const result = await runSvc([...argv, '--json'], { environment: login(api.url), stdin: '' });
      expect(result.code).toBe(2);
      expect(result.stdout.split('\n')).toHaveLength(2);
      expect(JSON.parse(result.stdout)).toMatchObject({ ok: false, data: null, error: { code: 'usage' } });
      expect(api.calls).toHaveLength(0);
    });
  }

  it.each([
    [
      ['request', 'list', '--status', 'pendign'],
      "--status does not take 'pendign' (did you mean pending?): the choices are pending, approved, ",
    ],
    [['request', 'list', '--status', 'foo'], "--status does not take 'foo': the choices are pending, approved, "],
    [
      ['audit', 'list', '--event-type', 'request.aproved'],
      "--event-type does not take 'request.aproved' (did you mean request.approved?)\n",
    ],
    [['completion', 'fihs'], "shell cannot be 'fihs' (did you mean fish?): the choices are bash, zsh, fish"],
  ])('names the choices, and the one that may be meant: %j', async (argv, told) => {
    expect((await runSvc(argv)).stderr).toContain(`error: ${told}`);
  });

  it.each([
    [['audit', 'lst'], "unknown command 'lst' (did you mean list?)\nhint: svc audit --help\n"],
    [['audit', '--limit', '5', 'lst'], "unknown command 'lst' (did you mean list?)\nhint: svc audit --help\n"],
    [['schema', 'orders'], "unexpected argument 'orders'\nhint: svc schema --help\n"],
    [['execute', 'select', '1'], "unexpected argument '1'\nhint: put the SQL in quotes\n"],
    [['request', 'show'], '<id> is missing\nhint: svc request show --help\n'],
    [['evidence', 'get', '4f0c9d0e'], '--output is missing\nhint: svc evidence get --help\n'],
    [['preflight', '-d'], '--database needs a value\nhint: svc preflight --help\n'],
    [
      ['request', 'list', '--limit', 'x'],
      "--limit does not take 'x': it must be a whole number\nhint: svc request list --help\n",
    ],
  ])('says what is wrong with a word, and what helps: %j', async (argv, told) => {
    expect((await runSvc(argv)).stderr).toBe(`error: ${told}`);
  });

  it('leaves a long list of choices out of the help', async () => {
    const { stdout } = await runSvc(['audit', 'list', '--help']);
    expect(stdout).toContain('(choices: "success"');
    expect(stdout).not.toContain('"request.approved"');
  });

  it.each([
    [['migrate', 'up', '--count', '0'], 'svc migrate up --help'],
    [['--env', 'staging', 'migrate', 'redo'], 'svc migrate --help'],
    [['bogus'], 'svc --help'],
  ])('names the help of the nearest command: %j', async (argv, help) => {
    const { stderr } = await runSvc(argv, { environment: login(api.url) });
    expect(stderr).toContain(`\nhint: ${help}\n`);
  });

  it('refuses text that is not UTF-8', async () => {
    const result = await runSvc(['execute', '--file', '-'], {
      environment: login(api.url),
      started: ({ stdin }) => stdin.end(Buffer.from('fffe', 'hex')),
    });
    expect(result).toMatchObject({ code: 2, stderr: 'error: execute: the SQL is not UTF-8\n' });
  });

  it('says which command it does not know when help on it is asked for', async () => {
    const { code, stderr } = await runSvc(['help', 'nosuch'], { environment: login(api.url) });
    expect([code, stderr]).toEqual([2, "error: unknown command 'nosuch'\nhint: svc --help\n"]);
    expect((await runSvc(['help', 'request'], { environment: login(api.url) })).stdout).toContain('svc request');
  });

  it('refuses --json with another format', async () => {
    expect((await runSvc(['whoami', '--json', '--format', 'quiet'])).code).toBe(2);
  });

  it('prints help and version as plain text, exit 0', async () => {
    expect(await runSvc(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: svc'), stderr: '' });
    expect(await runSvc(['request', 'show', '-h'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Usage: svc request show'),
    });
    expect(await runSvc(['whoami', '-v'])).toMatchObject({ code: 0, stdout: `svc ${version}\n` });
  });

  it('has the version of package.json', () => {
    expect(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version).toBe(version);
  });
});
