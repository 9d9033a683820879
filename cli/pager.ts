import { type ChildProcess, spawn } from 'node:child_process';
import { displayWidth } from './output/width.js';
import type { Terminal } from './terminal.js';

/** The program that shows a long text: a shell's command line, or null where there is none (CL-37). */
export function pagerOf(text: string, { stdout, environment }: Terminal): string | null {
  if (stdout.isTTY !== true || environment.SVC_NO_PAGER || environment.TERM === 'dumb') return null;
  const pager = (environment.PAGER ?? standardPager).trim();
  return pager === '' || pager === 'cat' || fits(text, stdout.rows || 24, stdout.columns || 80) ? null : pager;
}

/** Ends by itself when the text fits after all, shows colours and leaves the text on the screen. */
const standardPager = 'less -FRX';

/** Whether the text and a prompt below it fit on the screen. */
function fits(text: string, rows: number, columns: number): boolean {
  let used = 0;
  for (const line of text.split('\n')) {
    used += Math.max(1, Math.ceil(displayWidth(line.replace(colour, '')) / columns));
    if (used > rows) return false;
  }
  return true;
}

const colour = /\u001b\[\d+m/g;

/**
 * Gives the text to a pager and waits until it ends; false when there is no such program, so that nothing was shown. The command
 * comes from the person's own environment and goes to the shell as it does with git; no other text is part of it. Whoever leaves
 * the pager early has seen enough.
 */
export function runPager(command: string, text: string, environment: NodeJS.ProcessEnv): Promise<boolean> {
  const env = { ...environment, LESS: environment.LESS ?? 'FRX' };
  const stdio = ['pipe', 'inherit', 'inherit'] as const;
  const [program, ...args] = standardPager.split(' ');
  const child =
    command === standardPager
      ? spawn(program!, args, { stdio: [...stdio], env })
      : spawn(command, { stdio: [...stdio], env, shell: true });
  const takeBack = leaveSignalsTo(child);
  return new Promise((resolve) => {
    const end = (wasShown: boolean) => {
      takeBack();
      resolve(wasShown);
    };
    child.once('error', () => end(false));
    child.once('close', (code) => end(code !== notExecutable && code !== notFound));
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(text);
  });
}

/** What a shell answers for a command that it cannot run. */
const notExecutable = 126;
const notFound = 127;

/** Ctrl-C reaches the pager by itself, which often goes on, and then so must we; what ends us ends it. */
function leaveSignalsTo(child: ChildProcess): () => void {
  const handlers = signals.map((signal) => {
    const handler = signal === 'SIGINT' ? () => undefined : () => child.kill(signal);
    const before = process.listeners(signal);
    process.removeAllListeners(signal).on(signal, handler);
    return { signal, handler, before };
  });
  return () => {
    for (const { signal, handler, before } of handlers) {
      process.off(signal, handler);
      for (const listener of before) process.on(signal, listener);
    }
  };
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
