import type { Logger } from 'pino';
import type { Config } from '../../config/types.js';
import { limitDatabaseWork } from '../../db/call-limit.js';
import type { Database } from '../../db/client.js';
import { reserveCalls } from '../../db/rate-windows.js';
import { GatewayError } from '../../domain/errors.js';
import { type Limit, type LimitKind, type LimitVerdict, windowMs } from '../../domain/rate-limit.js';
import type { Metrics } from '../metrics.js';
import { createTroubles } from '../troubles.js';
import { memoryCounters, type Reserve, sharedCounters } from './counters.js';

/** The longest wait of a call for the shared counters. After that it passes (OP-34). */
const storeWaitMs = 1000;
const part = 'rate limits';

export interface RateLimiter {
  /** Counts one call in the configured store. */
  count(limit: Limit): Promise<LimitVerdict>;
}

/** 429 with a text that names the limit (HT-121). The meter sets the headers. */
export const rateLimited = (kind: LimitKind, perWindow: number): GatewayError =>
  new GatewayError('rate.limited', textOf[kind](perWindow), null);

const textOf: Record<LimitKind, (perWindow: number) => string> = {
  address: (perWindow) => `more than ${perWindow} calls per minute from this address`,
  token: (perWindow) => `more than ${perWindow} calls per minute with this token`,
  auth: () => 'too many failed authentications',
  preflight: (perWindow) => `more than ${perWindow} preflights per minute`,
};

/** The counters of this process. They follow changes of `rate_limits.store` (D17, OP-34). */
export function createRateLimiter(
  { database, metrics, log }: { database: Database; metrics: Metrics; log: Logger },
  config: () => Config,
): RateLimiter {
  const troubles = createTroubles(log);
  const onFailure = (error: unknown) => {
    metrics.backgroundPanics.inc();
    // Told by itself: without calls nobody learns when the store works again.
    troubles.failed(part, null, 'calls are not counted: the store of the rate limits failed', { error: String(error) });
  };
  const inMemory = memoryCounters(onFailure);
  const reserve: Reserve = async (key, amount) => {
    const reserved = await limitDatabaseWork(storeWaitMs, () => reserveCalls(database, key, amount, windowMs));
    troubles.works(part);
    return reserved;
  };
  const shared = sharedCounters(reserve, onFailure);
  return {
    count: async (limit) => {
      const verdict = await (config().rateLimits.store === 'memory' ? inMemory : shared).count(limit);
      if (!verdict.passes) metrics.rateLimited.inc({ limit: limit.kind });
      return verdict;
    },
  };
}
