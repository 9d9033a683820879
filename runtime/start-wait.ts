import type { Logger } from 'pino';
import { isUnavailable, outageOf } from '../db/errors.js';
import { GatewayError } from '../domain/errors.js';
import { sleep } from '../lib/sleep.js';
import { StartError } from './start-error.js';

const retryMs = 500;

/** Runs a step of the start and repeats it while our database is unreachable. The step must be repeatable after an interrupted start. */
export type PatientStart = <T>(step: () => Promise<T>) => Promise<T>;

/**
 * One limit for all steps of a start. If the database is unreachable that long after the beginning, the step throws `StartError` (OP-50). 0
 * = no limit.
 */
export function createPatientStart(waitSecs: number, log: Logger, signal: AbortSignal): PatientStart {
  const until = waitSecs === 0 ? Number.POSITIVE_INFINITY : performance.now() + waitSecs * 1000;
  let isTold = false;
  return async (step) => {
    for (;;) {
      try {
        return await step();
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        const outage = outageIn(error);
        const why = outage === undefined ? '' : ` (${outage})`;
        if (performance.now() >= until) throw new StartError(`the gateway database was not reachable for ${waitSecs} s${why}`);
        if (!isTold) log.warn({ outage }, 'waiting for the gateway database');
        isTold = true;
      }
      await sleep(retryMs, signal);
      signal.throwIfAborted();
    }
  };
}

/** Why it could not be reached, in a word without its address; undefined if nobody knows. */
export function outageIn(error: unknown): string | undefined {
  return error instanceof GatewayError && error.cause !== undefined ? outageOf(error.cause) : undefined;
}
