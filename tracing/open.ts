import { noTracing, type Tracing, type TracingOptions } from './tracing.js';

/** Loads the packages of OpenTelemetry only where there is an endpoint. */
export async function openTracing(options: TracingOptions): Promise<Tracing> {
  if (options.endpoint === null) return noTracing;
  const { createTracing } = await import('./otlp.js');
  return createTracing({ ...options, endpoint: options.endpoint });
}
