import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { archiveFor, archiveSums, type TemporalArchive } from '../../dev/temporal/archives.js';
import { findTemporalProgram } from '../../dev/temporal/program.js';
import { startTemporal } from '../../dev/temporal/server.js';
import { temporalVersion } from '../../dev/temporal/version.js';
import { temporaryFolder } from '../support/processes.js';

const good = `echo "temporal version 9.9.9 (Server ${temporalVersion.server}, UI 2.0.0)"`;
const old = 'echo "temporal version 0.1.0 (Server 1.20.9, UI 2.0.0)"';

describe('where the Temporal program comes from', () => {
  it('first the one that SVC_TEMPORAL_CLI names (DV-11)', async () => {
    const place = await emptyPlace();
    const named = program(place.folder, 'mine', good);
    program(place.bin, 'temporal', good);
    expect(await place.find({ SVC_TEMPORAL_CLI: named })).toEqual({ file: named, origin: 'SVC_TEMPORAL_CLI' });
  });

  it('never another one when SVC_TEMPORAL_CLI names something that does not run', async () => {
    const place = await emptyPlace();
    program(place.bin, 'temporal', good);
    await expect(place.find({ SVC_TEMPORAL_CLI: '/no/such/temporal' })).rejects.toThrow(
      /SVC_TEMPORAL_CLI: .* is not a Temporal CLI/,
    );
  });

  it('then the one on the path, when it is new enough', async () => {
    const place = await emptyPlace();
    cached(place, good);
    program(place.bin, 'temporal', good);
    expect((await place.find()).origin).toBe('the path');
    program(place.bin, 'temporal', old);
    expect((await place.find()).origin).toBe('the cache');
  });

  it('then our cache, without any call', async () => {
    const place = await emptyPlace();
    const file = cached(place, good);
    expect(await place.find()).toEqual({ file, origin: 'the cache' });
    expect(place.lines).toEqual([]);
  });

  it('then a download of the pinned archive, which is unpacked into the cache (HD-92)', async () => {
    const place = await emptyPlace();
    const archive = archiveOf(place.folder, good);
    const found = await place.find({}, await pinned(archive));
    expect(found.origin).toBe('a download');
    expect(readFileSync(found.file, 'utf8')).toContain('9.9.9');
    expect(readdirSync(dirname(found.file)).toSorted()).toEqual(['temporal', 'temporal.sha256']);
    expect(statSync(found.file).mode & 0o777).toBe(0o700);
    expect((await place.find()).origin).toBe('the cache');
  });

  it.each([
    ['other bytes', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from([0])])],
    ['a part of it', (bytes: Buffer) => bytes.subarray(0, bytes.length - 20)],
    ['nothing', () => Buffer.alloc(0)],
  ])('never unpacks an archive of another sum: %s (HD-92)', async (_, change) => {
    const place = await emptyPlace();
    const bytes = archiveOf(place.folder, good);
    const archive = { ...(await pinned(change(bytes))), sha256: sumOf(bytes) };
    await expect(place.find({}, archive)).rejects.toThrow(/no Temporal program/);
    expect(place.lines.join('\n')).toMatch(/no download \(the archive is not the pinned one: its SHA-256 is [0-9a-f]{64}\)/);
    expect(readdirSync(place.cache)).toEqual([]);
  });

  it('follows a redirect, and takes what comes only by its sum (HD-92)', async () => {
    const place = await emptyPlace();
    const bytes = archiveOf(place.folder, good);
    const [mirror, thief] = [await pinned(bytes), await pinned(archiveOf(place.folder, 'echo stolen'))];
    const to = (url: string) => serve((_request, response) => response.writeHead(302, { location: url }).end());
    await expect(place.find({}, { ...mirror, url: await to(thief.url) })).rejects.toThrow(/no Temporal program/);
    expect((await place.find({}, { ...mirror, url: await to(mirror.url) })).origin).toBe('a download');
  });

  it('notices a connection that breaks in the middle', async () => {
    const place = await emptyPlace();
    const bytes = archiveOf(place.folder, good);
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, 10), () => response.destroy());
    });
    await expect(place.find({}, { url, sha256: sumOf(bytes), member: 'temporal' })).rejects.toThrow(/no Temporal program/);
    expect(readdirSync(place.cache)).toEqual([]);
  });

  it('never asks for an archive where no sum is pinned, and says so (HD-92)', async () => {
    const place = await emptyPlace();
    await expect(place.find({}, null)).rejects.toThrow(/no Temporal program/);
    expect(place.lines.join('\n')).toContain('no download (no sum is pinned for');
  });

  it('knows a sum for each platform that has one, and none for the others', () => {
    const platforms = [
      'linux x64',
      'linux arm64',
      'darwin x64',
      'darwin arm64',
      'win32 x64',
      'win32 arm64',
      'freebsd x64',
      'linux s390x',
    ];
    const urls = platforms.map((name) => archiveFor(...(name.split(' ') as [string, string]))?.url ?? null);
    const release = `https://github.com/temporalio/cli/releases/download/v${temporalVersion.cli}/temporal_cli_${temporalVersion.cli}_`;
    expect(urls).toEqual([
      ...['linux_amd64', 'linux_arm64', 'darwin_amd64', 'darwin_arm64'].map((name) => `${release}${name}.tar.gz`),
      ...[null, null, null, null],
    ]);
    const sums = Object.values(archiveSums).filter((sum) => sum !== null);
    expect(new Set(sums.filter((sum) => /^[0-9a-f]{64}$/.test(sum))).size).toBe(4);
  });

  it('then a build with Go, which shows what it does', async () => {
    const place = await emptyPlace();
    program(
      place.bin,
      'go',
      `[ "$1" = version ] && echo "go version go1.26.1 linux/amd64" && exit; while [ "$1" != -o ]; do shift; done; echo built > "$2"`,
    );
    const url = await serve((_request, response) => response.writeHead(403).end());
    const found = await place.find({}, { url, sha256: '', member: 'temporal' });
    expect(found.origin).toBe('a build with Go');
    expect(readFileSync(found.file, 'utf8')).toBe('built\n');
    expect(place.lines.join('\n')).toMatch(/no download \(.* answers 403\)\n.*building the program with Go/);
  });

  it('is one sentence that says what to install when nothing helps', async () => {
    const place = await emptyPlace();
    await expect(place.find()).rejects.toThrow(
      'no Temporal program (Go is not installed): install the Temporal CLI or Go 1.21 or newer, or point TEMPORAL_ADDRESS at a server',
    );
    program(place.bin, 'go', 'echo "go version go1.19.8 linux/amd64"');
    await expect(place.find()).rejects.toThrow(/Go 1\.19 is too old to build it/);
    expect(readdirSync(place.cache)).toEqual([]);
  });

  it('is made once when two starts need it at the same time', async () => {
    const place = await emptyPlace();
    program(
      place.bin,
      'go',
      `[ "$1" = version ] && echo "go version go1.26.1 linux/amd64" && exit; echo run >> ${place.folder}/runs; sleep 0.2; while [ "$1" != -o ]; do shift; done; echo built > "$2"`,
    );
    const found = await Promise.all([place.find(), place.find()]);
    expect(found.map(({ origin }) => origin).sort()).toEqual(['a build with Go', 'the cache']);
    expect(readFileSync(join(place.folder, 'runs'), 'utf8')).toBe('run\n');
  });
});

