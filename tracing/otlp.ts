import { randomBytes, randomUUID } from 'node:crypto';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, type Tracer, trace } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type IdGenerator, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { within } from '../lib/deadline.js';
import { firstSpanId, type SpanLink, traceIdOf } from './ids.js';
import { Outlet } from './outlet.js';
import { defaultLimits, type Span, type Tracing, type TracingOptions } from './tracing.js';

/** Sends spans to a collector by OTLP over HTTP, as JSON. Loaded only where tracing is on (OP-94). */
export function createTracing(options: TracingOptions & { endpoint: string }): Tracing {
  const limits = { ...defaultLimits, ...options.limits };
  const outlet = new Outlet(options.endpoint, { ...options, limits });
  const ids = new ChosenIds();
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': `svc-${options.process}`,
      'service.version': options.version,
      'service.instance.id': randomUUID(),
    }),
    // By the trace id alone, so that all processes keep or leave the same requests. A flag of a caller counts for nothing.
    sampler: new TraceIdRatioBasedSampler(options.sampleRatio),
    idGenerator: ids,
    spanProcessors: [boundedBatches(outlet, limits)],
  });
  const tracer = provider.getTracer('svc');
  const wallClock = createWallClock();
  return {
    isOn: true,
    record: (span) => record(tracer, ids, span, wallClock),
    async close() {
      await within(
        provider.shutdown().catch(() => {}),
        limits.closeMs,
        undefined,
      );
      outlet.cut();
    },
  };
}

/** The package's queue drops silently when it is full, so the bound is kept before it. */
function boundedBatches(outlet: Outlet, limits: typeof defaultLimits): BatchSpanProcessor {
  const batches = new BatchSpanProcessor({
    exporter: outlet,
    maxQueueSize: limits.queue,
    maxExportBatchSize: limits.batch,
    scheduledDelayMillis: limits.delayMs,
    // Later than the outlet's own deadline, which counts what is lost.
    exportTimeoutMillis: limits.exportMs + 1000,
  });
  const queue = batches.onEnd.bind(batches);
  batches.onEnd = (span) => {
    if (outlet.takePlace()) queue(span);
  };
  return batches;
}

/** The ids of the next span, which are asked for while it is made. */
class ChosenIds implements IdGenerator {
  trace = '';
  span = '';
  generateTraceId = () => this.trace;
  generateSpanId = () => this.span;
}

function record(tracer: Tracer, ids: ChosenIds, span: Span, wallClock: (instant: number) => number): void {
  const traceId = traceIdOf(span.requestId);
  if (traceId === null) return;
  ids.trace = traceId;
  ids.span = span.id ?? randomBytes(8).toString('hex');
  const parent = span.parent ?? firstSpanId(span.requestId);
  const context = parent === 'none' ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, contextOf({ traceId, spanId: parent }));
  const made = tracer.startSpan(
    span.name,
    {
      kind: kinds[span.kind],
      startTime: wallClock(span.startedAt),
      attributes: { 'svc.request_id': span.requestId, ...known(span.attributes) },
      links: span.link ? [{ context: contextOf(span.link) }] : [],
    },
    context,
  );
  if (span.error) made.setAttribute('error.type', span.error).setStatus({ code: SpanStatusCode.ERROR, message: span.error });
  made.end(wallClock(span.endedAt));
}

const contextOf = (link: SpanLink) => ({ ...link, traceFlags: TraceFlags.SAMPLED, isRemote: true });

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} satisfies Record<Span['kind'], SpanKind>;

const known = (attributes: Span['attributes']) =>
  Object.fromEntries(Object.entries(attributes).flatMap(([key, value]) => (value === null ? [] : [[key, value]])));

/** A larger drift from the wall clock means that the machine slept or its clock was set. */
const stepMs = 5;

/**
 * Instants of `performance.now()` as milliseconds since the epoch. Of two instants the later one stays the later, unless the machine's clock was set in between;
 * spans of other machines are compared by that clock.
 */
function createWallClock(): (instant: number) => number {
  let offset: number = performance.timeOrigin;
  return (instant) => {
    const now = Date.now() - performance.now();
    if (Math.abs(now - offset) > stepMs) offset = now;
    return offset + instant;
  };
}
