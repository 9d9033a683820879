import { z } from 'zod';
import type { Readiness } from '../../runtime/readiness.js';
import { scrape } from '../../runtime/scrape.js';
import { docsFile } from '../http/docs-page.js';
import { named, text as textField } from '../http/fields.js';
import { probe, rawJson, text } from '../http/reply.js';
import { type Route, route } from '../http/route.js';
import { summaryRoute } from './summary.js';

const page = z.string();
const checks = z
  .record(z.string(), z.enum(['ok', 'unavailable', 'schema_mismatch', 'not_seen']).meta({ description: 'How it is.' }))
  .meta({ description: 'Each part that was looked at: `database`, `temporal`, `worker` and `result_storage`.' });

const health = named('Health', 'A process that runs.', {
  status: z.literal('ok').meta({ description: 'Always `ok`.' }),
  version: textField('The version of the server.'),
  min_agent_version: textField('The lowest version of `svc-agent` that gets work.'),
});

const readiness = named('Readiness', 'Whether calls can be served.', {
  status: z
    .enum(['ok', 'degraded', 'unavailable', 'draining'])
    .meta({ description: '`degraded`: calls are served, but requests make no progress for the moment.' }),
  checks: checks.optional(),
  error: textField('What is wrong. Only with 503.').optional(),
  code: textField('The code of the error. Only with 503.').optional(),
  hint: textField('The parts that do not work. Only with 503.').nullish(),
});

/** `document` returns the OpenAPI text when asked. */
export function operationRoutes(ready: () => Promise<Readiness>, document: () => string): Route[] {
  return [...probeRoutes(ready), metricsRoute, summaryRoute, ...documentRoutes(document)];
}

const probeRoutes = (ready: () => Promise<Readiness>): Route[] => [
  route({
    operationId: 'health',
    method: 'get',
    path: '/health',
    summary: 'Whether the process runs',
    tag: 'operations',
    access: 'public',
    unlimited: true,
    status: 200,
    response: health,
    errors: [],
    handle: (_call, { version, config }) => ({
      status: 'ok' as const,
      version,
      min_agent_version: config().agents.minVersion,
    }),
  }),
  route({
    operationId: 'ready',
    method: 'get',
    path: '/ready',
    summary: 'Whether calls can be served now',
    description: 'A 503 has the same members, and those of an error.',
    tag: 'operations',
    access: 'public',
    unlimited: true,
    status: 200,
    response: readiness,
    errors: ['service.unavailable', 'service.draining'],
    handle: async () => {
      const { status, body } = await ready();
      return probe(status, body);
    },
  }),
];

const metricsRoute = route({
  operationId: 'metrics',
  method: 'get',
  path: '/metrics',
  summary: 'Metrics in the Prometheus text format',
  tag: 'operations',
  access: 'metrics.view',
  status: 200,
  response: page,
  mediaTypes: ['text/plain'],
  errors: ['auth.forbidden'],
  handle: async (_call, { metrics, database, config }) => {
    const scraped = await scrape(metrics, database, config());
    return text(scraped.contentType, scraped.text);
  },
});

const ofDocument = {
  method: 'get',
  tag: 'operations',
  access: 'authenticated',
  openWhen: (config: { server: { publicDocs: boolean } }) => config.server.publicDocs,
  accessRule: 'With `server.public_docs` none.',
  status: 200,
} as const;

const documentRoutes = (document: () => string): Route[] => [
  route({
    ...ofDocument,
    operationId: 'openapi',
    path: '/openapi.json',
    summary: 'This document',
    response: z.looseObject({}).meta({ id: 'OpenApi', description: 'An OpenAPI document.' }),
    errors: [],
    handle: () => rawJson([document()]),
  }),
  route({
    ...ofDocument,
    operationId: 'docs',
    path: '/docs',
    summary: 'This document as a page',
    response: page,
    mediaTypes: ['text/html'],
    errors: [],
    handle: () => docsFile('index.html'),
  }),
  route({
    ...ofDocument,
    operationId: 'docsFile',
    path: '/docs/:file',
    summary: 'A file of that page',
    params: z.object({ file: textField('The name of the file.', { maxLength: 255 }) }),
    response: page,
    mediaTypes: ['text/javascript', 'text/css', 'text/html'],
    errors: ['route.not_found'],
    handle: ({ params }) => docsFile(params.file),
  }),
];
