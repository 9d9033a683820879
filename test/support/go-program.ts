import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { runGo } from '../../dev/go-run.js';
import { withLock } from '../../dev/with-lock.js';

/** A program that tests run and that Go builds from a module. */
export interface GoProgram {
  file: string;
  /** Of the command; its last part is `file`. */
  package: string;
  version: string;
  /** What shows that a program on the path works, `--version` if absent; null: one on the path is not used, as it may be another program of this name, or an older one. */
  asks?: string[] | null;
  /** On 2 cores. */
  buildTakes: string;
}

export interface FindOptions {
  environment: Record<string, string | undefined>;
  report: (line: string) => void;
  signal: AbortSignal;
}

const buildWaitMs = 15 * 60_000;

/** From the path, else from our cache, else a build with Go. */
export async function findGoProgram(program: GoProgram, options: FindOptions): Promise<string> {
  const found = findBuiltProgram(program, options.environment);
  if (found !== null) return found;
  const { file } = program;
  const cached = cachedFile(program, options.environment);
  const onWait = (holder: number) => options.report(`${file}: process ${holder} is building it, waiting for it`);
  await withLock(`${cached}.lock`, { waitMs: buildWaitMs, signal: options.signal, onWait }, () =>
    build(program, cached, options),
  );
  return cached;
}

/** From the path, else from our cache; null if it is in neither. */
export function findBuiltProgram(program: GoProgram, environment: FindOptions['environment']): string | null {
  const { file, asks = ['--version'] } = program;
  if (asks !== null && spawnSync(file, asks, { timeout: 10_000, env: environment }).status === 0) return file;
  const cached = cachedFile(program, environment);
  return existsSync(cached) ? cached : null;
}

function cachedFile({ file, version }: GoProgram, environment: FindOptions['environment']): string {
  const cache = environment.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(cache, 'svc', file, version, file);
}

async function build(program: GoProgram, cached: string, { environment, report, signal }: FindOptions): Promise<void> {
  if (existsSync(cached)) return;
  const { file, version, buildTakes } = program;
  const announcement = `building it with Go; this happens once and takes about ${buildTakes}`;
  const folder = `${dirname(cached)}.${process.pid}`;
  mkdirSync(folder, { recursive: true });
  try {
    const args = ['install', '-v', '-trimpath', '-ldflags=-s -w', `${program.package}@${version}`];
    await runGo({ name: file, announcement, args, environment: { ...environment, GOBIN: folder }, report, signal });
    renameSync(join(folder, file), cached);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
