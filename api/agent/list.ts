import { z } from 'zod';
import { listAgents, type SeenAgent } from '../../db/agent-list.js';
import { isoOrNull } from '../../db/row-types.js';
import { agentStatus } from '../../domain/agent-status.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';

const text = z.string();
const whole = z.number().int();

export const agentList = z.object({
  agents: z.array(
    z.object({
      id: text,
      status: z.enum(['offline', 'draining', 'saturated', 'healthy']),
      last_poll_ago_secs: whole,
      last_seen_at: text.nullable(),
      in_flight: whole,
      max_concurrent: whole,
      uptime_secs: whole,
      version: text.nullable(),
      key_id: text.nullable(),
      duplicate_instances: z.boolean(),
      unscoped: z.boolean().meta({ description: 'an active token of this agent may serve every database' }),
      active_jobs: z.array(z.object({ request_id: text, operation: text, elapsed_secs: z.number().optional() })),
      capabilities: z.object({
        scopes: z.array(z.object({ database: text, environment: text, marker: z.boolean() })),
        operations: z.array(text),
        features: z.array(text),
      }),
    }),
  ),
});

type ListedAgent = z.input<typeof agentList>['agents'][number];

/** `GET /api/agents` (AG-76, AG-77). */
export async function showAgents(_: Call<undefined, undefined, undefined>, services: Services) {
  return { agents: (await listAgents(services.database)).map(shownAgent) };
}

function shownAgent({ id, unscoped, seen }: { id: string; unscoped: boolean; seen: SeenAgent | null }): ListedAgent {
  const agent = seen ?? neverSeen;
  const status = agentStatus(agent);
  const offline = status === 'offline';
  return {
    id,
    status,
    last_poll_ago_secs: agent.seenMsAgo === null ? neverSecs : Math.max(0, Math.floor(agent.seenMsAgo / 1000)),
    last_seen_at: isoOrNull(agent.lastSeenAt),
    in_flight: agent.inFlight,
    max_concurrent: agent.maxConcurrent,
    uptime_secs: offline ? 0 : agent.uptimeSecs,
    version: agent.version,
    key_id: agent.keyId,
    duplicate_instances: agent.duplicated,
    unscoped,
    active_jobs: offline ? [] : (agent.activeJobs as ListedAgent['active_jobs']),
    capabilities: { scopes: agent.scopes, operations: agent.operations, features: agent.features },
  };
}

const neverSecs = 9999;
const neverSeen = {
  lastSeenAt: null,
  seenMsAgo: null,
  inFlight: 0,
  maxConcurrent: 0,
  draining: false,
  uptimeSecs: 0,
  version: null,
  keyId: null,
  duplicated: false,
  activeJobs: [],
  scopes: [],
  operations: [],
  features: [],
};
