import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clone } from '../../dev/layout.js';

/** In the folder that global-setup makes for the run and that every test process has as its folder for temporary files. */
const file = () => join(tmpdir(), 'not-run.txt');

/**
 * Notes that the tests of a file (its `import.meta.url`) do not run because an engine is missing, so that the run says so at its
 * end. With CI=true it throws, which fails the file (DV-12).
 */
export function noteNotRun(testFile: string, why: string): void {
  if (process.env.CI === 'true') throw new Error(lineOf(testFile, why));
  noteLeftOut(testFile, why);
}

/** The same if the product does not depend on what is missing; fails nowhere. */
export function noteLeftOut(testFile: string, why: string): void {
  appendFileSync(file(), `${lineOf(testFile, why)}\n`);
}

const lineOf = (testFile: string, why: string) => `not run: ${relative(clone, fileURLToPath(testFile))}: ${why}`;

/** Prints what was noted, and leaves it for `npm test`, which repeats it in its last lines. */
export function tellNotRun(): void {
  if (!existsSync(file())) return;
  const lines = readFileSync(file(), 'utf8');
  if (process.env.SVC_TEST_NOT_RUN) writeFileSync(process.env.SVC_TEST_NOT_RUN, lines);
  else process.stderr.write(lines);
}
