import { z } from 'zod';
import { limitParam, textParam } from '../http/query.js';
import { type Route, route } from '../http/route.js';
import { showResults } from './list.js';
import { awaitResult, readContent } from './read.js';

const params = z.object({ id: z.string() });

const resultEnvelope = z.object({
  _svc_result: z.literal(true),
  execution_id: z.string(),
  success: z.boolean(),
  rows_affected: z.number().nullable(),
  truncated: z.boolean(),
  error_message: z.string().nullable(),
  result_data: z.unknown(),
});

const listedResult = z.object({
  request_id: z.string(),
  execution_id: z.string(),
  database: z.string(),
  environment: z.string(),
  operation: z.string(),
  stored_at: z.string(),
  expires_at: z.string(),
  content_length: z.number().int(),
});

/** Results as readers get them (results.md); `waitMs` is how long the stream waits. */
export function resultRoutes({ waitMs }: { waitMs: number }): Route[] {
  return [
    route({
      operationId: 'listResults',
      method: 'get',
      path: '/api/results',
      summary: 'List the stored results that you may read, newest first',
      tag: 'results',
      access: 'result.view',
      query: z.object({ limit: limitParam(50, 100) }),
      status: 200,
      response: z.object({ results: z.array(listedResult) }),
      errors: ['validation.failed', 'auth.forbidden'],
      handle: showResults,
    }),
    route({
      operationId: 'awaitResult',
      method: 'get',
      path: '/api/requests/:id/result/stream',
      summary: 'Wait up to 300 s for the result of the run that is going on',
      tag: 'results',
      access: 'result.view',
      params,
      status: 200,
      alsoStatuses: [204],
      response: resultEnvelope,
      errors: ['auth.forbidden', 'request.not_found', 'result.gone', 'result.not_found'],
      longPoll: 'result',
      handle: (call, services) => awaitResult(call, services, waitMs),
    }),
    route({
      operationId: 'readResult',
      method: 'get',
      path: '/api/requests/:id/result/content',
      summary: 'Read the stored result of the latest execution, or of a named one',
      tag: 'results',
      access: 'result.view',
      params,
      query: z.object({ execution_id: textParam }),
      status: 200,
      response: resultEnvelope,
      errors: [
        'auth.forbidden',
        'request.not_found',
        'execution.not_found',
        'result.not_found',
        'result.conflict',
        'result.gone',
      ],
      handle: readContent,
    }),
  ];
}
