import { closeSync, existsSync, openSync, readSync, renameSync } from 'node:fs';
import { type Child, lastLines, startChild, waitUntilReady } from '../child.js';
import { freePort } from '../ports.js';
import { hasNamespace } from './ready.js';

export interface TemporalServerOptions {
  program: string;
  /** Null keeps everything in memory. */
  dbFile: string | null;
  /** Null starts no web UI. */
  uiPort: number | null;
  logFile: string;
  signal?: AbortSignal;
  report?: (line: string) => void;
}

export interface TemporalServer {
  address: string;
  uiUrl: string | null;
  child: Child;
  stop(): Promise<void>;
}

/**
 * Starts a Temporal dev server on loopback and a free port; resolves when its namespace `default` answers. Moves an unreadable
 * database file aside: workflows are rebuilt from PostgreSQL (ST-22, OP-73).
 */
export async function startTemporal(options: TemporalServerOptions): Promise<TemporalServer> {
  const { dbFile } = options;
  if (dbFile !== null && existsSync(dbFile) && !isSqlite(dbFile)) moveAside(dbFile, options);
  try {
    return await launch(options);
  } catch (error) {
    // The program exits with 1 for every cause; only its log says that the file is one.
    if (dbFile === null || !existsSync(dbFile) || !/sql|database|schema|migrat/i.test(lastLines(options.logFile, 15)))
      throw error;
    moveAside(dbFile, options);
    return await launch(options);
  }
}

async function launch(options: TemporalServerOptions): Promise<TemporalServer> {
  const port = await freePort();
  const child = startChild({
    name: 'Temporal',
    file: options.program,
    args: ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), ...settings(options)],
    logFile: options.logFile,
    // Otherwise it reports its version to its maker once a day.
    environment: { ...process.env, TEMPORAL_VERSION_CHECK_DISABLED: '1' },
    // A clean shutdown takes 1.2 s and would hold the UI's port; the store survives a kill.
    deathSignal: 'SIGKILL',
  });
  const stop = () => child.stop('SIGTERM', 10_000);
  try {
    await waitUntilReady(child, () => hasNamespace(port, 'default'), options.signal);
  } catch (error) {
    await stop();
    throw error;
  }
  const uiUrl = options.uiPort === null ? null : `http://localhost:${options.uiPort}`;
  return { address: `127.0.0.1:${port}`, uiUrl, child, stop };
}

/**
 * The SQLite settings double the speed and survive kill -9; one partition halves the work of a task queue on one node. Temporal
 * skips the list entry of a start when the workflow has ended before it gets to it. So its list is kept by one task at a time,
 * which looks twice a second: that takes a sixth of Temporal's CPU off a read, and the UI shows a start half a second later.
 */
function settings(options: TemporalServerOptions): string[] {
  const store =
    options.dbFile === null
      ? []
      : ['--db-filename', options.dbFile, '--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', 'synchronous=normal'];
  return [
    ...(options.uiPort === null ? ['--headless'] : ['--ui-port', String(options.uiPort)]),
    ...store,
    ...Object.entries(dynamicConfig).map(([key, value]) => `--dynamic-config-value=${key}=${value}`),
    '--log-level=warn',
  ];
}

const dynamicConfig = {
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  'history.visibilityProcessorSchedulerWorkerCount': 1,
  'history.visibilityProcessorMaxPollRPS': 2,
  // A look may bring this many: 400 starts and ends per second.
  'history.visibilityTaskBatchSize': 400,
};

function isSqlite(file: string): boolean {
  const header = new Uint8Array(15);
  const descriptor = openSync(file, 'r');
  const count = readSync(descriptor, header, 0, header.length, 0);
  closeSync(descriptor);
  return count === 0 || new TextDecoder().decode(header) === 'SQLite format 3';
}

function moveAside(file: string, options: TemporalServerOptions): void {
  const aside = `${file}.unreadable-${new Date().toISOString().replaceAll(':', '')}`;
  for (const suffix of ['', '-wal', '-shm']) if (existsSync(file + suffix)) renameSync(file + suffix, aside + suffix);
  options.report?.(`Temporal cannot read ${file}; it was moved to ${aside}, and the workflows are rebuilt from PostgreSQL`);
}
