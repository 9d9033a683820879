import { type Route, route } from '../http/route.js';
import { snapshotsAhead } from '../requests/snapshots.js';
import { preflight } from './preflight.js';
import { preflightBody, preflightResponse } from './schemas.js';

/** Analysis without a request (preflight.md section 1). */
export const preflightRoutes: Route[] = [
  route({
    operationId: 'preflight',
    method: 'post',
    path: '/api/preflight',
    summary: 'Analyse SQL without making a request',
    description: 'Nothing is run. The plan comes from an agent, by EXPLAIN, and only with `request.preflight_explain`.',
    tag: 'requests',
    access: 'request.preflight',
    body: preflightBody,
    bodyLimit: 4_194_304,
    status: 200,
    response: preflightResponse,
    examples: { body: { database: 'shop', environment: 'production', sql: 'select * from parts where quantity = 0' } },
    errors: ['validation.failed', 'auth.forbidden', 'payload.too_large', 'rate.limited', 'service.draining'],
    longPoll: 'preflight',
    readsAhead: snapshotsAhead,
    handle: preflight,
  }),
];
