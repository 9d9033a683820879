import type { Metrics } from '../runtime/metrics.js';
import type { Troubles } from '../runtime/troubles.js';
import type { JobHost } from './job.js';
import { describeError } from './temporal-errors.js';

/** How a worker tells of its jobs in log and metrics. */
export const jobReport = (metrics: Metrics, troubles: Troubles): Pick<JobHost, 'onFailure' | 'onSuccess'> => ({
  onFailure(name, error, unexpected) {
    if (unexpected) metrics.backgroundPanics.inc();
    const stack = unexpected && error instanceof Error ? { stack: error.stack } : {};
    troubles.failed(name, error, 'background work failed', { error: describeError(error), ...stack });
  },
  onSuccess: troubles.works,
});
