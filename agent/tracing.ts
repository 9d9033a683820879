import { openTracing } from '../tracing/open.js';
import type { Tracing } from '../tracing/tracing.js';
import type { AgentConfig } from './config-values.js';
import type { Log } from './log.js';

/** OP-94. An agent has no metrics: its log says how many spans were lost when they are sent again. */
export function openAgentTracing({
  config,
  version,
  log,
}: {
  config: Pick<AgentConfig, 'telemetry'>;
  version: string;
  log: Log;
}): Promise<Tracing> {
  let dropped = 0;
  return openTracing({
    ...config.telemetry,
    process: 'agent',
    version,
    onDropped: (spans) => {
      dropped += spans;
    },
    onTrouble: (why) => {
      if (why !== null) return log.warn('traces are not sent; spans are dropped', { why });
      log.info('traces are sent again', { dropped });
      dropped = 0;
    },
  });
}
