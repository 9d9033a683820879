import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Logger } from 'pino';
import type { Database } from '../db/client.js';
import { GatewayError, noSuchPath, refusal } from '../domain/errors.js';
import type { Configuration } from '../runtime/configuration.js';
import { errorBody, errorHeaders, httpStatus } from '../runtime/http-errors.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import { listen } from '../runtime/listen-address.js';
import type { Metrics } from '../runtime/metrics.js';
import { createReadiness } from '../runtime/readiness.js';
import type { ResultStore } from '../runtime/result-store.js';
import { scrape } from '../runtime/scrape.js';
import { version } from '../runtime/version.js';
import { createMetricsAccess, type MetricsAccess } from './metrics-access.js';
import type { TemporalLink } from './temporal-link.js';

export interface ProbeOptions {
  configuration: Pick<Configuration, 'config' | 'generation'>;
  database: Database;
  temporal: TemporalLink;
  metrics: Metrics;
  lifecycle: Lifecycle;
  results: ResultStore;
  log: Logger;
}

interface Answer {
  status: number;
  type: string;
  text: string;
}

/** `tell` receives extra headers, also for a refused call. */
type Respond = (request: IncomingMessage, tell: (headers: Record<string, string>) => void) => Promise<Answer>;
type Answers = Map<string, Respond>;

/** OP-3: serves `/health`, `/ready` and `/metrics` of a worker on `worker.listen`; null if that is off. */
export async function startProbes(options: ProbeOptions): Promise<{ close(): Promise<void> } | null> {
  const address = options.configuration.config().worker.listen;
  if (address === null) return null;
  const metricsAccess = createMetricsAccess(options);
  const server = createProbeServer(probeAnswers(options, metricsAccess));
  await listen(server, address);
  return {
    close: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await metricsAccess.close();
    },
  };
}

function createProbeServer(answers: Answers): Server {
  const limits = { headersTimeout: 5000, requestTimeout: 5000, maxHeaderSize: 16 * 1024 };
  return createServer(limits, (request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const answer = isRead ? answers.get(path) : undefined;
    const unknown = async () => (isRead ? refusals.unknownPath : refusals.otherMethod);
    const told: Record<string, string> = {};
    (answer ?? unknown)(request, (headers) => Object.assign(told, headers))
      .catch((error: unknown) => (error instanceof GatewayError ? refused(error) : refusals.unavailable))
      .then(({ status, type, text }) => {
        response.writeHead(status, { ...headersOf(status), ...told, 'Content-Type': type });
        response.end(request.method === 'HEAD' ? undefined : text);
      })
      .catch(() => response.destroy());
  });
}

function probeAnswers(options: ProbeOptions, metricsAccess: MetricsAccess): Answers {
  const { configuration, database, temporal, metrics, lifecycle, results } = options;
  const { config } = configuration;
  const ready = createReadiness({
    database,
    taskQueue: config().temporal.taskQueue,
    lifecycle,
    temporalReachable: async () => temporal.isUsable(),
    resultsHealthy: () => results.healthy(),
  });
  const health = () => ({ status: 'ok', version, min_agent_version: config().agents.minVersion });
  return new Map<string, Respond>([
    ['/health', async () => json(200, health())],
    [
      '/ready',
      async () => {
        const { status, body } = await ready();
        return json(status, body);
      },
    ],
    [
      '/metrics',
      async (request, tell) => {
        await metricsAccess.check(request, tell);
        const { contentType, text } = await scrape(metrics, database, config());
        return { status: 200, type: contentType, text };
      },
    ],
  ]);
}

const json = (status: number, body: unknown): Answer => ({
  status,
  type: 'application/json; charset=utf-8',
  text: JSON.stringify(body),
});

const refused = (error: GatewayError) => json(httpStatus(error.code), errorBody(error));
const refusals = {
  unknownPath: refused(noSuchPath()),
  otherMethod: refused(refusal('route.method_not_allowed', 'method not allowed')),
  unavailable: refused(refusal('service.unavailable', 'the gateway database is not reachable')),
};

const headersOf = (status: number): Record<string, string> => ({
  'x-svc-version': version,
  'x-request-id': randomUUID(),
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  ...errorHeaders(status),
  ...(status === 405 ? { Allow: 'GET, HEAD' } : {}),
});
