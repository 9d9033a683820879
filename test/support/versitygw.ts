import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lastLines, startChild } from '../../dev/child.js';
import { runGo } from '../../dev/go-run.js';
import { freePort } from '../../dev/ports.js';
import { withLock } from '../../dev/with-lock.js';

/** A real S3 server; the address holds the credentials: `http://<key id>:<secret>@<host>:<port>`. */
export interface S3Server {
  url: string;
  stop(): Promise<void>;
}

export interface S3Options {
  environment: Record<string, string | undefined>;
  /** For the buckets and the log. */
  folder: string;
  report: (line: string) => void;
  signal: AbortSignal;
}

const version = 'v1.8.0';
const startWaitMs = 30_000;
const buildWaitMs = 10 * 60_000;

/** The server of SVC_TEST_S3_URL, else one of our own (DV-12). Throws one sentence if there is no program for it. */
export async function startS3(options: S3Options): Promise<S3Server> {
  const given = options.environment.SVC_TEST_S3_URL;
  if (given) return { url: given, stop: async () => {} };
  return startVersitygw(await findVersitygw(options), options);
}

/** From the path, else from our cache, else a build with Go. */
export async function findVersitygw(options: Omit<S3Options, 'folder'>): Promise<string> {
  const onPath = spawnSync('versitygw', ['--version'], { timeout: 10_000, env: options.environment });
  if (onPath.status === 0) return 'versitygw';
  const cache = options.environment.XDG_CACHE_HOME || join(homedir(), '.cache');
  const cached = join(cache, 'svc', 'versitygw', version, 'versitygw');
  if (existsSync(cached)) return cached;
  const onWait = (holder: number) => options.report(`S3: process ${holder} is building the server, waiting for it`);
  await withLock(`${cached}.lock`, { waitMs: buildWaitMs, signal: options.signal, onWait }, () => build(cached, options));
  return cached;
}

async function build(file: string, { environment, report, signal }: Omit<S3Options, 'folder'>): Promise<void> {
  if (existsSync(file)) return;
  const announcement = 'building the server versitygw with Go; this happens once and takes about two minutes';
  const folder = `${dirname(file)}.${process.pid}`;
  mkdirSync(folder, { recursive: true });
  try {
    const args = ['install', '-v', '-trimpath', '-ldflags=-s -w', `github.com/versity/versitygw/cmd/versitygw@${version}`];
    await runGo({ name: 'S3', announcement, args, environment: { ...environment, GOBIN: folder }, report, signal });
    renameSync(join(folder, 'versitygw'), file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startVersitygw(program: string, { folder, signal }: S3Options): Promise<S3Server> {
  const buckets = join(folder, 's3-buckets');
  const metadata = join(folder, 's3-metadata');
  for (const made of [buckets, metadata]) mkdirSync(made, { recursive: true });
  const port = await freePort();
  const child = startChild({
    name: 'S3',
    file: program,
    args: [
      '--port',
      `127.0.0.1:${port}`,
      '--access',
      'test',
      '--secret',
      'testsecret',
      '--quiet',
      'posix',
      '--sidecar',
      metadata,
      buckets,
    ],
    logFile: join(folder, 's3.log'),
    deathSignal: 'SIGKILL',
  });
  const deadline = Date.now() + startWaitMs;
  while (!(await answers(port))) {
    if (signal.aborted || child.hasExited() || Date.now() > deadline) {
      await child.stop('SIGKILL', 1000);
      throw new Error(`versitygw did not start: ${lastLines(child.logFile, 1)}`);
    }
    await sleep(25);
  }
  return { url: `http://test:testsecret@127.0.0.1:${port}`, stop: () => child.stop('SIGTERM', 5000) };
}

const answers = (port: number) =>
  fetch(`http://127.0.0.1:${port}/`).then(
    () => true,
    () => false,
  );
