import { z } from 'zod';
import { STATUSES } from '../../domain/request/types.js';
import { booleanParam, integerParam, limitParam, offsetParam, textParam } from '../http/query.js';
import { type Route, route } from '../http/route.js';
import { createRequest, creationPermissions } from './create.js';
import { creationBody } from './creation-body.js';
import { approveRequest, cancelRequest, rejectRequest, resumeRequest } from './decide.js';
import { approval, cancellation, rejection, resumption } from './decision-body.js';
import { evidenceDocument, showEvidence } from './evidence.js';
import { showRequests } from './list.js';
import { created, executions, listed, outcome, shown, workflow } from './schemas.js';
import { showExecutions, showRequest } from './show.js';
import { withWarnings } from './warnings.js';
import { showWorkflow } from './workflow.js';

const params = z.object({ id: z.string() });

/** Times without a key in `server.toml`, in milliseconds: the dispatch timeout (TT-4) and the wait of a cancel (RQ-72). */
export interface RequestTimes {
  dispatchMs: number;
  cancelWaitMs: number;
}

export function requestRoutes(times: RequestTimes): Route[] {
  return [...readRoutes, ...moveRoutes(times)];
}

const readRoutes: Route[] = [
  route({
    operationId: 'listRequests',
    method: 'get',
    path: '/api/requests',
    summary:
      'List requests that you may see; with pending_for_me those you may approve now, with decided_by_me those you approved or rejected',
    tag: 'requests',
    access: { anyOf: ['request.view'], unless: 'pending_for_me' },
    query: z.object({
      limit: limitParam(50, 100),
      offset: offsetParam,
      status: z.enum(STATUSES).optional(),
      user: textParam,
      database: textParam,
      environment: textParam,
      operation: textParam,
      pending_for_me: booleanParam(false),
      decided_by_me: booleanParam(false),
    }),
    status: 200,
    response: listed,
    errors: ['validation.failed', 'auth.forbidden'],
    handle: showRequests,
  }),
  route({
    operationId: 'showRequest',
    method: 'get',
    path: '/api/requests/:id',
    summary: 'Show a request, waiting up to `wait` seconds for its status to change',
    tag: 'requests',
    access: 'request.view',
    params,
    query: z.object({ wait: integerParam(0) }),
    status: 200,
    response: shown,
    errors: ['validation.failed', 'auth.forbidden', 'request.not_found'],
    longPoll: 'request',
    handle: showRequest,
  }),
  route({
    operationId: 'getEvidence',
    method: 'get',
    path: '/api/requests/:id/evidence',
    summary: 'A document that proves who asked, who agreed and what ran; text=false leaves the text out',
    tag: 'requests',
    access: 'request.view',
    params,
    query: z.object({ text: booleanParam(true) }),
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
    params,
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
    params,
    status: 200,
    response: workflow,
    errors: ['auth.forbidden', 'request.not_found'],
    handle: showWorkflow,
  }),
];

function moveRoutes(times: RequestTimes): Route[] {
  return [
    route({
      operationId: 'createRequest',
      method: 'post',
      path: '/api/requests',
      summary: 'Ask for SQL to be run on a database',
      tag: 'requests',
      access: { anyOf: creationPermissions },
      body: creationBody,
      bodyLimit: 4_194_304,
      status: 201,
      alsoStatuses: [200],
      response: created,
      errors: [
        'validation.failed',
        'auth.forbidden',
        'request.conflict',
        'plan.limit_exceeded',
        'service.draining',
        'service.unavailable',
      ],
      handle: async (call, services) => withWarnings(call, services, await createRequest(call, services, times)),
    }),
    route({
      operationId: 'approveRequest',
      method: 'post',
      path: '/api/requests/:id/approve',
      summary: 'Approve the current step',
      tag: 'requests',
      access: 'authenticated',
      params,
      body: approval,
      bodyOptional: true,
      status: 200,
      response: outcome.approve,
      errors: ['validation.failed', 'auth.forbidden', 'request.not_found', 'request.conflict', 'request.gone'],
      handle: approveRequest,
    }),
    route({
      operationId: 'rejectRequest',
      method: 'post',
      path: '/api/requests/:id/reject',
      summary: 'Reject a pending request',
      tag: 'requests',
      access: 'authenticated',
      params,
      body: rejection,
      bodyOptional: true,
      status: 200,
      response: outcome.plain,
      errors: ['validation.failed', 'auth.forbidden', 'request.not_found', 'request.conflict', 'request.gone'],
      handle: rejectRequest,
    }),
    route({
      operationId: 'cancelRequest',
      method: 'post',
      path: '/api/requests/:id/cancel',
      summary: 'Cancel a request; a running statement is cancelled in the database',
      tag: 'requests',
      access: 'request.cancel',
      params,
      body: cancellation,
      bodyOptional: true,
      status: 200,
      alsoStatuses: [202],
      response: outcome.cancel,
      errors: ['validation.failed', 'auth.forbidden', 'request.not_found', 'request.conflict'],
      longPoll: 'request',
      handle: (call, services) => cancelRequest(call, services, times),
    }),
    route({
      operationId: 'resumeRequest',
      method: 'post',
      path: '/api/requests/:id/resume',
      summary: 'Dispatch an approved request to an agent',
      tag: 'requests',
      access: 'request.resume',
      params,
      body: resumption,
      bodyOptional: true,
      status: 200,
      response: outcome.plain,
      errors: ['validation.failed', 'auth.forbidden', 'request.not_found', 'request.conflict', 'request.gone'],
      handle: (call, services) => resumeRequest(call, services, times),
    }),
  ];
}
