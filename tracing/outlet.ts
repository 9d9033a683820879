import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { DropReason, TracingLimits, TracingOptions } from './tracing.js';

type Done = Parameters<SpanExporter['export']>[1];

/** The numbers of the package's own list of outcomes. */
const outcome = { sent: 0, failed: 1 } as const;

/**
 * Sends batches of spans with the package's exporter. Adds a limit on waiting spans, a deadline per batch that a trickle of bytes cannot extend, and
 * a count of lost spans.
 */
export class Outlet implements SpanExporter {
  readonly #options: Pick<TracingOptions, 'onDropped' | 'onTrouble'> & { limits: TracingLimits };
  readonly #agent: HttpAgent;
  readonly #exporter: OTLPTraceExporter;
  #waiting = 0;
  #isFailing = false;

  constructor(endpoint: string, options: Pick<TracingOptions, 'onDropped' | 'onTrouble'> & { limits: TracingLimits }) {
    this.#options = options;
    // A stop sends the whole queue at once, beside what is under way.
    const maxAtOnce = Math.ceil(options.limits.queue / options.limits.batch) + 1;
    const settings = { keepAlive: true, maxSockets: maxAtOnce };
    this.#agent = endpoint.startsWith('https:') ? new HttpsAgent(settings) : new HttpAgent(settings);
    this.#exporter = new OTLPTraceExporter({
      url: tracesUrl(endpoint),
      timeoutMillis: options.limits.exportMs,
      concurrencyLimit: maxAtOnce,
      httpAgentOptions: () => this.#agent,
    });
  }

  /** Whether one more span may wait; counts it if so. */
  takePlace(): boolean {
    if (this.#waiting >= this.#options.limits.queue) {
      this.#options.onDropped(1, 'queue_full');
      return false;
    }
    this.#waiting += 1;
    return true;
  }

  export(spans: ReadableSpan[], done: Done): void {
    this.#waiting -= spans.length;
    let isOver = false;
    const end: Done = (result) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      if (result.code === outcome.sent) this.#tell(null);
      else this.#lost(spans.length, 'not_sent', whyOf(result.error));
      done(result);
    };
    const timer = setTimeout(() => {
      end({ code: outcome.failed, error: new NoAnswerInTime('no answer in time') });
      this.#agent.destroy();
    }, this.#options.limits.exportMs);
    this.#exporter.export(spans, end);
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush();
  }

  async shutdown(): Promise<void> {
    await this.#exporter.shutdown();
  }

  /** Ends every connection; what still waits is lost. */
  cut(): void {
    this.#agent.destroy();
  }

  #lost(spans: number, reason: DropReason, why: string): void {
    this.#options.onDropped(spans, reason);
    this.#tell(why);
  }

  #tell(why: string | null): void {
    const isFailing = why !== null;
    if (isFailing !== this.#isFailing) this.#options.onTrouble(why);
    this.#isFailing = isFailing;
  }
}

class NoAnswerInTime extends Error {}

/** As other programs read `OTEL_EXPORTER_OTLP_ENDPOINT`: the path of traces follows the address of the collector. */
function tracesUrl(endpoint: string): string {
  const base = endpoint.replace(/\/+$/, '');
  return base.endsWith('/v1/traces') ? base : `${base}/v1/traces`;
}

/** The status or the code of the operating system; never the collector's own words. */
function whyOf(error: Error | undefined): string {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === 'number') return `status ${code}`;
  if (typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code)) return code;
  return error instanceof NoAnswerInTime ? error.message : 'not accepted';
}
