import { AsyncLocalStorage } from 'node:async_hooks';
import { refusal } from '../domain/errors.js';
import { beforeDeadline } from '../lib/deadline.js';

interface CallTime {
  /** When the current database work must end. */
  at: number;
  /** When the whole call must be answered. */
  answerBy: number;
}

const callTime = new AsyncLocalStorage<CallTime>();

/** Limits a call that is no long poll to `ms`, whatever it waits for (HT-131). Inner limits and waits end by then too, with 503. */
export function answerWithin<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const answerBy = performance.now() + ms;
  return callTime.run({ at: answerBy, answerBy }, work);
}

/** Milliseconds until the call must be answered; infinite for a long poll and for background work. */
export const leftToAnswerMs = (): number => answerBy() - performance.now();

const answerBy = (): number => callTime.getStore()?.answerBy ?? Number.POSITIVE_INFINITY;

/** All database work inside `work` shares `ms`. Nested limits replace the outer one, because each look of a long poll gets a fresh limit. */
export function limitDatabaseWork<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const until = answerBy();
  return callTime.run({ at: Math.min(performance.now() + ms, until), answerBy: until }, work);
}

/**
 * Runs a wait that is not database work: the surrounding limit is paused. A wait beyond the call's own time is 503. What the wait brings after that
 * goes to `onLate`, so that a permit or a turn that nobody takes any more is passed on.
 */
export async function outsideDatabaseWork<T>(wait: () => Promise<T>, onLate: (value: T) => void = () => {}): Promise<T> {
  const call = callTime.getStore();
  const since = performance.now();
  try {
    if (call === undefined || call.answerBy === Number.POSITIVE_INFINITY) return await wait();
    const late = () => refusal('service.unavailable', tooLate);
    return await beforeDeadline(wait(), Math.max(1, leftToAnswerMs()), { late, onLate });
  } finally {
    if (call !== undefined) call.at = Math.min(call.at + performance.now() - since, call.answerBy);
  }
}

/** Work that goes on while its answer is being sent: the time of the call does not limit it (OP-70). */
export const outsideCall = <T>(work: () => T): T => callTime.exit(work);

const tooLate = 'the answer takes too long';

/** Milliseconds left of the surrounding limit, at least 1; `callTimeoutMs` without one. */
export function remainingMs(callTimeoutMs: number): number {
  const call = callTime.getStore();
  return call === undefined ? callTimeoutMs : Math.max(1, call.at - performance.now());
}

class DeadlineError extends Error {
  readonly code = 'DEADLINE';
}

/** Rejects with a `DEADLINE` error after `ms`. A value that arrives later goes to `onLate`. */
export function databaseWithin<T>(promise: Promise<T>, ms: number, onLate: (value: T) => void = () => {}): Promise<T> {
  return beforeDeadline(promise, ms, { late: () => new DeadlineError('database deadline passed'), onLate });
}
