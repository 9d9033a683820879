import { AsyncLocalStorage } from 'node:async_hooks';

const callDeadline = new AsyncLocalStorage<{ at: number }>();

/** All database work inside `work` shares `ms`; nested limits replace the outer one (a long poll looks again with a fresh one). */
export function limitDatabaseWork<T>(ms: number, work: () => Promise<T>): Promise<T> {
  return callDeadline.run({ at: performance.now() + ms }, work);
}

/** Runs a wait that is no database work: the limit around it goes on where it stood. */
export async function outsideDatabaseWork<T>(wait: () => Promise<T>): Promise<T> {
  const deadline = callDeadline.getStore();
  const since = performance.now();
  try {
    return await wait();
  } finally {
    if (deadline !== undefined) deadline.at += performance.now() - since;
  }
}

/** What is left of the limit around this work, in ms, at least 1; `callTimeoutMs` where there is none. */
export function remainingMs(callTimeoutMs: number): number {
  const deadline = callDeadline.getStore();
  return deadline === undefined ? callTimeoutMs : Math.max(1, deadline.at - performance.now());
}

class DeadlineError extends Error {
  readonly code = 'DEADLINE';
}

/** The promise, or a `DEADLINE` error after `ms`; a value that comes too late goes to `onLate`. */
export function beforeDeadline<T>(promise: Promise<T>, ms: number, onLate?: (value: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let over = false;
    const timer = setTimeout(() => {
      over = true;
      reject(new DeadlineError('database deadline passed'));
    }, ms);
    promise.then(
      (value) => {
        clearTimeout(timer);
        if (over) onLate?.(value);
        else resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        if (!over) reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}
