import type { Writable } from 'node:stream';

/** Writes lines one after the other. Each `send` ends when the client has room again, so whoever sends waits for it. */
export interface Writer {
  send(line: string): Promise<void>;
  /** Whether a line was written that the client has not taken. */
  isBehind(): boolean;
}

/** `onStuck` is called when a line was not taken within `ms`. After that, and after `signal` aborted, lines are dropped. */
export function createWriter(output: Writable, ms: number, signal: AbortSignal, onStuck: () => void): Writer {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  const write = (line: string) =>
    new Promise<void>((resolve) => {
      if (signal.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(() => {
        onStuck();
        done();
      }, ms);
      signal.addEventListener('abort', done, { once: true });
      waiting += 1;
      output.write(`${line}\n`, () => {
        waiting -= 1;
        done();
      });
    });
  return {
    send(line) {
      last = last.then(() => write(line));
      return last;
    },
    isBehind: () => waiting > 0,
  };
}
