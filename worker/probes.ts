import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Database } from '../db/client.js';
import type { ErrorCode } from '../domain/errors.js';
import type { Configuration } from '../runtime/configuration.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import { listen } from '../runtime/listen-address.js';
import type { Metrics } from '../runtime/metrics.js';
import { judgeMetricsReader } from '../runtime/metrics-access.js';
import { createReadiness } from '../runtime/readiness.js';
import type { ResultStore } from '../runtime/result-store.js';
import { scrape } from '../runtime/scrape.js';
import { version } from '../runtime/version.js';
import type { TemporalLink } from './temporal-link.js';

export interface ProbeOptions {
  configuration: Pick<Configuration, 'config' | 'generation'>;
  database: Database;
  temporal: TemporalLink;
  metrics: Metrics;
  lifecycle: Lifecycle;
  results: ResultStore;
}

interface Answer {
  status: number;
  type: string;
  text: string;
}

type Answers = Map<string, (request: IncomingMessage) => Promise<Answer>>;

/** OP-3: `/health`, `/ready` and `/metrics` of a worker on `worker.listen`; null when that is off. */
export async function startProbes(options: ProbeOptions): Promise<{ close(): Promise<void> } | null> {
  const address = options.configuration.config().worker.listen;
  if (address === null) return null;
  const server = createProbeServer(options);
  await listen(server, address);
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function createProbeServer(options: ProbeOptions): Server {
  const answers = probeAnswers(options);
  const limits = { headersTimeout: 5000, requestTimeout: 5000, maxHeaderSize: 16 * 1024 };
  return createServer(limits, (request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const answer = isRead ? answers.get(path) : undefined;
    const unknown = async () => (isRead ? refusals.unknownPath : refusals.otherMethod);
    (answer ?? unknown)(request)
      .catch(() => refusals.unavailable)
      .then(({ status, type, text }) => {
        response.writeHead(status, { ...headersOf(status), 'Content-Type': type });
        response.end(request.method === 'HEAD' ? undefined : text);
      })
      .catch(() => response.destroy());
  });
}

function probeAnswers({ configuration, database, temporal, metrics, lifecycle, results }: ProbeOptions): Answers {
  const { config, generation } = configuration;
  const ready = createReadiness({
    database,
    taskQueue: config().temporal.taskQueue,
    lifecycle,
    temporalReachable: async () => temporal.isUsable(),
    resultsHealthy: () => results.healthy(),
  });
  const health = () => ({ status: 'ok', version, min_agent_version: config().agents.minVersion });
  return new Map<string, (request: IncomingMessage) => Promise<Answer>>([
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
      async (request) => {
        const verdict = await judgeMetricsReader(database, generation().shared.auth, request.headers.authorization);
        if (verdict !== 200) return verdict === 401 ? refusals.noCredential : refusals.forbidden;
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

const failed = (status: number, code: ErrorCode, error: string) => json(status, { error, code, hint: null });
const refusals = {
  noCredential: failed(401, 'auth.invalid_token', 'invalid token'),
  forbidden: failed(403, 'auth.forbidden', 'forbidden'),
  unknownPath: failed(404, 'route.not_found', 'no such path'),
  otherMethod: failed(405, 'route.method_not_allowed', 'method not allowed'),
  unavailable: failed(503, 'service.unavailable', 'the gateway database is not reachable'),
};

const headersOf = (status: number): Record<string, string> => ({
  'x-svc-version': version,
  'x-request-id': randomUUID(),
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  ...(status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
  ...(status === 405 ? { Allow: 'GET, HEAD' } : {}),
  ...(status === 503 ? { 'Retry-After': '1' } : {}),
});
