import { AsyncLocalStorage } from 'node:async_hooks';
import { refusal } from '../domain/errors.js';
import { beforeDeadline } from '../lib/deadline.js';

interface CallTime {
  /** When the database work there is now must be done. */
  at: number;
  /** When the whole call must have its answer. */
  answerBy: number;
}

const callTime = new AsyncLocalStorage<CallTime>();

/** A call that is no long poll has its answer after `ms`, whatever it waits for (HT-131): inner limits and waits end then too, with 503. */
export function answerWithin<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const answerBy = performance.now() + ms;
  return callTime.run({ at: answerBy, answerBy }, work);
}

/** What is left until the answer must be there, in ms; endless for a long poll and for background work. */
export const leftToAnswerMs = (): number => answerBy() - performance.now();

const answerBy = (): number => callTime.getStore()?.answerBy ?? Number.POSITIVE_INFINITY;

/** All database work inside `work` shares `ms`; nested limits replace the outer one (a long poll looks again with a fresh one). */
export function limitDatabaseWork<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const until = answerBy();
  return callTime.run({ at: Math.min(performance.now() + ms, until), answerBy: until }, work);
}

/** Runs a wait that is no database work: the limit around it goes on where it stood. A wait beyond the call's own time is 503. */
export async function outsideDatabaseWork<T>(wait: () => Promise<T>): Promise<T> {
  const call = callTime.getStore();
  const since = performance.now();
  try {
    if (call === undefined || call.answerBy === Number.POSITIVE_INFINITY) return await wait();
    return await beforeDeadline(wait(), Math.max(1, leftToAnswerMs()), { late: () => refusal('service.unavailable', tooLate) });
  } finally {
    if (call !== undefined) call.at = Math.min(call.at + performance.now() - since, call.answerBy);
  }
}

const tooLate = 'the answer takes too long';

/** What is left of the limit around this work, in ms, at least 1; `callTimeoutMs` where there is none. */
export function remainingMs(callTimeoutMs: number): number {
  const call = callTime.getStore();
  return call === undefined ? callTimeoutMs : Math.max(1, call.at - performance.now());
}

/** Work on the database took longer than it may. */
class DeadlineError extends Error {
  readonly code = 'DEADLINE';
}

/** The promise, or after `ms` a `DEADLINE` error; a value that comes too late goes to `onLate`. */
export function databaseWithin<T>(promise: Promise<T>, ms: number, onLate: (value: T) => void = () => {}): Promise<T> {
  return beforeDeadline(promise, ms, { late: () => new DeadlineError('database deadline passed'), onLate });
}
