import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ProgramOptions } from './version.js';

const program = 'github.com/temporalio/cli/cmd/temporal';
const buildWaitMs = 25 * 60_000;
const reportEveryMs = 10_000;

/** Builds the Temporal CLI of the pinned module beside this file to `file`: 4 to 5 min on 2 cores, seconds when Go's caches are warm. */
export async function buildTemporal(file: string, options: ProgramOptions): Promise<void> {
  checkGo(options.environment);
  options.report('Temporal: building the program with Go; this happens once and takes about five minutes');
  const unfinished = `${file}.${process.pid}`;
  mkdirSync(dirname(file), { recursive: true });
  try {
    await runGo(['build', '-v', '-trimpath', '-ldflags=-s -w', '-o', unfinished, program], options);
    renameSync(unfinished, file);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

/** Go 1.21 and newer fetch the toolchain that the module asks for; older ones fail in the middle of the build. */
function checkGo(environment: Record<string, string | undefined>): void {
  const answer = spawnSync('go', ['version'], { encoding: 'utf8', timeout: 10_000, env: environment });
  const [, major, minor] = /go version go(\d+)\.(\d+)/.exec(answer.stdout ?? '') ?? [];
  if (major === undefined) throw new Error('Go is not installed');
  if (Number(major) === 1 && Number(minor) < 21) throw new Error(`Go ${major}.${minor} is too old to build it`);
}

async function runGo(args: string[], options: ProgramOptions): Promise<void> {
  const startedAt = Date.now();
  const child = spawn('go', args, {
    cwd: fileURLToPath(new URL('./', import.meta.url)),
    env: { ...options.environment, CGO_ENABLED: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal: options.signal,
    timeout: buildWaitMs,
  });
  let lines = 0;
  let last = '';
  const reporter = setInterval(() => {
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    options.report(`Temporal: building for ${seconds} s, ${lines} steps${last && `, now ${last.slice(0, 100)}`}`);
  }, reportEveryMs);
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines += 1;
    last = line;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => clearInterval(reporter));
  if (code !== 0) throw new Error(`the build with Go failed: ${last.slice(0, 300)}`);
}
