import { PassThrough, type Readable, Writable } from 'node:stream';
import { runCommandLine } from '../../cli/run.js';
import { type Limits, standardLimits, type Terminal } from '../../cli/terminal.js';

export interface SvcOptions {
  environment?: Record<string, string | undefined>;
  directory?: string;
  /** Text of stdin; undefined leaves it open and empty. */
  stdin?: string;
  /** stdin, stdout and stderr say that they are terminals. */
  terminal?: boolean;
  /** Width of the terminals; 100 if absent. */
  columns?: number;
  /** Height of the terminal; 24 if absent. */
  rows?: number;
  /** The pager; by default there is none. */
  page?: Terminal['page'];
  limits?: Partial<Limits>;
  now?: () => number;
  /** Called with a function that interrupts like Ctrl-C, and the live stdin. */
  started?: (control: {
    interrupt(signal?: NodeJS.Signals): void;
    stdin: PassThrough;
    stdout(): string;
    stderr(): string;
  }) => void;
}

export interface SvcResult {
  code: number;
  stdout: string;
  stderr: string;
  /** The code given to an exit at once, or null. */
  exitedNow: number | null;
}

/** Milliseconds where the program uses seconds. */
export const quickLimits: Limits = {
  ...standardLimits,
  retryPauseMs: 5,
  awayPauseMs: 20,
  awayMs: 100,
  progressDelayMs: 20,
  paceMs: 20,
};

/** Runs a client command line in this process with streams of its own; nothing of the caller's environment is seen. */
export async function runSvc(argv: readonly string[], options: SvcOptions = {}): Promise<SvcResult> {
  const stdin = new PassThrough();
  if (options.stdin !== undefined) stdin.end(options.stdin);
  const stdout = collector(options);
  const stderr = collector(options);
  const listeners = new Set<(signal: NodeJS.Signals) => void>();
  let exitedNow: number | null = null;
  const terminal: Terminal = {
    environment: { HOME: '/nonexistent', ...options.environment },
    directory: options.directory ?? '/nonexistent',
    stdin: Object.assign(stdin as Readable, { isTTY: options.terminal === true }),
    stdout: stdout.stream,
    stderr: stderr.stream,
    limits: { ...quickLimits, ...options.limits },
    now: options.now ?? Date.now,
    onInterrupt(callback) {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
    page: options.page ?? (async () => false),
    exitNow(code) {
      exitedNow = code;
    },
  };
  options.started?.({
    interrupt: (signal = 'SIGINT') => listeners.forEach((listener) => void listener(signal)),
    stdin,
    stdout: stdout.text,
    stderr: stderr.text,
  });
  const code = await runCommandLine(argv, terminal);
  return { code, stdout: stdout.text(), stderr: stderr.text(), exitedNow };
}

/** The environment that reaches a server with a token. */
export function login(url: string): Record<string, string> {
  return { SVC_SERVER_URL: url, SVC_TOKEN: 'svc_00112233445566778899aabbccddeeff', SVC_DATABASE: 'app' };
}

function collector({ terminal = false, columns = 100, rows = 24 }: SvcOptions) {
  let text = '';
  const stream = new Writable({
    write(chunk, _, done) {
      text += String(chunk);
      done();
    },
  });
  return { stream: Object.assign(stream, { isTTY: terminal, columns, rows }), text: () => text };
}
