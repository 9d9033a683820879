import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { waitUntil, within } from '../lib/deadline.js';

export interface ChildOptions {
  name: string;
  file: string;
  args: readonly string[];
  /** Receives standard output and error; the previous run's log is kept beside it as `<file>.1`. */
  logFile: string;
  /** The signal for the child when this process dies without stopping it. */
  deathSignal: 'SIGINT' | 'SIGTERM' | 'SIGKILL';
  environment?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Runs as this user; only root may set it. */
  user?: { uid: number; gid: number } | null;
}

export interface Child {
  name: string;
  pid: number;
  logFile: string;
  hasExited(): boolean;
  /** Whether it ended with exit code 0. */
  hasSucceeded(): boolean;
  /** Settles with a description of the end, such as `exit code 1`; never rejects. */
  exited: Promise<string>;
  /** From now on other processes go first. */
  giveWay(): void;
  /** Sends `signal`, then SIGKILL after `graceMs`, and waits for the end. */
  stop(signal: NodeJS.Signals, graceMs: number): Promise<void>;
}

/**
 * Starts a program that cannot outlive this process. On Linux the kernel ends it, provided that the main thread calls this;
 * elsewhere a watcher on a pipe does. The child has its own process group, so that Ctrl-C in a terminal reaches only this
 * process.
 */
export function startChild(options: ChildOptions): Child {
  if (existsSync(options.logFile)) renameSync(options.logFile, `${options.logFile}.1`);
  const log = openSync(options.logFile, 'w', 0o600);
  const leashed = !kernelLeash();
  const [file, ...args] = leashed ? leashedCommand(options) : kernelCommand(options);
  const stdio: StdioOptions = [leashed ? 'pipe' : 'ignore', log, log];
  const process_ = spawn(file, args, {
    stdio,
    detached: true,
    env: options.environment ?? process.env,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(leashed && options.user ? options.user : {}),
  });
  closeSync(log);
  return supervise(options, process_);
}

const startWaitMs = 60_000;

/**
 * Resolves when `isReady` does. Throws, with the end of the log, when the child ends first or takes a minute, and when the signal
 * aborts.
 */
export async function waitUntilReady(
  child: Child,
  isReady: () => Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const settled = async () => (await isReady()) || child.hasExited();
  const inTime = await waitUntil(settled, { ms: startWaitMs, everyMs: 25, signal });
  if (!inTime || child.hasExited())
    throw new Error(`${child.name} did not start (log: ${child.logFile}):\n${lastLines(child.logFile, 15)}`);
}

const niceness = 15;

/**
 * Each child is its own session, and Linux may divide the processor among sessions before it looks at threads, each of which has a priority there, so
 * this lowers both.
 */
function giveWay(pid: number): void {
  try {
    const threads = `/proc/${pid}/task`;
    for (const id of existsSync(threads) ? readdirSync(threads) : [pid]) setPriority(Number(id), niceness);
    if (existsSync(`/proc/${pid}/autogroup`)) writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
  } catch {
    // The child has ended, or the system refuses: it keeps normal priority.
  }
}

/** The end of a log file, for messages. */
export function lastLines(file: string, count: number): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n');
  } catch {
    return '';
  }
}

function supervise(options: ChildOptions, child: ChildProcess): Child {
  let ended = false;
  let succeeded = false;
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => {
      succeeded = code === 0;
      resolve(signal === null ? `exit code ${code}` : `signal ${signal}`);
    });
  }).then((how) => {
    ended = true;
    return how;
  });
  const stop = async (signal: NodeJS.Signals, graceMs: number) => {
    if (ended) return;
    const group = child.pid === undefined ? undefined : -child.pid;
    // A watcher passes on every signal but this one.
    send(signal === 'SIGKILL' ? group : child.pid, signal);
    if ((await within(exited, graceMs, null)) === null) send(group, 'SIGKILL');
    await exited;
  };
  const { name, logFile } = options;
  const pid = child.pid ?? 0;
  const yields = () => void (pid !== 0 && giveWay(pid));
  return { name, pid, logFile, hasExited: () => ended, hasSucceeded: () => succeeded, exited, giveWay: yields, stop };
}

/** The kernel tells only of deaths after `setpriv` has asked, so the child then looks whether its parent is still there. */
function kernelCommand(options: ChildOptions): [string, ...string[]] {
  const user = options.user ? [`--reuid=${options.user.uid}`, `--regid=${options.user.gid}`, '--clear-groups'] : [];
  const unlessOrphan = ['/bin/sh', '-c', '[ "$PPID" = "$0" ] && exec "$@"', String(process.pid)];
  return ['setpriv', '--pdeathsig', options.deathSignal.slice(3), ...user, '--', ...unlessOrphan, options.file, ...options.args];
}

function leashedCommand(options: ChildOptions): [string, ...string[]] {
  const leash = fileURLToPath(new URL('./leash.mjs', import.meta.url));
  return [process.execPath, leash, options.deathSignal, options.file, ...options.args];
}

let kernelLeashWorks: boolean | undefined;

/** Whether `setpriv` of util-linux is available; busybox's lacks the option. */
function kernelLeash(): boolean {
  kernelLeashWorks ??=
    process.platform === 'linux' && spawnSync('setpriv', ['--pdeathsig', 'KILL', '--', 'true'], { timeout: 5000 }).status === 0;
  return kernelLeashWorks;
}

function send(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(pid, signal);
  } catch {
    // It ended between the check and the signal.
  }
}
