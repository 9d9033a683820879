import { CancelControl, type CancelReason } from './cancel-control.js';
import type { OfferedJob } from './protocol.js';

export interface ActiveJob {
  request_id: string;
  operation: string;
  elapsed_secs: number;
}

/** A job that holds a slot. */
export interface SlotEntry {
  offered: Pick<OfferedJob, 'id' | 'operation'>;
  since: number;
  control: CancelControl;
  /** Null until it is claimed. */
  executionId: string | null;
}

/** The jobs that hold a slot, and the executions that ended last. */
export class Slots {
  readonly #running = new Set<SlotEntry>();
  readonly #endedLast: string[] = [];
  readonly #whenIdle = new Set<() => void>();
  readonly #size: number;
  readonly #onFreed: () => void;

  constructor(size: number, onFreed: () => void) {
    this.#size = size;
    this.#onFreed = onFreed;
  }

  get free(): number {
    return this.#size - this.#running.size;
  }

  take(offered: SlotEntry['offered'], executionId: string | null): SlotEntry {
    const control = new CancelControl(cancelTextOf(offered.operation));
    const entry = { offered, since: performance.now(), control, executionId };
    this.#running.add(entry);
    return entry;
  }

  leave(entry: SlotEntry): void {
    this.#running.delete(entry);
    if (entry.executionId !== null) this.#endedLast.push(entry.executionId);
    if (this.#endedLast.length > this.#size) this.#endedLast.shift();
    this.#onFreed();
    if (this.#running.size === 0) for (const resolve of this.#whenIdle) resolve();
  }

  active(): ActiveJob[] {
    return [...this.#running].slice(0, 100).map(({ offered, since }) => ({
      request_id: offered.id,
      operation: offered.operation,
      elapsed_secs: Math.floor((performance.now() - since) / 1000),
    }));
  }

  held(): string[] {
    const running = [...this.#running].flatMap(({ executionId }) => executionId ?? []);
    return [...running, ...this.#endedLast].slice(0, 1000);
  }

  cancel(reason: CancelReason, isMeant: (entry: SlotEntry) => boolean): void {
    for (const entry of this.#running) if (isMeant(entry)) entry.control.request(reason);
  }

  async idle(): Promise<void> {
    if (this.#running.size > 0) await new Promise<void>((resolve) => this.#whenIdle.add(resolve));
  }
}

const cancelTextOf = (operation: string) =>
  operation.startsWith('migrate_') ? 'migration error: migration cancelled' : undefined;
