import type { Logger } from 'pino';
import type { Metrics } from './metrics.js';

interface Told {
  metrics: Pick<Metrics, 'auditWriteFailures'>;
  log: Logger;
}

/** AU-11: an event in a transaction of its own changes no answer. That it could not be written is counted and logged. */
export async function tryToAudit({ metrics, log }: Told, type: string, write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    metrics.auditWriteFailures.inc();
    log.error({ error: String(error) }, `${type} not written`);
  }
}
