import { z } from 'zod';
import { type Route, route } from '../http/route.js';
import { claimJob } from './claim.js';
import { heartbeat } from './heartbeat.js';
import { type PollMemory, pollJobs } from './poll.js';
import { claimAnswer, pollAnswer, pollBody } from './poll-body.js';
import { submitResult, submitUnread } from './result.js';
import { resultBody } from './submission.js';

const params = z.object({ id: z.string() });
const text = z.string();

/** The agent protocol (agent.md 3 to 6). `leaseFloorMs` is the shortest lease (AG-37). */
export function agentRoutes(times: { leaseFloorMs: number; claimWithinMs: number }): Route[] {
  const memory: PollMemory = { waiting: new Map(), asks: new Map(), told: new Map(), ...times };
  return [
    route({
      operationId: 'pollJobs',
      method: 'post',
      path: '/api/agent/poll',
      summary: 'Report capabilities and ask for jobs, waiting up to `wait_ms` for one',
      tag: 'agents',
      access: 'agent',
      body: pollBody,
      status: 200,
      response: pollAnswer,
      errors: ['validation.failed'],
      longPoll: 'agent',
      handle: (call, services) => pollJobs(call, services, memory),
    }),
    route({
      operationId: 'claimJob',
      method: 'post',
      path: '/api/agent/jobs/:id/claim',
      summary: 'Claim a dispatched request for one execution',
      tag: 'agents',
      access: 'agent',
      params,
      body: z.object({ claim_id: z.string().optional() }),
      bodyOptional: true,
      status: 200,
      response: claimAnswer,
      errors: [
        'validation.failed',
        'auth.forbidden',
        'agent.not_found',
        'request.not_found',
        'request.conflict',
        'service.draining',
      ],
      handle: (call, services) => claimJob(call, services, times),
    }),
    route({
      operationId: 'heartbeat',
      method: 'post',
      path: '/api/agent/jobs/:id/heartbeat',
      summary: 'Extend the lease of a running execution and hear of a cancel',
      tag: 'agents',
      access: 'agent',
      evenUnscoped: true,
      params,
      body: z.object({}),
      bodyOptional: true,
      status: 200,
      response: z.object({ cancelled: z.boolean(), lease_expires_at: text }),
      errors: ['auth.forbidden', 'execution.not_found', 'execution.gone', 'execution.conflict'],
      handle: heartbeat,
    }),
    route({
      operationId: 'submitResult',
      method: 'post',
      path: '/api/agent/jobs/:id/result',
      summary: 'Submit the outcome of an execution; repeating it is safe',
      tag: 'agents',
      access: 'agent',
      evenUnscoped: true,
      params,
      body: resultBody,
      bodyLimit: (config) => 2 * config.resultStorage.maxPersistBytes + 2_097_152,
      onTooLarge: submitUnread,
      anyText: true,
      takeBytes: 'result_data',
      status: 200,
      response: z.object({ request_id: text, status: text }),
      errors: [
        'validation.failed',
        'auth.forbidden',
        'execution.not_found',
        'execution.gone',
        'execution.conflict',
        'payload.too_large',
      ],
      handle: submitResult,
    }),
  ];
}
