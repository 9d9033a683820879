import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, createWriteStream, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { anySignal } from '../../lib/signals.js';
import type { ProgramOptions, TemporalArchive } from './archives.js';

/** A download without progress is abandoned after this time. */
const idleMs = 10_000;
const maxArchiveBytes = 500_000_000;

/** Downloads the Temporal CLI to `file`; uses nothing from the archive before its sum matches the pinned one (HD-92). */
export async function downloadTemporal(file: string, archive: TemporalArchive, options: ProgramOptions): Promise<void> {
  const folder = join(dirname(file), `download-${process.pid}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const watch = idleWatch(options.signal);
  try {
    options.report(`Temporal: downloading the program from ${new URL(archive.url).host}`);
    const packed = join(folder, 'archive');
    const sum = await fetchArchive(archive.url, packed, watch);
    if (sum !== archive.sha256) throw new Error(`the archive is not the pinned one: its SHA-256 is ${sum}`);
    const unpacked = spawnSync('tar', ['-xzf', packed, '-C', folder, archive.member], { timeout: 60_000 });
    if (unpacked.status !== 0) throw new Error('the archive cannot be unpacked');
    chmodSync(join(folder, archive.member), 0o700);
    renameSync(join(folder, archive.member), file);
  } catch (error) {
    throw new Error(reasonOf(error));
  } finally {
    watch.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the SHA-256 of the downloaded bytes. */
async function fetchArchive(url: string, file: string, watch: Watch): Promise<string> {
  const response = await request(url, watch);
  if (response.body === null) throw new Error('the archive is empty');
  const hash = createHash('sha256');
  let bytes = 0;
  const count = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.length;
      hash.update(chunk);
      watch.moved();
      done(bytes > maxArchiveBytes ? new Error('the archive is too large') : null, chunk);
    },
  });
  const target = createWriteStream(file, { flags: 'wx', mode: 0o600 });
  await pipeline(Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]), count, target, {
    signal: watch.signal,
  });
  return hash.digest('hex');
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

/** Aborts after `idleMs` without progress, or when the caller gives up. */
function idleWatch(outer: AbortSignal): Watch {
  const idle = new AbortController();
  const stall = () => idle.abort(new Error(`nothing came for ${idleMs / 1000} s`));
  const { signal, release } = anySignal([outer, idle.signal]);
  let timer = setTimeout(stall, idleMs);
  const moved = () => {
    clearTimeout(timer);
    timer = setTimeout(stall, idleMs);
  };
  const end = () => {
    clearTimeout(timer);
    release();
  };
  return { signal, moved, end };
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code || message : message;
}
