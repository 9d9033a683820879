import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shells } from '../../cli/completion/shells.js';
import { runSvc } from './run-svc.js';

const folder = (toml: string) => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-completion-'));
  writeFileSync(join(directory, 'svc.toml'), toml);
  return directory;
};
const configured = folder(`default_database = "shop"
default_environment = "staging"
[server]
url = "http://127.0.0.1:1"
token = "svc_00112233445566778899aabbccddeeff"
[databases.ledger]
migrations_dir = "migrations"
[databases."$(touch evil)"]
`);

const scriptOf = async (shell: string, directory = configured) => (await runSvc(['completion', shell], { directory })).stdout;

/** What bash offers for the last of these words. */
async function offered(words: string[], directory = configured): Promise<string[]> {
  const script = await scriptOf('bash', directory);
  const line = ['svc', ...words].map((word) => `'${word}'`).join(' ');
  const ask = `COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', `${script}\n${ask}`], {
    encoding: 'utf8',
    cwd: directory,
  });
  expect([status, stderr]).toEqual([0, '']);
  return stdout.split('\n').filter((word) => word !== '');
}

describe('svc completion (CL-46)', () => {
  it.each([
    [['req'], ['request']],
    [['request', 'li'], ['list']],
    [['request', 'list', '--pend'], ['--pending-for-me']],
    [
      ['request', 'list', '--status', 'exec'],
      ['executed', 'execution_lost'],
    ],
    [
      ['--format', ''],
      ['human', 'json', 'quiet', 'github', 'sarif'],
    ],
    [
      ['token', 'create', '--subject-type', ''],
      ['user', 'agent'],
    ],
    [
      ['-d', ''],
      ['ledger', 'shop'],
    ],
    [['execute', '--database', '=', 'le'], ['ledger']],
    [['-e', ''], ['staging']],
    [['execute', '--reason', ''], []],
    [['completion', 'f'], ['fish']],
    [['server', '--for'], ['--force-bootstrap']],
    [['config', ''], ['check']],
    [
      ['config', 'check', '--format', ''],
      ['human', 'json', 'quiet'],
    ],
    [['request', 'show', '--file', 'svc'], []],
    [['execute', '--file', 'svc'], ['svc.toml']],
  ])('bash offers after svc %j: %j', async (words, expected) => {
    const found = await offered(words);
    if (expected.length > 0) expect(found.toSorted()).toEqual(expected.toSorted());
    else expect(found.filter((word) => word.startsWith(words.at(-1)!) && !word.startsWith('-'))).toEqual([]);
  });

  it('knows every command that the help knows', async () => {
    const help = (await runSvc(['--help'])).stdout;
    const commands = [
      ...help
        .split('Commands:')[1]!
        .split('Examples:')[0]!
        .matchAll(/^ {2}([a-z]+)/gm),
    ]
      .map(([, name]) => name!)
      .filter((name) => name !== 'help');
    expect(commands.length).toBeGreaterThan(10);
    expect(await offered([''])).toEqual(expect.arrayContaining(commands));
  });

  it.each(shells)('%s: holds no credential, and no name that a shell would run', async (shell) => {
    const script = await scriptOf(shell);
    expect(script).toContain('ledger');
    expect(script).not.toContain('svc_0011');
    expect(script).not.toContain('evil');
  });

  it.each(shells)('%s: exits 0 with a broken configuration, without its names', async (shell) => {
    for (const toml of ['default_database = ', 'default_database = 5', `[server]\nurl = "\${MISSING}"`]) {
      const result = await runSvc(['completion', shell], { directory: folder(toml) });
      expect([result.code, result.stderr]).toEqual([0, '']);
      expect(result.stdout).toContain('pending-for-me');
    }
    expect((await runSvc(['completion', shell, '--config', 'none.toml'], { directory: configured })).code).toBe(0);
  });

  it('refuses another shell', async () => {
    expect((await runSvc(['completion', 'csh'])).code).toBe(2);
  });
});
