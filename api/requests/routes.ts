import { requestParams } from '../http/fields.js';
import { type Route, route } from '../http/route.js';
import { createRequest, creationPermissions } from './create.js';
import { creationBody } from './creation-body.js';
import { approveRequest, cancelRequest, dispatchAhead, rejectRequest, resumeRequest, stateAhead } from './decide.js';
import { approval, cancellation, rejection, resumption } from './decision-body.js';
import { readRoutes } from './read-routes.js';
import { created, outcome } from './schemas.js';
import { snapshotsAhead } from './snapshots.js';
import { createWaitedRequests } from './waited.js';
import { withWarnings } from './warnings.js';

/** Times without a key in `server.toml`, in milliseconds: the dispatch timeout (TT-4) and the wait of a cancel (RQ-72). */
export interface RequestTimes {
  dispatchMs: number;
  cancelWaitMs: number;
}

export function requestRoutes(times: RequestTimes): Route[] {
  return [...readRoutes(createWaitedRequests()), ...moveRoutes(times)];
}

const exampleId = '4f0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11';

function moveRoutes(times: RequestTimes): Route[] {
  return [
    route({
      operationId: 'createRequest',
      method: 'post',
      path: '/api/requests',
      summary: 'Request SQL or a migration on a database',
      description:
        'It waits for approval, or is dispatched at once if the policy approves it automatically. 201 for a new request; 200 if the idempotency key had made it before.',
      tag: 'requests',
      access: { anyOf: creationPermissions },
      accessRule:
        'Reads need `request.query`, writes and migrations `request.dml`, DDL `request.ddl`; an emergency needs the `request.break_glass_…` of its kind, and `allow_ddl` also `request.break_glass_ddl`.',
      body: creationBody,
      bodyLimit: 4_194_304,
      status: 201,
      alsoStatuses: [200],
      response: created,
      examples: {
        body: {
          database: 'shop',
          environment: 'production',
          operation: 'execute_dml',
          detail: 'update parts set quantity = 0 where id = 9',
          reason: 'stock count of 1 May',
          idempotency_key: 'stock-2026-05-01',
        },
        answer: {
          id: exampleId,
          status: 'pending',
          operation: 'execute_dml',
          approvers: ['group:dba-team'],
          idempotent: false,
          expires_at: '2026-05-02T09:15:30.482Z',
        },
      },
      errors: [
        'validation.failed',
        'auth.forbidden',
        'request.conflict',
        'plan.limit_exceeded',
        'service.draining',
        'service.unavailable',
      ],
      readsAhead: snapshotsAhead,
      handle: async (call, services) => withWarnings(call, services, await createRequest(call, services, times)),
    }),
    route({
      operationId: 'approveRequest',
      method: 'post',
      path: '/api/requests/:id/approve',
      summary: 'Approve the current step',
      description: 'It is `approved` once every step is; nothing runs before the requester resumes it.',
      tag: 'requests',
      access: 'authenticated',
      accessRule: 'You must match a selector of the current step, and not be the requester unless the workflow policy allows it.',
      params: requestParams,
      body: approval,
      bodyOptional: true,
      status: 200,
      response: outcome.approve,
      examples: {
        body: { comment: 'checked with the warehouse', selector: 'group:dba-team' },
        answer: {
          id: exampleId,
          status: 'approved',
          approved_by: 'bob',
          matched_selector: 'group:dba-team',
          step_completed: 1,
          current_step: 1,
          total_steps: 1,
        },
      },
      errors: ['validation.failed', 'auth.forbidden', 'request.not_found', 'request.conflict', 'request.gone'],
      readsAhead: stateAhead,
      handle: approveRequest,
    }),
    route({
      operationId: 'rejectRequest',
      method: 'post',
      path: '/api/requests/:id/reject',
      summary: 'Reject a pending request',
      description: 'One rejection ends the request.',
      tag: 'requests',
      access: 'authenticated',
      accessRule: 'You must match a selector of the current step, or be the requester.',
      params: requestParams,
      body: rejection,
      bodyOptional: true,
      status: 200,
      response: outcome.plain,
      examples: { body: { comment: 'part 9 is still sold' }, answer: { id: exampleId, status: 'rejected' } },
      errors: ['validation.failed', 'auth.forbidden', 'request.not_found', 'request.conflict', 'request.gone'],
      readsAhead: stateAhead,
      handle: rejectRequest,
    }),
    route({
      operationId: 'cancelRequest',
      method: 'post',
      path: '/api/requests/:id/cancel',
      summary: 'Cancel a request',
      description:
        'A running statement is cancelled in the database; the call waits up to 20 s for it. 202 if it still runs then, or if its agent was lost.',
      tag: 'requests',
      access: 'request.cancel',
      accessRule: 'The request must be your own; `request.cancel:any` opens all.',
      params: requestParams,
      body: cancellation,
      bodyOptional: true,
      status: 200,
      alsoStatuses: [202],
      response: outcome.cancel,
      errors: ['validation.failed', 'auth.forbidden', 'request.not_found', 'request.conflict'],
      longPoll: 'request',
      readsAhead: stateAhead,
      handle: (call, services) => cancelRequest(call, services, times),
    }),
    route({
      operationId: 'resumeRequest',
      method: 'post',
      path: '/api/requests/:id/resume',
      summary: 'Dispatch an approved request to an agent',
      tag: 'requests',
      access: 'request.resume',
      accessRule: 'The request must be your own; `request.resume:any` opens all.',
      params: requestParams,
      body: resumption,
      bodyOptional: true,
      status: 200,
      response: outcome.plain,
      examples: { body: { reason: 'shop is closed now' }, answer: { id: exampleId, status: 'dispatched' } },
      errors: ['validation.failed', 'auth.forbidden', 'request.not_found', 'request.conflict', 'request.gone'],
      readsAhead: dispatchAhead,
      handle: (call, services) => resumeRequest(call, services, times),
    }),
  ];
}
