import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import type { ListenAddress } from './listen-address.js';
import { createFailureLog, type Log } from './log.js';
import { makeFolder, removeOwn, touchOwn } from './probe-files.js';
import type { Timings } from './timings.js';

export interface Probes {
  /** Marks the process as alive; throws when the file cannot be written (agent-process.md section 3) or is not ours (HD-93). */
  alive(): void;
  setReady(ready: boolean): void;
  /** Opens `[probes] listen`, if set; rejects with the operating system's error. */
  listen(): Promise<void>;
  /** Removes both files and stops listening. */
  close(): Promise<void>;
}

/** The files `svc-agent-alive` and `svc-agent-ready`, and `GET /live`, `GET /ready` (AP-16). */
export function createProbes(options: { dir: string; listen: ListenAddress | null; aliveForMs: number }): Probes {
  const aliveFile = join(options.dir, 'svc-agent-alive');
  const readyFile = join(options.dir, 'svc-agent-ready');
  let server: Server | null = null;
  let lastAlive = 0;
  let ready = false;
  return {
    alive() {
      // Only the first time: later, a missing folder must stay visible to the supervisor.
      if (lastAlive === 0) makeFolder(options.dir);
      lastAlive = Date.now();
      touchOwn(aliveFile);
    },
    setReady(wanted) {
      ready = wanted;
      if (wanted) touchOwn(readyFile);
      else removeOwn(readyFile);
    },
    async listen() {
      if (options.listen === null) return;
      server = createServer((request, response) => {
        const fine = { '/live': Date.now() - lastAlive < options.aliveForMs, '/ready': ready }[request.url ?? ''];
        response.writeHead(fine === undefined ? 404 : fine ? 200 : 503).end();
      });
      const { host, port } = options.listen;
      await new Promise<void>((resolve, reject) => {
        server?.once('error', reject).listen(port, host, () => resolve());
      });
    },
    async close() {
      for (const file of [readyFile, aliveFile]) removeQuietly(file);
      server?.closeAllConnections();
      await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
    },
  };
}

/** At shutdown nobody is left to act on a failure. */
function removeQuietly(path: string): void {
  try {
    removeOwn(path);
  } catch {
    // Not our file.
  }
}

/**
 * Runs a write to a probe file and only logs a failure, such as a missing folder or a full disk. The supervisor notices it too,
 * and jobs must not end because of it.
 */
export function createQuiet({ log, timings }: { log: Log; timings: Timings }): (write: () => void) => void {
  const failures = createFailureLog(log, timings.summaryMs);
  return (write) => {
    try {
      write();
      failures.succeeded();
    } catch (error) {
      failures.failed('probe file not written', { why: (error as NodeJS.ErrnoException).code });
    }
  };
}
