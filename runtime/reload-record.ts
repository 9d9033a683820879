import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere, writePrivateFile } from './private-files.js';

/** How a server's newest reload ended; `svc server reload` waits for it. Contains no configured value (CF-I5). */
export interface ReloadRecord {
  pid: number;
  /** When reading the file began, in milliseconds since the epoch. */
  startedAt: number;
  outcome: 'applied' | 'unchanged' | 'rejected';
  generation: number;
  errors: readonly string[];
  warnings: readonly string[];
}

const pathIn = (stateDir: string) => join(stateDir, 'reload.json');

/** Replaces the record in one step. */
export async function writeReloadRecord(stateDir: string, record: ReloadRecord): Promise<void> {
  const path = pathIn(stateDir);
  await writePrivateFile(`${path}.tmp`, JSON.stringify(record));
  await rename(`${path}.tmp`, path);
}

/** Null if there was no reload. */
export async function readReloadRecord(stateDir: string): Promise<ReloadRecord | null> {
  const text = await readIfThere(pathIn(stateDir));
  return text === null ? null : (JSON.parse(text) as ReloadRecord);
}
