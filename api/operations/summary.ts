import { z } from 'zod';
import { iso } from '../../db/row-types.js';
import type { Minute } from '../../runtime/last-hour.js';
import { count, flag, instant, list, named } from '../http/fields.js';
import { type Route, route } from '../http/route.js';

const outcomes = named('MinuteOutcomes', 'How requests ended in a minute.', {
  executed: count('Ran.'),
  failed: count('Failed.'),
  rejected: count('Were rejected.'),
  cancelled: count('Were cancelled.'),
  expired: count('Expired.'),
  execution_lost: count('Were lost while they ran.'),
});

const minute = named('Minute', 'What a minute was like.', {
  at: instant('When it started.'),
  created: count('Requests that were made.'),
  outcomes,
  decisions: count('Approvals and rejections.'),
  decision_wait_secs: z
    .number()
    .nullable()
    .meta({ description: 'Median time from a request to a decision on it; null without a decision.' }),
  agent_slots_used: count('Agent slots in use; null if this server did not look in that minute.').nullable(),
  agent_slots: count('Agent slots in total; null likewise.').nullable(),
  backlog: count('Requests, deliveries and cards that waited for the workflow engine; null likewise.').nullable(),
});

const server = named('ServerState', 'How the server is that answered. Others may be in another state.', {
  draining: flag('True if it was asked to stop and takes nothing new.'),
  generation: count('The number of the configuration that is in force there.'),
  generation_since: instant('When that configuration was stored.'),
});

const summary = named('OperationsSummary', 'The last hour, and the server that tells it.', {
  server,
  minutes: list(minute, 'Its minutes, oldest first. The last one still runs.'),
});

/** OP-23. */
export const summaryRoute: Route = route({
  operationId: 'showOperationsSummary',
  method: 'get',
  path: '/api/operations/summary',
  summary: 'Show what the last hour was like, minute by minute',
  tag: 'operations',
  access: 'metrics.view',
  status: 200,
  response: summary,
  errors: ['auth.forbidden'],
  handle: async ({ generation: { number, createdAt } }, { lastHour, lifecycle }) => ({
    server: { draining: lifecycle.draining, generation: number, generation_since: iso(createdAt) },
    minutes: (await lastHour.read()).map(shown),
  }),
});

function shown({ at, created, decisions, decisionWaitMs, load, ...counted }: Minute) {
  return {
    at: iso(at),
    created,
    outcomes: counted,
    decisions,
    decision_wait_secs: decisionWaitMs === null ? null : decisionWaitMs / 1000,
    agent_slots_used: load?.slotsUsed ?? null,
    agent_slots: load?.slots ?? null,
    backlog: load?.backlog ?? null,
  };
}
