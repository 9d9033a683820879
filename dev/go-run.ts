import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface GoOptions {
  /** What is built; the prefix of each report line. */
  name: string;
  /** Printed when Go is available and starts. */
  announcement: string;
  args: string[];
  cwd?: string;
  environment: Record<string, string | undefined>;
  report: (line: string) => void;
  signal: AbortSignal;
}

const buildWaitMs = 25 * 60_000;
const reportEveryMs = 10_000;

/** Runs the `go` program to its end and reports progress every 10 s; throws a one-sentence error when it fails or is missing. */
export async function runGo(options: GoOptions): Promise<void> {
  checkGo(options.environment);
  options.report(`${options.name}: ${options.announcement}`);
  const startedAt = Date.now();
  const child = spawn('go', options.args, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...options.environment, CGO_ENABLED: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal: options.signal,
    timeout: buildWaitMs,
  });
  let lines = 0;
  let last = '';
  const reporter = setInterval(() => {
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    options.report(`${options.name}: building for ${seconds} s, ${lines} steps${last && `, now ${last.slice(0, 100)}`}`);
  }, reportEveryMs);
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines += 1;
    last = line;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => clearInterval(reporter));
  if (code !== 0) throw new Error(`the build with Go failed: ${last.slice(0, 300)}`);
}

/** Go 1.21 and newer fetch the toolchain that a module requires; older ones fail in mid-build. */
function checkGo(environment: Record<string, string | undefined>): void {
  const answer = spawnSync('go', ['version'], { encoding: 'utf8', timeout: 10_000, env: environment });
  const [, major, minor] = /go version go(\d+)\.(\d+)/.exec(answer.stdout ?? '') ?? [];
  if (major === undefined) throw new Error('Go is not installed');
  if (Number(major) === 1 && Number(minor) < 21) throw new Error(`Go ${major}.${minor} is too old to build it`);
}
