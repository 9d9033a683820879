import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { withLock } from '../with-lock.js';
import { downloadTemporal } from './download.js';
import { buildTemporal } from './go-build.js';
import { type ProgramOptions, temporalVersion } from './version.js';

export interface TemporalProgram {
  file: string;
  /** Where it came from, in words for the one who waits. */
  origin: string;
}

const makeWaitMs = 30 * 60_000;

/**
 * Finds the `temporal` program, first hit wins: SVC_TEMPORAL_CLI, the path, our cache, a download, a build with Go. Throws one
 * sentence that says what to install when there is none.
 */
export async function findTemporalProgram(options: ProgramOptions): Promise<TemporalProgram> {
  const { environment } = options;
  const named = environment.SVC_TEMPORAL_CLI;
  if (named) {
    if (serverVersion(named, environment) === null)
      throw new Error(`SVC_TEMPORAL_CLI: ${named} is not a Temporal CLI that runs here`);
    return { file: named, origin: 'SVC_TEMPORAL_CLI' };
  }
  const onPath = serverVersion('temporal', environment);
  if (onPath !== null && isAtLeast(onPath, temporalVersion.server)) return { file: 'temporal', origin: 'the path' };
  const cached = cacheFile(environment);
  if (existsSync(cached)) return { file: cached, origin: 'the cache' };
  const onWait = (holder: number) => options.report(`Temporal: process ${holder} is making the program, waiting for it`);
  return withLock(`${cached}.lock`, { waitMs: makeWaitMs, signal: options.signal, onWait }, () => makeProgram(cached, options));
}

/** `<cache>/svc/temporal/<version>/temporal`, shared by all clones of the user. */
function cacheFile(environment: Record<string, string | undefined>): string {
  const cache = environment.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(cache, 'svc', 'temporal', temporalVersion.cli, 'temporal');
}

async function makeProgram(file: string, options: ProgramOptions): Promise<TemporalProgram> {
  if (existsSync(file)) return { file, origin: 'the cache' };
  const noDownload = await downloadTemporal(file, options).then(
    () => null,
    (error: Error) => error,
  );
  if (noDownload === null) return { file, origin: 'a download' };
  options.signal.throwIfAborted();
  options.report(`Temporal: no download (${noDownload.message})`);
  const noBuild = await buildTemporal(file, options).then(
    () => null,
    (error: Error) => error,
  );
  if (noBuild === null) return { file, origin: 'a build with Go' };
  options.signal.throwIfAborted();
  throw new Error(
    `no Temporal program (${noBuild.message}): install the Temporal CLI or Go 1.21 or newer, or point TEMPORAL_ADDRESS at a server`,
  );
}

/** The version of the server inside a Temporal CLI; null when the program is missing, hangs or is something else. */
function serverVersion(file: string, environment: Record<string, string | undefined>): string | null {
  const answer = spawnSync(file, ['--version'], { encoding: 'utf8', timeout: 10_000, env: environment });
  return /^temporal version \S+ \(Server (\d+\.\d+\.\d+)/.exec(answer.stdout ?? '')?.[1] ?? null;
}

function isAtLeast(version: string, wanted: string): boolean {
  const [a, b] = [version, wanted].map((text) => text.split('.').map(Number));
  const difference = a!.map((part, index) => part - b![index]!).find((part) => part !== 0);
  return (difference ?? 0) >= 0;
}
