import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findTemporalProgram } from '../../dev/temporal/program.js';
import { startTemporal } from '../../dev/temporal/server.js';
import { temporalVersion } from '../../dev/temporal/version.js';
import { temporaryFolder } from '../support/processes.js';

const good = `echo "temporal version 9.9.9 (Server ${temporalVersion.server}, UI 2.0.0)"`;
const old = 'echo "temporal version 0.1.0 (Server 1.20.9, UI 2.0.0)"';

describe('where the Temporal program comes from', () => {
  it('first the one that SVC_TEMPORAL_CLI names', async () => {
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

  it('then a download, which is unpacked into the cache', async () => {
    const place = await emptyPlace();
    const archive = archiveOf(place.folder, good);
    const url = await serve((request, response) => {
      if (request.url?.startsWith('/archive')) return response.end(archive);
      return response.end(JSON.stringify({ archiveUrl: `http://${request.headers.host}/archive`, fileToExtract: 'temporal' }));
    });
    const found = await place.find({}, url);
    expect(found.origin).toBe('a download');
    expect(readFileSync(found.file, 'utf8')).toContain('9.9.9');
    expect(readdirSync(dirname(found.file))).toEqual(['temporal']);
  });

  it('then a build with Go, which shows what it does', async () => {
    const place = await emptyPlace();
    program(
      place.bin,
      'go',
      `[ "$1" = version ] && echo "go version go1.26.1 linux/amd64" && exit; while [ "$1" != -o ]; do shift; done; echo built > "$2"`,
    );
    const found = await place.find({}, await serve((_request, response) => response.writeHead(403).end()));
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
    expect(readdirSync(join(place.folder, 'svc', 'temporal', temporalVersion.cli))).toEqual([]);
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

describe('the Temporal dev server', () => {
  it('moves a database aside that it cannot read, and says so (DV-3)', async () => {
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
  lines: string[];
  find: (environment?: Record<string, string>, downloadUrl?: string) => ReturnType<typeof findTemporalProgram>;
}

/** A machine without any Temporal, Go or network; `/bin` is there for the shell. */
async function emptyPlace(): Promise<Place> {
  const folder = await temporaryFolder();
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const lines: string[] = [];
  const signal = new AbortController().signal;
  const find: Place['find'] = (environment = {}, downloadUrl = 'http://127.0.0.1:1/cli') =>
    findTemporalProgram({
      environment: { PATH: `${bin}:/bin`, XDG_CACHE_HOME: folder, ...environment },
      report: (line) => lines.push(line),
      signal,
      downloadUrl,
    });
  return { folder, bin, lines, find };
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

function archiveOf(folder: string, script: string): Uint8Array {
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
