import type { Readable, Writable } from 'node:stream';
import { endWhenUnwritable } from './broken-output.js';

/** Everything a command uses of its process, so that tests can replace it. Times in milliseconds. */
export interface Terminal {
  environment: Record<string, string | undefined>;
  directory: string;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean; columns?: number; rows?: number };
  stderr: Writable & { isTTY?: boolean; columns?: number };
  limits: Limits;
  now(): number;
  /** Calls back at each SIGINT, SIGTERM or SIGHUP until the returned function is called. */
  onInterrupt(callback: (signal: NodeJS.Signals) => void): () => void;
  /** Shows a text in a pager, a shell's command line; false when there is no such program. */
  page(command: string, text: string): Promise<boolean>;
  /** Ends the process immediately: at a second interrupt, or when nobody reads what it has written. */
  exitNow(code: number): void;
}

export interface Limits {
  connectMs: number;
  callMs: number;
  /** After so long without a first answer a person is told so. Longer than a preflight waits for a plan unless it is told otherwise. */
  silenceMs: number;
  /** Added to the wait of a request long poll. */
  waitGraceMs: number;
  streamMs: number;
  /** After the first try of a repeatable call; doubles with each further one. */
  retryPauseMs: number;
  /** The longest such pause. */
  awayPauseMs: number;
  /** How long a command that waits keeps trying while the server is away. */
  awayMs: number;
  /** The longest Retry-After that is honoured. */
  retryAfterMaxMs: number;
  /** How long to wait before asking for progress, so that quick statements need no second call. */
  progressDelayMs: number;
  /** The shortest interval between two looks at a request. */
  paceMs: number;
  /** The interval at which progress that is not redrawn repeats an unchanged state. */
  progressRepeatMs: number;
  /** How long `webhook test --wait` waits. */
  deliveryMs: number;
  /** How long a sender may take for one delivery to `webhook listen`. */
  receiveMs: number;
  /** How long `login` waits for the browser. */
  loginMs: number;
  /** Between two questions of a device login, unless the provider names another; `slow_down` adds as much. */
  devicePauseMs: number;
  /** How long a command waits for another one that renews the login: longer than that may take. */
  loginLockMs: number;
  /** How long a renewal goes on after Ctrl-C: what it has spent cannot be spent again. */
  renewalGraceMs: number;
}

/** CL-10, CL-22a, CL-25, CL-40 and CL-41. */
export const standardLimits: Limits = {
  connectMs: 10_000,
  callMs: 30_000,
  silenceMs: 6_000,
  waitGraceMs: 30_000,
  streamMs: 330_000,
  retryPauseMs: 250,
  awayPauseMs: 5_000,
  awayMs: 60_000,
  retryAfterMaxMs: 60_000,
  progressDelayMs: 250,
  paceMs: 1_000,
  progressRepeatMs: 29_000,
  deliveryMs: 30_000,
  receiveMs: 10_000,
  loginMs: 300_000,
  devicePauseMs: 5_000,
  loginLockMs: 45_000,
  renewalGraceMs: 2_000,
};

/** This process's terminal. */
export function processTerminal(isQuiet = false): Terminal {
  endWhenUnwritable(isQuiet);
  return {
    environment: process.env,
    directory: process.cwd(),
    // Opened by the first look.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
    limits: standardLimits,
    now: Date.now,
    onInterrupt(callback) {
      for (const signal of interrupts) process.on(signal, callback);
      return () => {
        for (const signal of interrupts) process.off(signal, callback);
      };
    },
    page: async (command, text) => (await import('./pager.js')).runPager(command, text, process.env),
    exitNow: (code) => process.exit(code),
  };
}

/** Whether a person can be asked: questions go to stderr, answers come from stdin. */
export function isInteractive(terminal: Terminal): boolean {
  return terminal.stdin.isTTY === true && terminal.stderr.isTTY === true;
}

/** Whether a line on stderr can be drawn over. */
export function canRedraw({ stderr, environment }: Terminal): boolean {
  return stderr.isTTY === true && environment.TERM !== 'dumb';
}

const interrupts = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
