import { spawnSync } from 'node:child_process';
import { chmodSync, createWriteStream, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ProgramOptions, temporalVersion } from './version.js';

const defaultUrl = `https://temporal.download/cli/v${temporalVersion.cli}`;
/** A download that does not move for so long is given up. */
const idleMs = 10_000;
const maxArchiveBytes = 500_000_000;

/** Downloads the Temporal CLI to `file`, the way the SDK does it. Throws when the host does not answer, refuses or stalls. */
export async function downloadTemporal(file: string, options: ProgramOptions): Promise<void> {
  const folder = join(dirname(file), `download-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const watch = idleWatch(options.signal);
  try {
    const { archiveUrl, fileToExtract } = await findArchive(options.downloadUrl ?? defaultUrl, watch);
    options.report(`Temporal: downloading the program from ${new URL(archiveUrl).host}`);
    const archive = join(folder, 'archive');
    await fetchArchive(archiveUrl, archive, watch);
    const unpacked = spawnSync('tar', ['-xzf', archive, '-C', folder, fileToExtract], { timeout: 60_000 });
    if (unpacked.status !== 0) throw new Error('the archive cannot be unpacked');
    chmodSync(join(folder, fileToExtract), 0o755);
    renameSync(join(folder, fileToExtract), file);
  } catch (error) {
    throw new Error(reasonOf(error));
  } finally {
    watch.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function findArchive(address: string, watch: Watch): Promise<{ archiveUrl: string; fileToExtract: string }> {
  const url = new URL(address);
  url.searchParams.set('arch', process.arch === 'x64' ? 'amd64' : process.arch);
  url.searchParams.set('platform', process.platform === 'win32' ? 'windows' : process.platform);
  url.searchParams.set('format', 'tar.gz');
  const answer = (await (await request(url.href, watch)).json()) as { archiveUrl?: unknown; fileToExtract?: unknown };
  const { archiveUrl, fileToExtract } = answer;
  const isPlainName = typeof fileToExtract === 'string' && basename(fileToExtract) === fileToExtract;
  if (typeof archiveUrl !== 'string' || !isPlainName) throw new Error('the answer names no archive');
  return { archiveUrl, fileToExtract };
}

async function fetchArchive(url: string, file: string, watch: Watch): Promise<void> {
  const response = await request(url, watch);
  if (response.body === null) throw new Error('the archive is empty');
  let bytes = 0;
  const count = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.length;
      watch.moved();
      done(bytes > maxArchiveBytes ? new Error('the archive is too large') : null, chunk);
    },
  });
  await pipeline(Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]), count, createWriteStream(file), {
    signal: watch.signal,
  });
}

async function request(url: string, watch: Watch): Promise<Response> {
  const response = await fetch(url, { signal: watch.signal });
  watch.moved();
  if (!response.ok) throw new Error(`${new URL(url).host} answers ${response.status}`);
  return response;
}

interface Watch {
  signal: AbortSignal;
  moved(): void;
  end(): void;
}

/** Aborts when nothing moved for `idleMs`, or when the caller gives up. */
function idleWatch(outer: AbortSignal): Watch {
  const controller = new AbortController();
  const stall = () => controller.abort(new Error(`nothing came for ${idleMs / 1000} s`));
  const giveUp = () => controller.abort(outer.reason);
  outer.addEventListener('abort', giveUp, { once: true });
  let timer = setTimeout(stall, idleMs);
  const moved = () => {
    clearTimeout(timer);
    timer = setTimeout(stall, idleMs);
  };
  const end = () => {
    clearTimeout(timer);
    outer.removeEventListener('abort', giveUp);
  };
  return { signal: controller.signal, moved, end };
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code || message : message;
}
