import { z } from 'zod';
import { anything, count, flag, instant, list, named, pair, requestParams, text, uuid } from '../http/fields.js';
import { limitParam, textParam } from '../http/query.js';

import { type Route, route } from '../http/route.js';
import { operation } from '../requests/schemas.js';
import { showResults } from './list.js';
import { awaitResult, readContent, requestAhead } from './read.js';

const resultEnvelope = named('Result', 'The outcome of one run of a request.', {
  _svc_result: z.literal(true).meta({ description: 'Marks the object.' }),
  execution_id: text('The execution; empty when nothing ran.'),
  success: flag('True if the statement succeeded.'),
  rows_affected: z.number().nullable().meta({ description: 'How many rows were changed; null for reads.' }),
  truncated: flag('True if there were more rows than the limits allow.'),
  error_message: text('What went wrong; null if nothing did.').nullable(),
  result_data: anything(
    'What the agent sent, byte for byte. Of a read an object with `rows`, `columns` and `column_types`; of a write `rows_affected`; of migrations the versions.',
  ),
});

const listedResult = named('StoredResult', 'A stored result, without its data.', {
  request_id: uuid('The request.'),
  execution_id: uuid('The execution.'),
  ...pair,
  operation,
  stored_at: instant('When it was stored.'),
  expires_at: instant('When it is deleted.'),
  content_length: count('Its size in bytes.'),
});

const listedResults = named('StoredResultList', 'Stored results, newest first.', { results: list(listedResult, 'The results.') });

const readable =
  'The request must be your own or shared with you, or the result policy must name you; `result.view:any` opens all.';

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
      accessRule: readable,
      query: z.object({ limit: limitParam(50, 100) }),
      status: 200,
      response: listedResults,
      errors: ['validation.failed', 'auth.forbidden'],
      handle: showResults,
    }),
    route({
      operationId: 'awaitResult',
      method: 'get',
      path: '/api/requests/:id/result/stream',
      summary: 'Wait for the result of a request',
      description:
        'Waits up to 300 s. 204 if there is none by then, or if the request is waiting again: look at the request, and call again.',
      tag: 'results',
      access: 'result.view',
      accessRule: readable,
      params: requestParams,
      status: 200,
      alsoEmpty: { 204: 'The time is up, or there is no result to show.' },
      response: resultEnvelope,
      errors: ['auth.forbidden', 'request.not_found', 'result.gone', 'result.not_found'],
      longPoll: 'result',
      readsAhead: requestAhead,
      handle: (call, services) => awaitResult(call, services, waitMs),
    }),
    route({
      operationId: 'readResult',
      method: 'get',
      path: '/api/requests/:id/result/content',
      summary: 'Read a stored result',
      tag: 'results',
      access: 'result.view',
      accessRule: readable,
      params: requestParams,
      query: z.object({ execution_id: textParam('The execution; the latest one if absent.', { format: 'uuid' }) }),
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
