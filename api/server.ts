import { rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { join, resolve } from 'node:path';
import { stopAfter } from '../lib/deadline.js';
import { createReleases } from '../lib/releases.js';
import { sleep } from '../lib/sleep.js';
import { createAuthenticate } from '../runtime/authentication.js';
import { listen, tryListening } from '../runtime/listen-address.js';
import { createAuthenticateJwt } from '../runtime/oidc/authenticate.js';
import { readIfThere, writePrivateFile } from '../runtime/private-files.js';
import { createReadiness, type Readiness } from '../runtime/readiness.js';
import { isStoppedByHand } from '../runtime/stop-signals.js';
import type { Services } from './context.js';
import { createApp } from './http/app.js';
import { createHttpServer } from './http/http-server.js';
import { tokenFiles } from './identity/bootstrap-files.js';
import { allRoutes, defaultTimes, type RouteTimes, readOnlyPaths } from './routes.js';
import { openServices, type ServicesOptions } from './services.js';
import { warmUp } from './warm-up.js';

const callsInProgressMs = 5000;

export interface StartOptions extends ServicesOptions {
  /** Overrides `server.listen`. */
  listen: string | null;
  times?: RouteTimes;
}

export interface RunningServer {
  port: number;
  services: Services;
  /** What `/ready` answers. */
  ready(): Promise<Readiness>;
  /** Reads `server.toml` again (CF-40). */
  reload(): void;
  /** Resolves after `signal`, once everything is released. */
  stopped: Promise<void>;
}

/** Starts one API process (OP-50). Aborting `signal` drains and stops it. Releases in reverse order, also if a later step of the start fails. */
export async function createServer(options: StartOptions): Promise<RunningServer> {
  const { config, log, signal } = options;
  const releases = createReleases((error) => log.error({ error: String(error) }, 'not closed cleanly'));
  const address = options.listen ?? config.server.listen;
  try {
    await tryListening(address);
    const { services, reload, drain } = await openServices(options, releases);
    const ready = readinessOf(services);
    const http = httpServerOf(services, ready, options.times ?? defaultTimes);
    await warmUp(services);
    signal.throwIfAborted();
    const port = await listen(http, address);
    releases.add(() => closeHttp(http));
    releases.add(await writePidFile(config.stateDir));
    log.info({ port, ...(await adminTokenFile(config.stateDir)) }, 'listening');
    const stop = async () => {
      drain();
      log.info({}, 'draining');
      // A server that a person stops by Ctrl-C has no proxy in front of it.
      if (!isStoppedByHand(signal)) await sleep(services.config().server.drainSecs * 1000);
      await releases.all();
      log.info({}, 'stopped');
    };
    return { port, services, ready, reload, stopped: aborted(signal).then(stop) };
  } catch (error) {
    await releases.all();
    throw error;
  }
}

const readinessOf = ({ database, lifecycle, temporal, results, config }: Services): (() => Promise<Readiness>) =>
  createReadiness({
    database,
    taskQueue: config().temporal.taskQueue,
    lifecycle,
    temporalReachable: () => temporal.reachable(),
    resultsHealthy: () => results.healthy(),
  });

function httpServerOf(services: Services, ready: () => Promise<Readiness>, times: RouteTimes): Server {
  const { database, config } = services;
  const authenticateJwt = createAuthenticateJwt(services);
  const authenticate = createAuthenticate({ database, authenticateJwt, config }, services.authFailures.record);
  const app = createApp({ services, authenticate, routes: allRoutes(ready, times), readOnlyPaths, stallMs: times.stallMs });
  const handle = app.callback();
  return createHttpServer((request, response) => void handle(request, response), services.version);
}

/** Where a person finds the first token, as long as it lies there (IM-56). */
async function adminTokenFile(stateDir: string): Promise<{ admin_token_file?: string }> {
  const file = resolve(stateDir, tokenFiles.admin);
  return (await readIfThere(file)) === null ? {} : { admin_token_file: file };
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
