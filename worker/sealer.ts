import type { Logger } from 'pino';
import { hasUnsealed } from '../db/audit-seal.js';
import type { Database } from '../db/client.js';
import type { ReadAuditKeys } from '../runtime/audit-keys.js';
import { createBatchSize } from './batch-size.js';
import type { Job } from './job.js';
import { maxEvents, type SealOutcome, sealBatch } from './seal-batch.js';

export interface SealerOptions {
  database: Database;
  keys: ReadAuditKeys;
  /** The name of the log in its notes (AU-81). */
  origin: () => string;
  /** Whether an anchor outside is to be given each checkpoint (AU-87). */
  isAnchored: boolean;
  log: Logger;
}

/** An event is sealed within 1 s (AU-13). What is committed meanwhile shares a batch, so a busy gateway has no more batches than this. */
const lookEveryMs = 600;
/** A slow batch makes the next look come sooner, but other work gets the processor and the disk for at least this long. */
const leastPauseMs = 100;
/** Between the batches of a backlog, at least: others get the processor and the disk for as long as a batch takes. */
const shortestPauseMs = 20;
/** The last checkpoint may be another process's, so the time of the next one is asked for now and then. */
const checkpointLookMs = 60_000;
const stoppedLookMs = 10_000;

/**
 * Seals audit events (AU-13). Any number of processes may run it: one of them seals at a time, and none waits. It costs one look at an index
 * that is empty, and a batch when there is something to seal.
 */
export function createSealer({ database, keys, origin, isAnchored, log }: SealerOptions): Job {
  let checkpointLookAt = 0;
  let stoppedFor: string | null = null;
  const inBatches = createBatchSize(maxEvents);
  const report = (outcome: SealOutcome) => {
    if (outcome.kind === 'busy') return;
    const reason = outcome.kind === 'stopped' ? outcome.reason : null;
    if (reason !== null && reason !== stoppedFor) log.error({ reason }, 'audit sealing stopped');
    if (reason === null && stoppedFor !== null) log.info({}, 'audit sealing goes on');
    stoppedFor = reason;
  };
  return {
    name: 'sealer',
    async once() {
      const startedAt = performance.now();
      if (startedAt < checkpointLookAt && !(await hasUnsealed(database))) return lookEveryMs;
      const outcome = await inBatches((limit) =>
        database.transaction((tx) => sealBatch(tx, keys, { origin: origin(), isAnchored }, limit)),
      );
      report(outcome);
      if (outcome.kind === 'busy') return lookEveryMs;
      if (outcome.kind === 'stopped') return stoppedLookMs;
      for (const { event, note } of outcome.checkpoints) {
        const { seq, event_hash, metadata_json } = event;
        const { signature } = JSON.parse(metadata_json) as { signature: string };
        log.info({ seq, event_hash, signature, note }, 'audit_checkpoint');
      }
      checkpointLookAt = performance.now() + Math.min(checkpointLookMs, outcome.checkpointInMs);
      const tookMs = performance.now() - startedAt;
      return outcome.isFull ? Math.max(shortestPauseMs, tookMs) : Math.max(leastPauseMs, lookEveryMs - tookMs);
    },
  };
}
