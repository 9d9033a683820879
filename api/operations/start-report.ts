import type { Logger } from 'pino';
import { sleep } from '../../lib/sleep.js';
import type { Readiness } from '../../runtime/readiness.js';

const everyMs = 1000;

interface StartReport {
  ready: () => Promise<Readiness>;
  temporalAddress: string;
  log: Logger;
  signal: AbortSignal;
}

/** Logs what a server that has begun to listen still waits for, at each change, and that it is ready (OP-50). Then, or at `signal`, it ends. */
export async function reportStart({ ready, temporalAddress, log, signal }: StartReport): Promise<void> {
  const names: Record<string, string> = {
    database: 'the gateway database',
    temporal: `Temporal at ${temporalAddress}`,
    worker: 'a worker (svc worker)',
    result_storage: 'the result storage',
  };
  for (let told = ''; !signal.aborted; await sleep(everyMs, signal)) {
    const checks = Object.entries((await ready()).body.checks ?? {});
    if (signal.aborted) return;
    const missing = checks.flatMap(([name, check]) => (check === 'ok' ? [] : [names[name] ?? name])).join(', ');
    if (missing === '') return log.info({}, 'ready');
    if (missing !== told)
      log.warn({ waiting_for: missing }, 'not ready yet: requests are accepted, and continue when everything is available');
    told = missing;
  }
}
