import { chmodSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runGo } from '../go-run.js';
import type { ProgramOptions } from './archives.js';

const program = 'github.com/temporalio/cli/cmd/temporal';

/**
 * Builds the Temporal CLI of the pinned module beside this file to `file`: 4 to 5 min on 2 cores, seconds with warm Go caches.
 */
export async function buildTemporal(file: string, { environment, report, signal }: ProgramOptions): Promise<void> {
  const announcement = 'building the program with Go; this happens once and takes about five minutes';
  const unfinished = `${file}.${process.pid}`;
  mkdirSync(dirname(file), { recursive: true });
  try {
    const args = ['build', '-v', '-trimpath', '-ldflags=-s -w', '-o', unfinished, program];
    await runGo({
      name: 'Temporal',
      announcement,
      args,
      cwd: fileURLToPath(new URL('./', import.meta.url)),
      environment,
      report,
      signal,
    });
    chmodSync(unfinished, 0o700);
    renameSync(unfinished, file);
  } finally {
    rmSync(unfinished, { force: true });
  }
}
