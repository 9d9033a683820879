import type { Logger } from 'pino';
import { GatewayError } from '../domain/errors.js';
import { sleep } from '../lib/sleep.js';
import { StartError } from './start-error.js';

const retryMs = 500;

/** Does a step of the start, again while our database is away; it must be one that a start which broke off does again. */
export type PatientStart = <T>(step: () => Promise<T>) => Promise<T>;

/** What a step found our database to be that does answer; words behind its name, in the past tense. */
export class NotReady extends Error {}

/** One limit for all steps of a start: with the database away for so long after its begin, a step ends with a `StartError` (OP-50); 0 is no limit. */
export function createPatientStart(waitSecs: number, log: Logger, signal: AbortSignal): PatientStart {
  const until = waitSecs === 0 ? Number.POSITIVE_INFINITY : performance.now() + waitSecs * 1000;
  let isTold = false;
  return async (step) => {
    for (;;) {
      try {
        return await step();
      } catch (error) {
        const how = howAway(error);
        if (how === null) throw error;
        if (performance.now() >= until) throw new StartError(`the gateway database ${how} for ${waitSecs} s`);
        if (!isTold) log.warn({}, 'waiting for the gateway database');
        isTold = true;
      }
      await sleep(retryMs, signal);
      signal.throwIfAborted();
    }
  };
}

function howAway(error: unknown): string | null {
  if (error instanceof NotReady) return error.message;
  return error instanceof GatewayError && error.code === 'service.unavailable' ? 'was not reachable' : null;
}
