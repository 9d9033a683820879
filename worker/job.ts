import type { Notifications } from '../db/notifications.js';
import { GatewayError } from '../domain/errors.js';
import { createBell } from '../lib/bell.js';
import { sleep } from '../lib/sleep.js';

/** One kind of background work. `once` does what is due and returns the milliseconds until its next run. */
export interface Job {
  name: string;
  once(): Promise<number>;
  /** A topic that ends the wait early. */
  wakeOn?: string;
  /** A stop waits for this. */
  finish?(): Promise<void>;
}

export interface JobHost {
  notifications: Notifications;
  signal: AbortSignal;
  /** Called on each failure. `unexpected` is false only for an unreachable database. */
  onFailure(name: string, error: unknown, unexpected: boolean): void;
  onSuccess?(name: string): void;
}

const firstRetryMs = 250;
const longestRetryMs = 5000;

/** Runs the job until the signal aborts. A failure is reported and retried with growing waits, and stops no other job (OP-80). */
export async function keepDoing(job: Job, { notifications, signal, onFailure, onSuccess }: JobHost): Promise<void> {
  const bell = createBell();
  const unsubscribe = job.wakeOn === undefined ? () => {} : notifications.subscribe(job.wakeOn, bell.ring);
  let failures = 0;
  while (!signal.aborted) {
    try {
      const pauseMs = await job.once();
      failures = 0;
      onSuccess?.(job.name);
      await bell.wait(pauseMs, signal);
    } catch (error) {
      onFailure(job.name, error, !(error instanceof GatewayError));
      await sleep(Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(failures, 10)), signal);
      failures += 1;
    }
  }
  unsubscribe();
  await job.finish?.();
}
