import type { Logger } from 'pino';
import { insertLoneEvent } from '../db/audit.js';
import type { Database } from '../db/client.js';
import type { Actor, AuditDraft } from '../domain/audit/draft.js';
import { networkOf } from '../domain/rate-limit.js';
import type { ClientAddress } from './client-address.js';
import type { AuthFailure } from './credential-verdict.js';
import type { Metrics } from './metrics.js';
import { tryToAudit } from './try-to-audit.js';

/** AU-12: individual events per client address (of IPv6: per /64) and minute. One event at the end of the minute sums up the rest. */
const eventsPerWindow = 60;
const windowMs = 60_000;
/** Above this number, further addresses share one window. */
const maxAddresses = 10_000;

export interface AuthFailureLog {
  /** Counts and audits a refused credential. Never throws and never changes the answer (AU-11). */
  record(failure: AuthFailure): Promise<void>;
  /** Writes the sums of open windows. */
  close(): Promise<void>;
}

interface AuthFailureServices {
  database: Database;
  metrics: Metrics;
  log: Logger;
}

interface Window {
  written: number;
  suppressed: number;
  address: ClientAddress;
  timer: NodeJS.Timeout;
}

/** Audits a limited number of refused credentials. A missing credential is only counted (IM section 1). */
export function createAuthFailureLog(services: AuthFailureServices): AuthFailureLog {
  const windows = new Map<string, Window>();
  const write = (draft: AuditDraft) => writeEvent(services, draft);
  const end = async (key: string) => {
    const window = windows.get(key);
    windows.delete(key);
    if (window === undefined) return;
    clearTimeout(window.timer);
    if (window.suppressed > 0) await write(summary(window));
  };
  const open = (key: string, address: ClientAddress): Window => {
    const timer = setTimeout(() => void end(key), windowMs);
    timer.unref();
    const made = { written: 0, suppressed: 0, address, timer };
    windows.set(key, made);
    return made;
  };
  return {
    record: async (failure) => {
      services.metrics.authFailures.inc({ reason: failure.error.code });
      if (failure.error.code === 'auth.missing_token') return;
      const address = networkOf(failure.address.clientIp ?? '');
      const key = windows.has(address) || windows.size < maxAddresses ? address : '';
      const window = windows.get(key) ?? open(key, failure.address);
      if (window.written >= eventsPerWindow || failure.error.code === 'rate.limited') {
        window.suppressed += 1;
        return;
      }
      window.written += 1;
      await write(single(failure));
    },
    close: async () => {
      await Promise.all([...windows.keys()].map(end));
    },
  };
}

const writeEvent = (services: AuthFailureServices, draft: AuditDraft): Promise<void> =>
  tryToAudit(services, 'auth.failure', () => insertLoneEvent(services.database, draft));

const anonymous = (address: ClientAddress): Actor => ({ id: 'anonymous', type: 'user', tokenId: null, ...address });

function single({ error, cause, subject, tokenPrefix, address }: AuthFailure): AuditDraft {
  const prefix = tokenPrefix !== null && /^[0-9a-f]{8}$/.test(tokenPrefix) ? { token_prefix: tokenPrefix } : {};
  return event(subject === null ? anonymous(address) : { ...subject, ...address }, error.code, {
    failure_reason: cause,
    code: error.code,
    ...prefix,
  });
}

const summary = ({ address, suppressed }: Window) => event(anonymous(address), null, { suppressed });

function event(actor: Actor, reason: string | null, metadata: Record<string, unknown>): AuditDraft {
  return { type: 'auth.failure', outcome: 'denied', actor, resourceType: null, resourceId: null, reason, metadata };
}
