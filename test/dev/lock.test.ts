import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { holderOf, takeLock } from '../../bin/lock.mjs';
import { lockFolder } from '../../dev/folder-lock.js';
import { layoutOf } from '../../dev/layout.js';
import { temporaryFolder } from '../support/processes.js';

describe('a lock file', () => {
  it('is taken once, names its holder, and is free again after its release', async () => {
    const file = join(await temporaryFolder(), 'lock');
    const first = takeLock(file);
    expect(takeLock(file).holder).toBe(process.pid);
    expect(holderOf(file)).toBe(process.pid);
    first.release?.();
    expect(existsSync(file)).toBe(false);
    expect(takeLock(file).release).toBeTypeOf('function');
  });

  it('of a process that is gone is taken over', async () => {
    const file = join(await temporaryFolder(), 'lock');
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    writeFileSync(file, `${pid} 1\n`);
    expect(takeLock(file).release).toBeTypeOf('function');
  });

  it.runIf(process.platform === 'linux')('of a process whose id belongs to another one now is taken over', async () => {
    const file = join(await temporaryFolder(), 'lock');
    writeFileSync(file, `${process.pid} 12345\n`);
    expect(takeLock(file).release).toBeTypeOf('function');
  });

  it.each(['', 'no number', '0 0\n', '-1 5\n'])('with the content %j is taken over', async (content) => {
    const file = join(await temporaryFolder(), 'lock');
    writeFileSync(file, content);
    expect(takeLock(file).release).toBeTypeOf('function');
  });

  it('is taken over by one process only, while others that see it wait', async () => {
    const file = join(await temporaryFolder(), 'lock');
    writeFileSync(file, '999999999 1\n');
    const removal = takeLock(`${file}.stale`);
    expect(takeLock(file)).toEqual({ holder: process.pid });
    expect(readFileSync(file, 'utf8')).toBe('999999999 1\n');
    removal.release?.();
    writeFileSync(`${file}.stale`, '999999999 1\n');
    expect(takeLock(file).release).toBeTypeOf('function');
    expect(readdirSync(dirname(file))).toEqual(['lock']);
  });

  it('refuses a second svc dev on one folder and names the process (DV-3)', async () => {
    const layout = layoutOf(await temporaryFolder());
    const unlock = lockFolder(layout);
    expect(() => lockFolder(layout)).toThrow(`${layout.data} is in use by process ${process.pid}`);
    unlock();
    lockFolder(layout)();
  });
});
