import type { Logger } from 'pino';
import type { Config } from '../config/types.js';
import { sha256Hex } from '../crypto/hash.js';
import { insertAuditEvents } from '../db/audit.js';
import type { Database } from '../db/client.js';
import { lockLicenseState, writeLicenseState } from '../db/license-state.js';
import { insertDeliveries } from '../db/webhook-deliveries.js';
import { licenseNews } from '../domain/license-news.js';
import type { SharedConfig } from '../domain/policies.js';
import { licenseOf } from '../runtime/license-limits.js';
import { deliveriesOf } from '../runtime/outgoing.js';
import type { Job } from './job.js';
import { inRounds } from './rounds.js';

const everyMs = 30_000;

export interface LicenseKeeperOptions {
  database: Database;
  config: () => Pick<Config, 'license' | 'server'>;
  /** In force for all processes (NT-14). */
  shared: () => SharedConfig;
  log: Logger;
  now?: () => number;
  everyMs?: number;
}

/** Tells of the end of a licence, once for each key however many workers run, and records each change of the plan in effect (OP-45). */
export function createLicenseKeeper({ database, config, shared, log, now = Date.now, ...options }: LicenseKeeperOptions): Job {
  return inRounds(database, {
    name: 'license keeper',
    everyMs: options.everyMs ?? everyMs,
    async part() {
      const { license, server } = config();
      const routing = shared();
      const fingerprint = license.key === null ? null : sha256Hex(license.key.trim()).slice(0, 16);
      await database.transaction(async (tx) => {
        const state = await lockLicenseState(tx, fingerprint);
        const { plan, notices, events } = licenseNews(licenseOf({ license }), now(), state);
        if (notices.length + events.length === 0) return;
        await insertAuditEvents(tx, events);
        await insertDeliveries(
          tx,
          notices.flatMap((notice) => deliveriesOf(notice, routing, server)),
        );
        await writeLicenseState(tx, fingerprint, { before: plan, told: [...state.told, ...notices.map(({ event }) => event)] });
        for (const { event, detail } of notices) log.warn({ event, detail }, 'the licence ends');
      });
      return false;
    },
  });
}
