import { type ChildProcess, spawn } from 'node:child_process';

/** Ends by itself when the text fits after all, shows colours and leaves the text on the screen. */
export const standardPager = 'less -FRX';

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
