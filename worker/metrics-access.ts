import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import type { Database } from '../db/client.js';
import { lacking } from '../domain/lacking.js';
import { can } from '../domain/permissions.js';
import { createAuthFailureLog } from '../runtime/auth-failures.js';
import { createAuthenticate } from '../runtime/authentication.js';
import { addressOf } from '../runtime/client-address.js';
import type { Configuration } from '../runtime/configuration.js';
import { bearerOf } from '../runtime/credential.js';
import type { Metrics } from '../runtime/metrics.js';
import { createAuthenticateJwt } from '../runtime/oidc/authenticate.js';
import { createRateLimiter } from '../runtime/rate-limits/limiter.js';
import { createMeter } from '../runtime/rate-limits/meter.js';

export interface MetricsAccess {
  /** Rejects callers that may not read the metrics (OP-3, OP-20). `tell` receives the limit's headers. */
  check(request: IncomingMessage, tell: (headers: Record<string, string>) => void): Promise<void>;
  close(): Promise<void>;
}

/** Authenticates, limits, counts and audits readers of a worker's metrics as the server does (HD-93). */
export function createMetricsAccess(options: {
  configuration: Pick<Configuration, 'config' | 'generation'>;
  database: Database;
  metrics: Metrics;
  log: Logger;
}): MetricsAccess {
  const { configuration, database, log } = options;
  const failures = createAuthFailureLog(options);
  const authenticate = createAuthenticate(
    {
      database,
      authenticateJwt: createAuthenticateJwt({ database, log, config: configuration.config }),
      config: configuration.config,
    },
    failures.record,
  );
  const limiter = createRateLimiter(options, configuration.config);
  return {
    async check(request, tell) {
      const config = configuration.config();
      const address = addressOf(request, config.trustedProxies);
      const meter = createMeter({ limiter, config, clientIp: address.clientIp, tell });
      const { caller } = await authenticate(
        { request, credential: bearerOf(request), address, meter },
        configuration.generation(),
      );
      if (!can(caller, 'metrics.view', 'everywhere')) throw lacking(['metrics.view']);
    },
    close: failures.close,
  };
}
