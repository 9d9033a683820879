import type { Readable, Writable } from 'node:stream';

/** Everything a command touches of its process, so that tests can hand in their own. Times in milliseconds. */
export interface Terminal {
  environment: Record<string, string | undefined>;
  directory: string;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean; columns?: number };
  stderr: Writable & { isTTY?: boolean; columns?: number };
  limits: Limits;
  now(): number;
  /** Calls back at each SIGINT, SIGTERM or SIGHUP until the returned function is called. */
  onInterrupt(callback: () => void): () => void;
  /** Ends the process at once; only for a second interrupt. */
  exitNow(code: number): void;
}

export interface Limits {
  connectMs: number;
  callMs: number;
  /** Added to the wait of a request long poll. */
  waitGraceMs: number;
  streamMs: number;
  /** Between two tries of a call that is safe to repeat. */
  retryPauseMs: number;
  /** The longest Retry-After that is honoured. */
  retryAfterMaxMs: number;
  /** How long a wait goes on before progress is asked for, so that quick statements cost no second call. */
  progressDelayMs: number;
  /** The least time from one look at a request to the next. */
  paceMs: number;
  /** Progress that is not redrawn repeats an unchanged state after this time. */
  progressRepeatMs: number;
}

/** CL-10 and CL-25. */
export const standardLimits: Limits = {
  connectMs: 10_000,
  callMs: 30_000,
  waitGraceMs: 30_000,
  streamMs: 330_000,
  retryPauseMs: 250,
  retryAfterMaxMs: 60_000,
  progressDelayMs: 250,
  paceMs: 1_000,
  progressRepeatMs: 29_000,
};

/** The terminal of this process. A reader of stdout that goes away ends the process quietly. */
export function processTerminal(): Terminal {
  process.stdout.on('error', () => process.exit(1));
  return {
    environment: process.env,
    directory: process.cwd(),
    stdin: process.stdin,
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
    exitNow: (code) => process.exit(code),
  };
}

/** Whether somebody can be asked: questions go to stderr, answers come from stdin. */
export function isInteractive(terminal: Terminal): boolean {
  return terminal.stdin.isTTY === true && terminal.stderr.isTTY === true;
}

const interrupts = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
