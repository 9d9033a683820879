import type { Logger } from 'pino';
import type { Database } from '../db/client.js';
import { sleep } from '../lib/sleep.js';
import type { ReadAuditKeys } from '../runtime/audit-keys.js';
import { createBatchSize } from './batch-size.js';
import type { Job } from './job.js';
import { mostAtOnce, purgeAuditEvents } from './purge-audit-events.js';
import { inRounds } from './rounds.js';
import { requireSameClock } from './same-clock.js';

const everyMs = 3_600_000;
const daySecs = 86_400;
/** A sealer holds the lock for the time of a batch. */
const busyMs = 100;

/** Purges audit events past `retention.audit_ttl_days` (AU-46). */
export function createAuditPurge(options: {
  database: Database;
  keys: ReadAuditKeys;
  log: Logger;
  auditTtlDays: () => number;
  everyMs?: number;
}): Job {
  const { database, keys, log, auditTtlDays } = options;
  const inBatches = createBatchSize(mostAtOnce);
  return inRounds(database, {
    name: 'audit_purge',
    everyMs: options.everyMs ?? everyMs,
    async part() {
      await requireSameClock(database);
      const outcome = await inBatches((most) =>
        database.transaction((tx) => purgeAuditEvents(tx, keys, auditTtlDays() * daySecs, most)),
      );
      if (outcome.kind === 'busy') {
        await sleep(busyMs);
        return true;
      }
      if (outcome.kind === 'stopped') {
        log.error({ reason: outcome.reason }, 'audit purge stopped: the stored chain cannot be verified');
        return false;
      }
      if (outcome.purged > 0) log.info({ events: outcome.purged }, 'audit events purged');
      return outcome.purged > 0;
    },
  });
}
