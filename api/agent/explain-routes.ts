import { z } from 'zod';
import { noFields, nothing, uuid } from '../http/fields.js';
import { type Route, route } from '../http/route.js';
import { claimDryRunJob, dryRunResultBody, submitDryRun } from './dry-run.js';
import { dryRunClaim } from './poll-answer.js';
import { preflightResultBody, submitPreflight } from './preflight-result.js';

const params = z.object({ id: uuid('The id of the job.') });

/** Agents explain statements through these routes (agent.md 10 and 11). */
export const explainRoutes: Route[] = [
  route({
    operationId: 'claimDryRunJob',
    method: 'post',
    path: '/api/agent/dry-run/:id/claim',
    summary: 'Claim a statement of a request to explain',
    tag: 'agents',
    access: 'agent',
    params,
    body: noFields,
    bodyOptional: true,
    status: 200,
    response: dryRunClaim,
    errors: ['auth.forbidden', 'agent.not_found', 'dry_run_job.not_found', 'dry_run_job.conflict'],
    handle: claimDryRunJob,
  }),
  route({
    operationId: 'submitDryRunResult',
    method: 'post',
    path: '/api/agent/dry-run/:id/result',
    summary: 'Submit the plan of a claimed statement, or why there is none',
    tag: 'agents',
    access: 'agent',
    params,
    body: dryRunResultBody,
    status: 200,
    response: nothing,
    errors: ['validation.failed', 'auth.forbidden', 'dry_run_job.not_found', 'dry_run_job.conflict', 'payload.too_large'],
    handle: submitDryRun,
  }),
  route({
    operationId: 'submitPreflightResult',
    method: 'post',
    path: '/api/agent/preflight-result',
    summary: 'Submit the plan that a preflight waits for, or why there is none',
    tag: 'agents',
    access: 'agent',
    body: preflightResultBody,
    bodyLimit: 524_288,
    status: 200,
    response: nothing,
    errors: ['validation.failed', 'auth.forbidden', 'preflight_job.gone', 'payload.too_large'],
    handle: submitPreflight,
  }),
];
