import { z } from 'zod';
import { maxBodyBytes } from '../http/body.js';
import { named, noFields, text, uuid } from '../http/fields.js';
import { type Route, route } from '../http/route.js';
import { rememberTold } from './cancels.js';
import { claimJob } from './claim.js';
import { heartbeat } from './heartbeat.js';
import { pollJobs } from './poll.js';
import { claimAnswer, heartbeatAnswer, pollAnswer, submitted } from './poll-answer.js';
import { pollBody } from './poll-body.js';
import type { PollMemory } from './poll-wait.js';
import { executionAhead, submitResult, submitUnread } from './result.js';
import { resultBody } from './submission.js';
import { createWorkWatches } from './work-watch.js';

const jobParams = z.object({ id: uuid('The id of the request.') });
const runParams = z.object({ id: uuid('The id of the execution.') });
const claimBody = named('ClaimCall', 'A claim.', {
  claim_id: text('The same id gets the same answer again, while the run is only claimed.', {
    maxLength: maxBodyBytes,
  }).optional(),
});

/** The agent protocol (agent.md 3 to 6). `leaseFloorMs` is the shortest lease (AG-37). */
export function agentRoutes(times: { leaseFloorMs: number; claimWithinMs: number }): Route[] {
  const memory: PollMemory = {
    waiting: new Map(),
    asks: new Map(),
    told: rememberTold(),
    watches: createWorkWatches(),
    ...times,
  };
  return [
    route({
      operationId: 'pollJobs',
      method: 'post',
      path: '/api/agent/poll',
      summary: 'Report what the agent can do, and ask for work',
      description: 'With `wait_ms` the answer comes when there is some, or when the time is up.',
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
      accessRule: 'It must serve the database, and have polled.',
      params: jobParams,
      body: claimBody,
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
      summary: 'Extend the lease of a run, and learn of a cancel',
      tag: 'agents',
      access: 'agent',
      accessRule: 'The run must be its own.',
      evenUnscoped: true,
      params: runParams,
      body: noFields,
      bodyOptional: true,
      status: 200,
      response: heartbeatAnswer,
      errors: ['auth.forbidden', 'execution.not_found', 'execution.gone', 'execution.conflict'],
      handle: heartbeat,
    }),
    route({
      operationId: 'submitResult',
      method: 'post',
      path: '/api/agent/jobs/:id/result',
      summary: 'Submit how a run ended',
      description: 'Repeating it is safe.',
      tag: 'agents',
      access: 'agent',
      accessRule: 'The run must be its own.',
      evenUnscoped: true,
      params: runParams,
      body: resultBody,
      bodyLimit: (config) => 2 * config.resultStorage.maxPersistBytes + maxBodyBytes,
      onTooLarge: submitUnread,
      anyText: true,
      takeBytes: 'result_data',
      readsAhead: executionAhead,
      status: 200,
      response: submitted,
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