describe('the cache of the Temporal program (HD-92)', () => {
  it('is closed to others, and what an earlier version put there goes on', async () => {
    const place = await emptyPlace();
    const file = cached(place, good);
    for (const folder of [place.cache, dirname(place.cache), dirname(dirname(place.cache))]) chmodSync(folder, 0o755);
    expect(await place.find()).toEqual({ file, origin: 'the cache' });
    expect(statSync(place.cache).mode & 0o777).toBe(0o700);
    expect(statSync(dirname(place.cache)).mode & 0o777).toBe(0o700);
    expect(readFileSync(`${file}.sha256`, 'utf8')).toBe(`${sumOf(readFileSync(file))}\n`);
  });

  it.each([
    ['a folder that others could write', (place: Place) => chmodSync(place.cache, 0o777)],
    ['a parent that others could write', (place: Place) => chmodSync(join(place.folder, 'svc'), 0o777)],
    ['a file that others could write', (place: Place) => chmodSync(join(place.cache, 'temporal'), 0o777)],
    [
      'other bytes than those noted',
      (place: Place) => writeFileSync(join(place.cache, 'temporal.sha256'), `${'0'.repeat(64)}\n`),
    ],
    ['a link', (place: Place) => replaceByLink(join(place.cache, 'temporal'))],
  ])('never gives a program out of %s', async (_, plant) => {
    const place = await emptyPlace();
    cached(place, 'echo stolen');
    plant(place);
    await expect(place.find()).rejects.toThrow(/no Temporal program/);
    expect(place.lines.join('\n')).toContain('is not the program that was put there');
    expect(readdirSync(place.cache)).toEqual([]);
  });

  it('follows a link to a folder elsewhere only where nobody else could have made it', async () => {
    const place = await emptyPlace();
    cached(place, good);
    const elsewhere = join(place.folder, 'elsewhere');
    renameSync(dirname(place.cache), elsewhere);
    symlinkSync(elsewhere, dirname(place.cache));
    expect((await place.find()).origin).toBe('the cache');
    chmodSync(join(place.folder, 'svc'), 0o777);
    await expect(place.find()).rejects.toThrow(/is no folder of yours/);
  });

  it.runIf(process.getuid?.() === 0)('is not a folder of another user', async () => {
    const place = await emptyPlace();
    cached(place, good);
    chownSync(place.cache, 65534, 65534);
    await expect(place.find()).rejects.toThrow(/is no folder of yours/);
  });
});

