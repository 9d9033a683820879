import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { openEngines } from './engines.js';
import { makeMemoryFolder } from './memory-folder.js';
import { tellNotRun } from './not-run.js';

declare module 'vitest' {
  export interface ProvidedContext {
    engines: string;
  }
}

/**
 * Opens the shared engines for the whole run, and stops at its end those that were used. All temporary files of the run, those of
 * test files included, are in one folder, and the data of servers in one in memory if there is room; both are removed then.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
  chmodSync(folder, 0o755);
  process.env.TMPDIR = folder;
  const memoryFolder = makeMemoryFolder();
  if (memoryFolder !== null) process.env.SVC_TEST_MEMORY = memoryFolder;
  const engines = await openEngines(folder);
  project.provide('engines', engines.address);
  return async () => {
    await engines.close();
    tellNotRun();
    for (const used of [folder, memoryFolder]) if (used !== null) rmSync(used, { recursive: true, force: true, maxRetries: 10 });
  };
}
