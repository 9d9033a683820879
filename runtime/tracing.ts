import type { Logger } from 'pino';
import type { Config } from '../config/types.js';
import type { Releases } from '../lib/releases.js';
import { openTracing } from '../tracing/open.js';
import type { Tracing } from '../tracing/tracing.js';
import type { Metrics } from './metrics.js';
import { version } from './version.js';

interface ProcessTracing {
  config: Pick<Config, 'telemetry'>;
  process: 'server' | 'worker';
  metrics: Pick<Metrics, 'traceSpansDropped'>;
  log: Logger;
}

/** Tracing of a server or worker (OP-94). */
export async function openProcessTracing(
  { config, process, metrics, log }: ProcessTracing,
  releases: Releases,
): Promise<Tracing> {
  const { otlpEndpoint: endpoint, sampleRatio } = config.telemetry;
  const tracing = await openTracing({
    endpoint,
    sampleRatio,
    process,
    version,
    onDropped: (spans, reason) => metrics.traceSpansDropped.inc({ reason }, spans),
    onTrouble: (why) =>
      why === null ? log.info({}, 'traces are sent again') : log.warn({ error: why }, 'traces are not sent; spans are dropped'),
  });
  releases.add(() => tracing.close());
  return tracing;
}