describe('the Temporal dev server', () => {
  it('moves a database aside that it cannot read, and says so (DV-3)', { timeout: 120_000 }, async () => {
    const folder = await temporaryFolder();
    const dbFile = join(folder, 'temporal.db');
    writeFileSync(dbFile, 'this is no database');
    const { file } = await findTemporalProgram({
      environment: process.env,
      report: () => {},
      signal: new AbortController().signal,
    });
    const lines: string[] = [];
    const options = {
      program: file,
      dbFile,
      uiPort: null,
      logFile: join(folder, 'log'),
      report: (line: string) => lines.push(line),
    };
    const server = await startTemporal(options);
    await server.stop();
    expect(lines.join()).toContain('rebuilt from PostgreSQL');
    const aside = readdirSync(folder).find((name) => name.includes('unreadable'));
    expect(readFileSync(join(folder, aside!), 'utf8')).toBe('this is no database');
    const again = await startTemporal(options);
    await again.stop();
    expect(lines).toHaveLength(1);
  });

  it('shows the end of its log when it does not start', async () => {
    const folder = await temporaryFolder();
    const broken = program(folder, 'temporal', 'echo "cannot bind" >&2; exit 1');
    const options = { program: broken, dbFile: null, uiPort: null, logFile: join(folder, 'log') };
    await expect(startTemporal(options)).rejects.toThrow(/Temporal did not start .*cannot bind/s);
  });
});

interface Place {
  folder: string;
  bin: string;
  cache: string;
  lines: string[];
  find: (environment?: Record<string, string>, archive?: TemporalArchive | null) => ReturnType<typeof findTemporalProgram>;
}

const nowhere: TemporalArchive = { url: 'http://127.0.0.1:1/archive', sha256: '', member: 'temporal' };

/** A machine without any Temporal, Go or network; `/bin` is there for the shell. */
async function emptyPlace(): Promise<Place> {
  const folder = await temporaryFolder();
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const lines: string[] = [];
  const signal = new AbortController().signal;
  const find: Place['find'] = (environment = {}, archive = nowhere) =>
    findTemporalProgram({
      environment: { PATH: `${bin}:/bin`, XDG_CACHE_HOME: folder, ...environment },
      report: (line) => lines.push(line),
      signal,
      archive,
    });
  return { folder, bin, cache: join(folder, 'svc', 'temporal', temporalVersion.cli), lines, find };
}

function program(folder: string, name: string, script: string): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

function cached(place: Place, script: string): string {
  const folder = join(place.folder, 'svc', 'temporal', temporalVersion.cli);
  mkdirSync(folder, { recursive: true });
  return program(folder, 'temporal', script);
}

function replaceByLink(file: string): void {
  const elsewhere = join(dirname(file), '..', 'elsewhere');
  renameSync(file, elsewhere);
  symlinkSync(elsewhere, file);
}

const sumOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** A server that gives these bytes, under the sum that they have. */
async function pinned(bytes: Uint8Array): Promise<TemporalArchive> {
  return { url: await serve((_request, response) => response.end(bytes)), sha256: sumOf(bytes), member: 'temporal' };
}

function archiveOf(folder: string, script: string): Buffer {
  program(folder, 'temporal', script);
  spawnSync('tar', ['-czf', 'archive.tar.gz', 'temporal'], { cwd: folder });
  expect(existsSync(join(folder, 'archive.tar.gz'))).toBe(true);
  return readFileSync(join(folder, 'archive.tar.gz'));
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/cli`;
}
