import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';
/** A whole run needs a tenth of it. */
const enoughBytes = 4 * 1024 ** 3;

/** A new folder for the data of a server that every user may enter: in the memory folder of the run, if there is one. The caller removes it. */
export function makeDataFolder(name: string): string {
  const folder = mkdtempSync(join(process.env.SVC_TEST_MEMORY ?? tmpdir(), name));
  chmodSync(folder, 0o755);
  return folder;
}

/**
 * A new folder in memory, where a database is copied in 15 ms of CPU time instead of 110 ms on ext4; null where there is not enough
 * room, as in most containers. The caller removes it; what a killed run has left is removed here.
 */
export function makeMemoryFolder(): string | null {
  if (!existsSync(memory)) return null;
  for (const name of readdirSync(memory)) {
    const pid = /^svc-test-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(memory, name), { recursive: true, force: true });
  }
  const { bavail, bsize } = statfsSync(memory);
  if (bavail * bsize < enoughBytes) return null;
  const folder = mkdtempSync(join(memory, `svc-test-${process.pid}-`));
  chmodSync(folder, 0o755);
  return folder;
}
