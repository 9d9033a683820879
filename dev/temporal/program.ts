import { spawnSync } from 'node:child_process';
import { withLock } from '../with-lock.js';
import { archiveFor, type ProgramOptions } from './archives.js';
import { hasProgram, noteSum, openCache } from './cache.js';
import { downloadTemporal } from './download.js';
import { buildTemporal } from './go-build.js';
import { temporalVersion } from './version.js';

export interface TemporalProgram {
  file: string;
  /** Where it came from, in words for the user. */
  origin: string;
}

const makeWaitMs = 30 * 60_000;

/**
 * Finds the `temporal` program, first hit wins: SVC_TEMPORAL_CLI, the path, our cache, a download, a build with Go. Otherwise
 * throws a one-sentence error that says what to install.
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
  const cache = openCache(environment);
  if (await hasProgram(cache, options.report)) return { file: cache.file, origin: 'the cache' };
  const onWait = (holder: number) => options.report(`Temporal: process ${holder} is making the program, waiting for it`);
  return withLock(`${cache.file}.lock`, { waitMs: makeWaitMs, signal: options.signal, onWait }, async () => {
    if (await hasProgram(cache, options.report)) return { file: cache.file, origin: 'the cache' };
    const origin = await makeProgram(cache.file, options);
    await noteSum(cache);
    return { file: cache.file, origin };
  });
}

/** Returns where it came from. */
async function makeProgram(file: string, options: ProgramOptions): Promise<string> {
  const { archive = archiveFor(process.platform, process.arch) } = options;
  const download = archive === null ? Promise.reject(new Error(noSum)) : downloadTemporal(file, archive, options);
  const noDownload = await errorOf(download);
  if (noDownload === null) return 'a download';
  options.signal.throwIfAborted();
  options.report(`Temporal: no download (${noDownload.message})`);
  const noBuild = await errorOf(buildTemporal(file, options));
  if (noBuild === null) return 'a build with Go';
  options.signal.throwIfAborted();
  throw new Error(
    `no Temporal program (${noBuild.message}): install the Temporal CLI or Go 1.21 or newer, or point TEMPORAL_ADDRESS at a server`,
  );
}

const noSum = `no sum is pinned for ${process.platform} on ${process.arch}`;

const errorOf = (work: Promise<unknown>): Promise<Error | null> =>
  work.then(
    () => null,
    (error: Error) => error,
  );

/** The server version inside a Temporal CLI; null when the program is missing, hangs or is something else. */
function serverVersion(file: string, environment: Record<string, string | undefined>): string | null {
  const answer = spawnSync(file, ['--version'], { encoding: 'utf8', timeout: 10_000, env: environment });
  return /^temporal version \S+ \(Server (\d+\.\d+\.\d+)/.exec(answer.stdout ?? '')?.[1] ?? null;
}

function isAtLeast(version: string, wanted: string): boolean {
  const [a, b] = [version, wanted].map((text) => text.split('.').map(Number));
  const difference = a!.map((part, index) => part - b![index]!).find((part) => part !== 0);
  return (difference ?? 0) >= 0;
}
