import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lastLines, startChild } from '../../dev/child.js';
import { freePort } from '../../dev/ports.js';
import { type FindOptions, findGoProgram, type GoProgram } from './go-program.js';

/** A real S3 server; the address holds the credentials: `http://<key id>:<secret>@<host>:<port>`. */
export interface S3Server {
  url: string;
  stop(): Promise<void>;
}

export interface S3Options extends FindOptions {
  /** For the buckets and the log. */
  folder: string;
}

const versitygw: GoProgram = {
  file: 'versitygw',
  package: 'github.com/versity/versitygw/cmd/versitygw',
  version: 'v1.8.0',
  buildTakes: 'two minutes',
};
const startWaitMs = 30_000;

/** The server of SVC_TEST_S3_URL, else one of our own (DV-12). Throws one sentence if there is no program for it. */
export async function startS3(options: S3Options): Promise<S3Server> {
  const given = options.environment.SVC_TEST_S3_URL;
  if (given) return { url: given, stop: async () => {} };
  return startVersitygw(await findVersitygw(options), options);
}

/** From the path, else from our cache, else a build with Go. */
export const findVersitygw = (options: FindOptions): Promise<string> => findGoProgram(versitygw, options);

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
