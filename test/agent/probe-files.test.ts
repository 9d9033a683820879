import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProbes, type Probes } from '../../agent/probes.js';

let folder: string;
let dir: string;
let victim: string;
let probes: Probes;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-probes-'));
  dir = join(folder, 'state');
  victim = join(folder, 'victim');
  probes = createProbes({ dir, listen: null, aliveForMs: 1000 });
});
afterEach(async () => {
  await probes.close();
  rmSync(folder, { recursive: true, force: true });
});

const files = ['svc-agent-alive', 'svc-agent-ready'] as const;
const write = (name: (typeof files)[number]) => (name === 'svc-agent-alive' ? probes.alive() : probes.setReady(true));

describe('probe files (AP-16, HD-93)', () => {
  it('lie in a folder that is made for the agent alone, and are its own', async () => {
    probes.alive();
    probes.setReady(true);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    for (const name of files)
      expect([statSync(join(dir, name)).mode & 0o777, statSync(join(dir, name)).size]).toEqual([0o600, 0]);
    probes.setReady(false);
    expect(existsSync(join(dir, 'svc-agent-ready'))).toBe(false);
    await probes.close();
    expect(existsSync(join(dir, 'svc-agent-alive'))).toBe(false);
  });

  it('of a process that was killed are taken over', () => {
    mkdirSync(dir);
    for (const name of files) writeFileSync(join(dir, name), '');
    utimesSync(join(dir, 'svc-agent-alive'), 0, 0);
    probes.alive();
    expect(statSync(join(dir, 'svc-agent-alive')).mtimeMs).toBeGreaterThan(0);
    probes.setReady(false);
    expect(existsSync(join(dir, 'svc-agent-ready'))).toBe(false);
  });

  it.each(files)('%s: a link makes, changes and removes nothing elsewhere', async (name) => {
    mkdirSync(dir);
    symlinkSync(victim, join(dir, name));
    expect(() => write(name)).toThrow();
    expect(existsSync(victim)).toBe(false);
    writeFileSync(victim, 'precious');
    utimesSync(victim, 0, 0);
    expect(() => write(name)).toThrow();
    if (name === 'svc-agent-ready') expect(() => probes.setReady(false)).toThrowError(/not a file of this process/);
    await probes.close();
    expect([readFileSync(victim, 'utf8'), statSync(victim).mtimeMs, lstatSync(join(dir, name)).isSymbolicLink()]).toEqual([
      'precious',
      0,
      true,
    ]);
  });

  it.each(files)('%s: a second name of another file is not touched', async (name) => {
    mkdirSync(dir);
    writeFileSync(victim, 'precious');
    linkSync(victim, join(dir, name));
    utimesSync(victim, 0, 0);
    expect(() => write(name)).toThrowError(/not a file of this process/);
    await probes.close();
    expect([readFileSync(victim, 'utf8'), statSync(victim).mtimeMs, statSync(victim).nlink]).toEqual(['precious', 0, 2]);
  });

  it.each(files)('%s: a pipe holds nobody up, and a folder is refused', (name) => {
    mkdirSync(dir);
    execFileSync('mkfifo', [join(dir, name)]);
    expect(() => write(name)).toThrow();
    rmSync(join(dir, name));
    mkdirSync(join(dir, name));
    expect(() => write(name)).toThrow();
  });

  it('are not looked for where the path is wrong', () => {
    const wrong = createProbes({ dir: join(folder, 'a', 'b'), listen: null, aliveForMs: 1000 });
    expect(() => wrong.alive()).toThrow();
    expect(existsSync(join(folder, 'a'))).toBe(false);
  });
});
