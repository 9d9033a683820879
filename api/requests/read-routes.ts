import { z } from 'zod';
import { STATUSES } from '../../domain/request/types.js';
import { nothingAhead } from '../http/ahead.js';
import { requestParams } from '../http/fields.js';
import { booleanParam, choiceParam, integerParam, limitParam } from '../http/query.js';
import { type Route, route } from '../http/route.js';
import { evidenceDocument, showEvidence } from './evidence.js';
import { showExecutions } from './executions.js';
import { listAccess, listQuery, showRequests } from './list.js';
import { executions, listed, workflow } from './schemas.js';
import { shownAhead, showRequest } from './show.js';
import { shown } from './shown-schema.js';
import type { WaitedRequests } from './waited.js';
import { showWorkflow } from './workflow.js';

const seen =
  'The request must be your own, wait for your approval, have been decided by you or shared with you; `request.view:any` opens all.';

export const readRoutes = (waited: WaitedRequests): Route[] => [
  route({
    operationId: 'listRequests',
    method: 'get',
    path: '/api/requests',
    summary: 'List the requests that you may see',
    description:
      'Newest first. These are your own, those that wait for your approval or that you decided on, those that were shared with you, and with `request.view:any` all.',
    tag: 'requests',
    access: listAccess,
    query: listQuery,
    status: 200,
    response: listed,
    errors: ['validation.failed', 'auth.forbidden'],
    handle: showRequests,
  }),
  route({
    operationId: 'showRequest',
    method: 'get',
    path: '/api/requests/:id',
    summary: 'Show a request',
    description:
      'With `wait` the answer comes when the status changes, or when the time is up. Name the status that you saw last in `seen`, so that no change between two calls is missed.',
    tag: 'requests',
    access: 'request.view',
    accessRule: seen,
    params: requestParams,
    query: z.object({
      wait: integerParam('How many seconds to wait for another status. Values above 120 are treated as 120.'),
      seen: choiceParam(STATUSES, 'With `wait`: the status that you saw last. If absent the one that this call finds first.'),
    }),
    status: 200,
    response: shown,
    errors: ['validation.failed', 'auth.forbidden', 'request.not_found'],
    longPoll: 'request',
    readsAhead: { of: (id, heard) => (waited.standing(id ?? '') === null ? shownAhead.of(id, heard) : nothingAhead) },
    handle: (call, services) => showRequest(call, services, waited),
  }),
  route({
    operationId: 'getEvidence',
    method: 'get',
    path: '/api/requests/:id/evidence',
    summary: 'Get a signed document that proves who asked, who agreed and what ran',
    tag: 'requests',
    access: 'request.view',
    accessRule: `${seen} You also need \`audit.read\` for the database and environment.`,
    params: requestParams,
    query: z.object({
      text: booleanParam(
        true,
        'Whether it includes the exact text of the request. Its audit events show the text as `[audit] redaction` says, whatever this is.',
      ),
    }),
    status: 200,
    response: evidenceDocument,
    errors: ['validation.failed', 'auth.forbidden', 'request.not_found', 'request.conflict', 'service.unavailable'],
    handle: showEvidence,
  }),
  route({
    operationId: 'listExecutions',
    method: 'get',
    path: '/api/requests/:id/executions',
    summary: 'List the executions of a request, newest first',
    tag: 'requests',
    access: 'request.view',
    accessRule: seen,
    params: requestParams,
    query: z.object({ limit: limitParam(20, 100) }),
    status: 200,
    response: executions,
    errors: ['validation.failed', 'auth.forbidden', 'request.not_found'],
    handle: showExecutions,
  }),
  route({
    operationId: 'showRequestWorkflow',
    method: 'get',
    path: '/api/requests/:id/workflow',
    summary: 'Compare the stored request with what its running workflow knows',
    tag: 'operations',
    access: 'request.view',
    accessRule: 'You need it as `request.view:any`.',
    params: requestParams,
    status: 200,
    response: workflow,
    errors: ['auth.forbidden', 'request.not_found'],
    handle: showWorkflow,
  }),
];
