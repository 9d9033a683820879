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

  it('answer 2 to a bad command line, in plain words (OP-51)', { timeout: 120_000 }, () => {
    const refused = run('server', '--bogus');
    expect(refused).toMatchObject({ status: 2, stdout: '' });
    expect(refused.stderr).toContain("unknown option '--bogus'");
  });
});
