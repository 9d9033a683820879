import { existsSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import type { ListenAddress } from './listen-address.js';

export interface Probes {
  /** Marks the process as alive; throws when the file cannot be written (section 3). */
  alive(): void;
  setReady(ready: boolean): void;
  /** Opens `[probes] listen`, if set; rejects with the error of the operating system. */
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
      lastAlive = Date.now();
      if (existsSync(aliveFile)) utimesSync(aliveFile, new Date(), new Date());
      else writeFileSync(aliveFile, '');
    },
    setReady(wanted) {
      if (wanted && !existsSync(readyFile)) writeFileSync(readyFile, '');
      if (!wanted) rmSync(readyFile, { force: true });
      ready = wanted;
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
      rmSync(readyFile, { force: true });
      rmSync(aliveFile, { force: true });
      server?.closeAllConnections();
      await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
    },
  };
}
