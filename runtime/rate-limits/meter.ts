import type { Config } from '../../config/types.js';
import type { Caller } from '../../domain/caller.js';
import type { GatewayError } from '../../domain/errors.js';
import { type Limit, type LimitVerdict, networkOf, tighter } from '../../domain/rate-limit.js';
import { type RateLimiter, rateLimited } from './limiter.js';

/** The limits of one call. Each refusal is a 429 (HT-121), and the headers show the tightest limit that applied (OP-32). */
export interface Meter {
  /** HT-3. */
  address(): Promise<void>;
  /** HT-6. */
  credential(caller: Caller): Promise<void>;
  /** Counts a refused credential. Returns the 429 that replaces its 401, or null (OP-33). */
  failure(): Promise<GatewayError | null>;
  /** PF-3. */
  preflight(caller: Caller): Promise<void>;
}

/** `tell` sets a header of the answer. */
export function createMeter(options: {
  limiter: RateLimiter;
  config: Config;
  clientIp: string | null;
  tell: (headers: Record<string, string>) => void;
}): Meter {
  const { limiter, config, tell } = options;
  const { enabled, ...limits } = config.rateLimits;
  const network = networkOf(options.clientIp ?? 'unknown');
  let tightest: LimitVerdict | null = null;
  const count = async (limit: Limit): Promise<GatewayError | null> => {
    if (limit.perWindow === 0) return null;
    const verdict = await limiter.count(limit);
    tightest = tighter(tightest, verdict);
    tell(headersOf(tightest));
    return verdict.passes ? null : rateLimited(limit.kind, limit.perWindow);
  };
  const check = async (limit: Limit) => {
    const refused = await count(limit);
    if (refused !== null) throw refused;
  };
  return {
    address: async () => {
      if (enabled) await check({ kind: 'address', subject: network, perWindow: limits.perAddress });
    },
    credential: async ({ kind, id, tokenId }) => {
      const perWindow = kind === 'agent' ? limits.perAgentToken : limits.perToken;
      if (enabled) await check({ kind: 'token', subject: tokenId ?? `jwt:${id}`, perWindow });
    },
    failure: async () => (enabled ? count({ kind: 'auth', subject: network, perWindow: limits.authFailuresPerAddress }) : null),
    preflight: ({ id }) => check({ kind: 'preflight', subject: id, perWindow: config.preflight.rateLimitPerMinute }),
  };
}

/** HT-27, HT-28: whole seconds, at least 1. */
function headersOf({ passes, perWindow, remaining, resetMs }: LimitVerdict): Record<string, string> {
  const reset = String(Math.max(1, Math.ceil(resetMs / 1000)));
  return {
    'RateLimit-Limit': String(perWindow),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': reset,
    ...(passes ? {} : { 'Retry-After': reset }),
  };
}
