import type { SpanLink } from './ids.js';

/** One piece of work on a request, told once it is over. */
export interface Span {
  requestId: string;
  name: string;
  kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  /** Its own id; a random one if absent. */
  id?: string;
  /** The span that it is part of; `none` for the first of the trace, and the first if absent. */
  parent?: string | 'none';
  /** As `performance.now()` says it. */
  startedAt: number;
  endedAt: number;
  /** Only what OP-94 lists: no SQL, reason, name of a person, token or row. */
  attributes: Attributes;
  /** The code of a failure. */
  error?: string | null;
  link?: SpanLink | null;
}

export type Attributes = Readonly<Record<string, string | number | boolean | null>>;

/** Where spans go. Never throws, and never makes its caller wait. */
export interface Tracing {
  /** Whether spans are sent. */
  readonly isOn: boolean;
  record(span: Span): void;
  /** Sends what waits, for a second at most. */
  close(): Promise<void>;
}

export interface TracingOptions {
  /** The base address of a collector; null = off. */
  endpoint: string | null;
  /** The share of requests whose traces are sent, 0 to 1. Every process decides the same for one request. */
  sampleRatio: number;
  process: 'server' | 'worker' | 'agent';
  version: string;
  onDropped(spans: number, reason: DropReason): void;
  /** Called when sending fails after it went well, and when it goes well again. `why` holds nothing that the collector said. */
  onTrouble(why: string | null): void;
  limits?: Partial<TracingLimits>;
}

export type DropReason = 'queue_full' | 'not_sent';

/** Bounds; tests give their own. */
export interface TracingLimits {
  queue: number;
  batch: number;
  /** How long a span waits for others to be sent with. */
  delayMs: number;
  /** After so long nothing is waited for any more, whatever the collector does. */
  exportMs: number;
  /** For a stop: less than what the last calls leave of OP-I5. */
  closeMs: number;
}

/** About 2 MiB of spans, some two hundred requests. */
export const defaultLimits: TracingLimits = { queue: 2048, batch: 256, delayMs: 1000, exportMs: 10_000, closeMs: 1000 };

export const noTracing: Tracing = { isOn: false, record: () => {}, close: async () => {} };

type Untimed = Omit<Span, 'startedAt' | 'endedAt' | 'attributes' | 'error'>;

/** Runs the work and records it. `told` says what is known of it afterwards. */
export async function traced<T>(
  tracing: Tracing,
  span: Untimed,
  work: () => Promise<T>,
  told: (value: T) => Pick<Span, 'attributes' | 'error'>,
): Promise<T> {
  if (!tracing.isOn) return work();
  const startedAt = performance.now();
  const end = (rest: Pick<Span, 'attributes' | 'error'>) =>
    tracing.record({ ...span, startedAt, endedAt: performance.now(), ...rest });
  try {
    const value = await work();
    end(told(value));
    return value;
  } catch (error) {
    end({ attributes: {}, error: 'internal' });
    throw error;
  }
}
