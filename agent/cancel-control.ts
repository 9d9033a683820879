import { type FailureOutcome, failure, type Outcome } from './outcome.js';

/**
 * `asked`: a heartbeat or a poll reported it; `gone`: a newer attempt exists; `deadline`: the client's own timeout; `stopped`: the agent
 * ends.
 */
export type CancelReason = 'asked' | 'gone' | 'deadline' | 'stopped';

/** The cancel flag of one job; it keeps the first reason. */
export class CancelControl {
  reason: CancelReason | null = null;
  readonly #controller = new AbortController();
  readonly #ending = new AbortController();
  readonly #cancelText: string;

  /** `cancelText` is the error message of a confirmed cancel. */
  constructor(cancelText = 'driver error: query cancelled') {
    this.#cancelText = cancelText;
  }

  /** Aborts when the job must be cancelled. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts when the agent itself ends, even after a cancel for another reason. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  get requested(): boolean {
    return this.reason !== null;
  }

  request(reason: CancelReason): void {
    if (reason === 'stopped') this.#ending.abort();
    if (this.requested) return;
    this.reason = reason;
    this.#controller.abort();
  }

  /** The failure that reports a confirmed cancel (AP-43 to AP-46, AP-18). */
  confirmed(outcome: FailureOutcome, timeoutSecs: number): Outcome {
    switch (this.reason) {
      case 'deadline':
        return failure(outcome, `driver error: query timed out after ${timeoutSecs}s`);
      case 'stopped':
        return failure(outcome, 'agent stopped');
      default:
        return { success: false, outcome, errorMessage: this.#cancelText, cancelled: true };
    }
  }
}
