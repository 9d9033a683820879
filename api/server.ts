import { rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { stopAfter } from '../lib/deadline.js';
import { createReleases } from '../lib/releases.js';
import { sleep } from '../lib/sleep.js';
import { createAuthenticate } from '../runtime/authentication.js';
import { listen } from '../runtime/listen-address.js';
import { createJudgeJwt } from '../runtime/oidc/judge.js';
import { readIfThere, writePrivateFile } from '../runtime/private-files.js';
import { createReadiness } from '../runtime/readiness.js';
import type { Services } from './context.js';
import { createApp } from './http/app.js';
import { createHttpServer } from './http/http-server.js';
import { allRoutes, defaultTimes, type RouteTimes, readOnlyPaths } from './routes.js';
import { openServices, type ServicesOptions } from './services.js';

const callsInProgressMs = 5000;

export interface StartOptions extends ServicesOptions {
  /** Overrides `server.listen`. */
  listen: string | null;
  times?: RouteTimes;
}

export interface RunningServer {
  port: number;
  services: Services;
  /** Reads `server.toml` again (CF-40). */
  reload(): void;
  /** Resolves after `signal`, once everything is released. */
  stopped: Promise<void>;
}

/** Starts one API process (OP-50). Aborting `signal` drains and stops it. Releases in reverse order, also if a later step of the start fails. */
export async function createServer(options: StartOptions): Promise<RunningServer> {
  const { config, log, signal } = options;
  const releases = createReleases((error) => log.error({ error: String(error) }, 'not closed cleanly'));
  try {
    const { services, reload, drain } = await openServices(options, releases);
    const http = httpServerOf(services, options.times ?? defaultTimes);
    const port = await listen(http, options.listen ?? config.server.listen);
    releases.add(() => closeHttp(http));
    releases.add(await writePidFile(config.stateDir));
    log.info({ port }, 'listening');
    const stop = async () => {
      drain();
      log.info({}, 'draining');
      await sleep(services.config().server.drainSecs * 1000);
      await releases.all();
      log.info({}, 'stopped');
    };
    return { port, services, reload, stopped: aborted(signal).then(stop) };
  } catch (error) {
    await releases.all();
    throw error;
  }
}

function httpServerOf(services: Services, times: RouteTimes): Server {
  const { database, lifecycle, temporal, results } = services;
  const ready = createReadiness({
    database,
    taskQueue: services.config().temporal.taskQueue,
    lifecycle,
    temporalReachable: () => temporal.reachable(),
    resultsHealthy: () => results.healthy(),
  });
  const authenticate = createAuthenticate({ database, judgeJwt: createJudgeJwt(services) }, services.authFailures.record);
  const app = createApp({ services, authenticate, routes: allRoutes(ready, times), readOnlyPaths, stallMs: times.stallMs });
  const handle = app.callback();
  return createHttpServer((request, response) => void handle(request, response), services.version);
}

/** `svc server reload` finds the process through this file (OP-52). */
async function writePidFile(stateDir: string): Promise<() => Promise<void>> {
  const path = join(stateDir, 'server.pid');
  await writePrivateFile(path, String(process.pid));
  return async () => {
    if ((await readIfThere(path)) === String(process.pid)) await rm(path, { force: true });
  };
}

/** Closes the listener and gives calls in progress 5 s (OP-62). */
async function closeHttp(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  await stopAfter(
    callsInProgressMs,
    () => server.closeAllConnections(),
    () => closed,
  );
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
