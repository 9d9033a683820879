import { rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/types.js';
import { openGatewayDatabase } from '../runtime/gateway-database.js';
import { syncGeneration, watchGeneration } from '../runtime/generation.js';
import { createLifecycle } from '../runtime/lifecycle.js';
import { listen } from '../runtime/listen-address.js';
import { createMetrics } from '../runtime/metrics.js';
import { makePrivateFolder, readIfThere, writePrivateFile } from '../runtime/private-files.js';
import { createReadiness } from '../runtime/readiness.js';
import { loadSecretKey } from '../runtime/secret-key.js';
import { type KeyRing, openKeyRing } from '../runtime/signing-keys.js';
import { version } from '../runtime/version.js';
import { createSqlJudge } from '../sql/judge.js';
import { createApp } from './app.js';
import { createAuthFailureLog } from './auth-failures.js';
import { createAuthenticate } from './authentication.js';
import { bootstrap } from './bootstrap.js';
import type { Services, SigningKeys } from './context.js';
import { createHttpServer } from './http-server.js';
import { openLocalResultStore } from './result-store.js';
import { allRoutes, defaultTimes, type RouteTimes, readOnlyPaths } from './routes/index.js';
import { createTemporalReader } from './temporal.js';

const callsInProgressMs = 5000;

export interface StartOptions {
  config: Config;
  listen: string | null;
  forceBootstrap: boolean;
  log: Logger;
  /** Aborting it drains and stops. */
  signal: AbortSignal;
  times?: RouteTimes;
}

export interface RunningServer {
  port: number;
  services: Services;
  /** Resolves when everything is released after `signal`. */
  stopped: Promise<void>;
}

/** Starts one API process in the order of OP-50; what was opened is released in reverse order, also when a later step fails. */
export async function createServer(options: StartOptions): Promise<RunningServer> {
  const { config, log, signal } = options;
  const releases: (() => Promise<void>)[] = [];
  const release = async () => {
    for (const close of releases.splice(0).reverse())
      await close().catch((error: unknown) => log.error({ error: String(error) }, 'release'));
  };
  try {
    await makePrivateFolder(config.stateDir);
    const warn = (text: string) => log.warn({}, text);
    const gateway = await openGatewayDatabase(config, log, 'server', signal);
    releases.push(gateway.close);
    const { database, notifications } = gateway;
    const secretKey = await loadSecretKey(config.security, warn);
    const keys = await openKeyRing({ database, purpose: 'execution_token', secretKey, log });
    releases.push(keys.close);
    await bootstrap({ database, config, force: options.forceBootstrap, warn });
    const metrics = createMetrics(version);
    const first = await syncGeneration(database, config);
    const generations = watchGeneration({
      database,
      notifications,
      log,
      first,
      onChange: ({ number }) => metrics.configGeneration.set(number),
    });
    releases.push(generations.close);
    const judge = await createSqlJudge();
    releases.push(() => judge.close());
    const results = await openLocalResultStore(config.resultStorage.rootDir);
    const temporal = createTemporalReader(config);
    releases.push(() => temporal.close());
    const { lifecycle, drain } = createLifecycle();
    const services: Services = {
      database,
      notifications,
      judge,
      config: () => config,
      generation: generations.current,
      signingKeys: signingKeysOf(keys),
      results,
      metrics,
      log,
      lifecycle,
      temporal,
      version,
    };
    const failures = createAuthFailureLog(services);
    releases.push(failures.close);
    const http = httpServerOf(services, failures.record, options.times ?? defaultTimes);
    const port = await listen(http, options.listen ?? config.server.listen);
    releases.push(() => closeHttp(http));
    releases.push(await writePidFile(config.stateDir));
    log.info({ port }, 'listening');
    const stopped = untilStopped(signal, async () => {
      drain();
      log.info({}, 'draining');
      await sleep(config.server.drainSecs * 1000);
      await release();
    });
    return { port, services, stopped };
  } catch (error) {
    await release();
    throw error;
  }
}

function httpServerOf(services: Services, onFailure: Parameters<typeof createAuthenticate>[1], times: RouteTimes): Server {
  const { database, lifecycle, temporal, results } = services;
  const ready = createReadiness({
    database,
    taskQueue: services.config().temporal.taskQueue,
    lifecycle,
    temporalReachable: () => temporal.reachable(),
    resultsHealthy: () => results.healthy(),
  });
  const authenticate = createAuthenticate(services, onFailure);
  const app = createApp({ services, authenticate, routes: allRoutes(ready, times), readOnlyPaths });
  const handle = app.callback();
  return createHttpServer((request, response) => void handle(request, response), services.version);
}

function signingKeysOf(keys: KeyRing): SigningKeys {
  return {
    forAgent: (keyId) => keys.signer(keyId),
    publicKeys: () =>
      keys
        .rows()
        .flatMap(({ keyId, publicKey, status, notAfter }) =>
          status === 'retired' || status === 'revoked'
            ? []
            : [{ keyId, publicKeyHex: publicKey, status, notAfter: status === 'retiring' ? notAfter : null }],
        ),
  };
}

/** `svc server reload` finds the process by it (OP-52). */
async function writePidFile(stateDir: string): Promise<() => Promise<void>> {
  const path = join(stateDir, 'server.pid');
  await writePrivateFile(path, String(process.pid));
  return async () => {
    if ((await readIfThere(path)) === String(process.pid)) await rm(path, { force: true });
  };
}

/** The listener closes, calls in progress get 5 s (OP-62). */
async function closeHttp(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const cut = setTimeout(() => server.closeAllConnections(), callsInProgressMs);
  await closed;
  clearTimeout(cut);
}

async function untilStopped(signal: AbortSignal, stop: () => Promise<void>): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await stop();
}
