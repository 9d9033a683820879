import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { GatewayError } from '../domain/errors.js';
import { StartError } from './start-error.js';

const retryMs = 500;

/** Does a step of the start, again while our database is away; it must be one that a start which broke off does again. */
export type PatientStart = <T>(step: () => Promise<T>) => Promise<T>;

/** One limit for all steps of a start: with the database away for so long after its begin, a step ends with a `StartError` (OP-50); 0 is no limit. */
export function createPatientStart(waitSecs: number, log: Logger, signal: AbortSignal): PatientStart {
  const until = waitSecs === 0 ? Number.POSITIVE_INFINITY : performance.now() + waitSecs * 1000;
  let isTold = false;
  return async (step) => {
    for (;;) {
      try {
        return await step();
      } catch (error) {
        if (!(error instanceof GatewayError && error.code === 'service.unavailable')) throw error;
        if (performance.now() >= until) throw new StartError(`the gateway database was not reachable for ${waitSecs} s`);
        if (!isTold) log.warn({}, 'waiting for the gateway database');
        isTold = true;
      }
      await sleep(retryMs, undefined, { signal });
    }
  };
}
