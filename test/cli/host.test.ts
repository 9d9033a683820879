import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { shopToml } from '../support/api.js';

const svc = fileURLToPath(new URL('../../bin/svc', import.meta.url));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-host-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function run(...args: string[]) {
  const env = { PATH: process.env.PATH, HOME: folder, SVC_CONFIG: join(folder, 'missing.toml') };
  return spawnSync(svc, args, { cwd: folder, env, encoding: 'utf8', timeout: 60_000 });
}

describe('commands of the gateway host (CL-60)', () => {
  it('read server.toml only: the files of the client and their faults play no part', { timeout: 120_000 }, () => {
    writeFileSync(join(folder, 'svc.toml'), 'no toml');
    writeFileSync(
      join(folder, 'server.toml'),
      `state_dir = "state"\n${shopToml}\n[database]\nurl = "postgres://gateway@127.0.0.1:1/gateway"`,
    );
    expect(run('config', 'check')).toMatchObject({ status: 0, stderr: '' });
    const missing = run('config', 'check', '--config', 'other.toml');
    expect(missing).toMatchObject({ status: 1 });
    expect(missing.stdout + missing.stderr).toContain('other.toml');
  });

  it('print one line of JSON with --json, and nothing else with --format quiet (CL-60)', { timeout: 300_000 }, () => {
    writeFileSync(
      join(folder, 'server.toml'),
      `state_dir = "state"\n${shopToml}\n[database]\nurl = "postgres://gateway@127.0.0.1:1/gateway"`,
    );
    const commands = [
      ['config', 'check'],
      ['server', 'reload'],
      ['server', 'keys', 'list'],
      ['server', 'keys', 'rotate'],
    ];
    const bad = ['server', 'reload', '--bogus'];
    for (const words of [...commands, bad]) {
      const [json, quiet] = [run(...words, '--json'), run('--format', 'quiet', ...words)];
      expect([words, quiet.stderr, json.stdout]).toEqual([words, '', quiet.stdout]);
      const { ok, error } = JSON.parse(json.stdout);
      expect([words, json.stdout.split('\n').length, ok]).toEqual([words, 2, json.status === 0]);
      expect([words, quiet.status, error?.code]).toEqual(
        words === commands[0] ? [words, 0, undefined] : [words, words === bad ? 2 : 1, words === bad ? 'usage' : 'host_error'],
      );
    }
  });

  it('are helped by svc help as by their own --help, as those of the client are', { timeout: 120_000 }, () => {
    for (const words of [['server'], ['server', 'keys', 'rotate'], ['config', 'check'], ['migrate', 'up']]) {
      const help = run('help', ...words);
      expect([help.status, help.stdout]).toEqual([0, run(...words, '--help').stdout]);
      expect(help.stdout).toContain(`Usage: svc ${words.join(' ')} `);
    }
  });

  it('answer 2 to a bad command line, in the words of the client (OP-51, CL-01)', { timeout: 120_000 }, () => {
    const lines = [
      [['server', '--confg', 'x'], 'unknown option --confg (did you mean --config?)\nhint: svc server --help'],
      [['server', 'relaod'], "unknown command 'relaod' (did you mean reload?)\nhint: svc server --help"],
      [['config', 'chekc'], "unknown command 'chekc' (did you mean check?)\nhint: svc config --help"],
      ...[':3000', '127.0.0.1:', 'localhost', 'localhost:65536'].map(
        (listen) =>
          [
            ['server', '--listen', listen],
            `--listen does not take '${listen}': it must be host:port\nhint: svc server --help`,
          ] as const,
      ),
      [['server', 'keys'], 'a subcommand is missing\nhint: svc server keys --help'],
      [['server', 'keys', 'revoke'], '<key_id> is missing\nhint: svc server keys revoke --help'],
    ] as const;
    for (const [words, told] of lines)
      expect([words, run(...words)]).toMatchObject([words, { status: 2, stdout: '', stderr: `error: ${told}\n` }]);
    expect(JSON.parse(run('server', 'reload', '--confg', 'x', '--json').stdout).error).toEqual({
      code: 'usage',
      message: 'unknown option --confg (did you mean --config?)',
      hint: 'svc server reload --help',
    });
  });
});
