import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';

/** Ends by itself when the text fits after all, shows colours and leaves the text on the screen. */
export const standardPager = 'less -FRX';

/**
 * Gives the text to a pager and waits until it ends; false when there is no such program, so that nothing was shown. The command
 * comes from the person's own environment and goes to the shell as it does with git; no other text is part of it. Whoever leaves
 * the pager early has seen enough.
 */
export function runPager(command: string, text: string, environment: NodeJS.ProcessEnv): Promise<boolean> {
  const env = { ...environment, LESS: environment.LESS ?? 'FRX' };
  const takeBack = takeSignals((signal) => void (signal === 'SIGINT' || child.kill(signal)));
  const child = started(command, env);
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

function started(command: string, env: NodeJS.ProcessEnv): ChildProcess {
  const stdio: StdioOptions = ['pipe', 'inherit', 'inherit'];
  const [program = '', ...args] = standardPager.split(' ');
  return command === standardPager ? spawn(program, args, { stdio, env }) : spawn(command, { stdio, env, shell: true });
}

/**
 * Ctrl-C goes to the pager directly, and most pagers survive it, so we ignore SIGINT while it runs; other signals end it. Our handlers are installed
 * before the pager starts and before the others are removed, so that no signal is lost.
 */
function takeSignals(handler: (signal: NodeJS.Signals) => void): () => void {
  const others = signals.flatMap((signal) => {
    const listeners = process.listeners(signal);
    process.on(signal, handler);
    return listeners.map((listener) => ({ signal, listener }));
  });
  for (const { signal, listener } of others) process.off(signal, listener);
  return () => {
    for (const { signal, listener } of others) process.on(signal, listener);
    for (const signal of signals) process.off(signal, handler);
  };
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
