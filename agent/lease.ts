import type { ClaimAnswer } from './protocol.js';

/** By two clocks: the monotonic one stands still while the machine sleeps, and the other one can be set. */
export interface Moment {
  monotonicMs: number;
  clockMs: number;
}

export const moment = (): Moment => ({ monotonicMs: performance.now(), clockMs: Date.now() });

/** Whether the gateway still keeps a run for this agent, as far as the agent knows (AG-37, AG-40). */
export class Lease {
  readonly #lengthMs: number;
  #since: Moment;
  #ended = false;

  /** `since`: before the gateway can have begun the lease. A gateway that tells no length is asked by heartbeats only. */
  constructor({ lease_secs: secs }: Pick<ClaimAnswer, 'lease_secs'>, since: Moment) {
    this.#lengthMs = (secs ?? Number.POSITIVE_INFINITY) * 1000;
    this.#since = since;
  }

  get holds(): boolean {
    const { monotonicMs, clockMs } = moment();
    const ageMs = Math.max(monotonicMs - this.#since.monotonicMs, clockMs - this.#since.clockMs);
    return !this.#ended && ageMs < this.#lengthMs;
  }

  /** How long a heartbeat may wait for its answer: a connection that is dead must leave time for others within the lease. */
  get beatMs(): number {
    return Math.max(1000, this.#lengthMs / 6);
  }

  /** `since`: before the heartbeat that extended it was sent. */
  extend(since: Moment): void {
    if (since.monotonicMs > this.#since.monotonicMs) this.#since = since;
  }

  /** The gateway has said that it is over; it never begins again. */
  end(): void {
    this.#ended = true;
  }
}
