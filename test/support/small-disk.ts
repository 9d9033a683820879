import { spawnSync } from 'node:child_process';
import { chmodSync, closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own, which can be full. */
export interface SmallDisk {
  folder: string;
  /** Takes all the space that is left. */
  fill(): void;
  /** Gives it back. */
  free(): void;
  close(): void;
}

/** Null where this process may not mount anything, as without root and in most containers. What a killed run has left is removed here. */
export function openSmallDisk(megabytes: number): SmallDisk | null {
  unmountLeft();
  const folder = mkdtempSync(join(tmpdir(), 'svc-disk-'));
  const device = `svc-disk-of-${process.pid}`;
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, device, folder]);
  if (mounted.status !== 0) {
    rmSync(folder, { recursive: true });
    return null;
  }
  chmodSync(folder, 0o755);
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill: () => fill(ballast),
    free: () => rmSync(ballast, { force: true }),
    close() {
      spawnSync('umount', ['--lazy', folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function unmountLeft(): void {
  if (!existsSync('/proc/mounts')) return;
  for (const [, pid, folder] of readFileSync('/proc/mounts', 'utf8').matchAll(/^svc-disk-of-(\d+) (\S+)/gm))
    if (!existsSync(`/proc/${pid}`)) spawnSync('umount', ['--lazy', folder!]);
}

function fill(file: string): void {
  const descriptor = openSync(file, 'a');
  try {
    for (const size of [2 ** 20, 2 ** 12]) {
      const zeros = new Uint8Array(size);
      while (writeAll(descriptor, zeros));
    }
  } finally {
    closeSync(descriptor);
  }
}

function writeAll(descriptor: number, bytes: Uint8Array): boolean {
  try {
    return writeSync(descriptor, bytes) === bytes.length;
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOSPC') return false;
    throw error;
  }
}
