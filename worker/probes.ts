import { createServer, type Server } from 'node:http';
import type { Config } from '../config/types.js';
import type { Database } from '../db/client.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import { listen } from '../runtime/listen-address.js';
import type { Metrics } from '../runtime/metrics.js';
import { createReadiness } from '../runtime/readiness.js';
import type { ResultStore } from '../runtime/result-store.js';
import { scrape } from '../runtime/scrape.js';
import { version } from '../runtime/version.js';
import type { TemporalLink } from './temporal-link.js';

export interface ProbeOptions {
  config: Config;
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

/** OP-3: `/health`, `/ready` and `/metrics` of a worker on `worker.listen`; null when that is off. */
export async function startProbes(options: ProbeOptions): Promise<{ close(): Promise<void> } | null> {
  const address = options.config.worker.listen;
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
    const unknown = () =>
      Promise.resolve(json(isRead ? 404 : 405, failed(isRead ? 'route.not_found' : 'route.method_not_allowed')));
    (answer ?? unknown)()
      .catch(() => json(503, failed('service.unavailable')))
      .then(({ status, type, text }) => {
        response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
        response.end(request.method === 'HEAD' ? undefined : text);
      })
      .catch(() => response.destroy());
  });
}

function probeAnswers({
  config,
  database,
  temporal,
  metrics,
  lifecycle,
  results,
}: ProbeOptions): Map<string, () => Promise<Answer>> {
  const ready = createReadiness({
    database,
    taskQueue: config.temporal.taskQueue,
    lifecycle,
    temporalReachable: async () => temporal.isUsable(),
    resultsHealthy: () => results.healthy(),
  });
  const health = { status: 'ok', version, min_agent_version: config.agents.minVersion };
  return new Map<string, () => Promise<Answer>>([
    ['/health', async () => json(200, health)],
    [
      '/ready',
      async () => {
        const { status, body } = await ready();
        return json(status, body);
      },
    ],
    [
      '/metrics',
      async () => {
        const { contentType, text } = await scrape(metrics, database);
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

const failed = (code: string) => ({ error: code, code, hint: null });
