import { setTimeout as sleep } from 'node:timers/promises';
import type { Notifications } from '../db/notifications.js';
import { GatewayError } from '../domain/errors.js';

/** One kind of background work: `once` does what is due and answers in how many milliseconds to look again. */
export interface Job {
  name: string;
  once(): Promise<number>;
  /** A topic that ends the wait early. */
  wakeOn?: string;
  /** What a stop waits for. */
  finish?(): Promise<void>;
}

export interface JobHost {
  notifications: Notifications;
  signal: AbortSignal;
  /** Hears of each failure; `unexpected` is anything but an unreachable database. */
  onFailure(name: string, error: unknown, unexpected: boolean): void;
}

const firstRetryMs = 250;
const longestRetryMs = 5000;

/** Runs the job until the signal is aborted; a failure is told and tried again with growing waits, and stops nothing else (OP-80). */
export async function keepDoing(job: Job, { notifications, signal, onFailure }: JobHost): Promise<void> {
  const alarm = createAlarm(signal);
  const unsubscribe = job.wakeOn === undefined ? () => {} : notifications.subscribe(job.wakeOn, alarm.ring);
  let failures = 0;
  while (!signal.aborted) {
    try {
      const pauseMs = await job.once();
      failures = 0;
      await alarm.wait(pauseMs);
    } catch (error) {
      onFailure(job.name, error, !(error instanceof GatewayError));
      await pause(Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(failures, 10)), signal);
      failures += 1;
    }
  }
  unsubscribe();
  await job.finish?.();
}

/** Waits that end at once when the alarm has rung since the last one. */
function createAlarm(signal: AbortSignal) {
  let rung = false;
  let wake = () => {};
  return {
    ring: () => {
      rung = true;
      wake();
    },
    async wait(ms: number): Promise<void> {
      if (!rung && ms > 0) {
        const early = new AbortController();
        wake = () => early.abort();
        await pause(ms, AbortSignal.any([signal, early.signal]));
        wake = () => {};
      }
      rung = false;
    },
  };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}
