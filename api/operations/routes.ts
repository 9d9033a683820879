import { z } from 'zod';
import type { Readiness } from '../../runtime/readiness.js';
import { scrape } from '../../runtime/scrape.js';
import { docsFile } from '../http/docs-page.js';
import { probe, rawJson, text } from '../http/reply.js';
import { type Route, route } from '../http/route.js';

const publicDocs = (config: { server: { publicDocs: boolean } }) => config.server.publicDocs;
const page = z.string().meta({ description: 'not JSON' });
const checks = z.record(z.string(), z.enum(['ok', 'unavailable', 'schema_mismatch', 'not_seen']));

/** `document` returns the OpenAPI text when asked. */
export function operationRoutes(ready: () => Promise<Readiness>, document: () => string): Route[] {
  return [...probeRoutes(ready), metricsRoute, ...documentRoutes(document)];
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
    response: z.object({ status: z.literal('ok'), version: z.string(), min_agent_version: z.string() }),
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
    tag: 'operations',
    access: 'public',
    unlimited: true,
    status: 200,
    response: z.object({
      status: z.enum(['ok', 'degraded', 'unavailable', 'draining']),
      checks: checks.optional(),
      error: z.string().optional(),
      code: z.string().optional(),
      hint: z.string().nullish(),
    }),
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
  errors: ['auth.forbidden'],
  handle: async (_call, { metrics, database, config }) => {
    const scraped = await scrape(metrics, database, config());
    return text(200, scraped.contentType, scraped.text);
  },
});

const documentRoutes = (document: () => string): Route[] => [
  route({
    operationId: 'openapi',
    method: 'get',
    path: '/openapi.json',
    summary: 'This document',
    tag: 'operations',
    access: 'authenticated',
    openWhen: publicDocs,
    status: 200,
    response: z.looseObject({}),
    errors: [],
    handle: () => rawJson(200, [document()]),
  }),
  route({
    operationId: 'docs',
    method: 'get',
    path: '/docs',
    summary: 'This document as a page',
    tag: 'operations',
    access: 'authenticated',
    openWhen: publicDocs,
    status: 200,
    response: page,
    errors: [],
    handle: () => docsFile('index.html'),
  }),
  route({
    operationId: 'docsFile',
    method: 'get',
    path: '/docs/:file',
    summary: 'A file of that page',
    tag: 'operations',
    access: 'authenticated',
    openWhen: publicDocs,
    params: z.object({ file: z.string() }),
    status: 200,
    response: page,
    errors: ['route.not_found'],
    handle: ({ params }) => docsFile(params.file),
  }),
];
