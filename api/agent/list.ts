import { z } from 'zod';
import { listAgents, type SeenAgent } from '../../db/agent-list.js';
import { isoOrNull } from '../../db/row-types.js';
import { agentStatus } from '../../domain/agent-status.js';
import type { Services } from '../context.js';
import { count, flag, hex, instant, list, named, pair, text, userIdText } from '../http/fields.js';
import type { Call } from '../http/route.js';

const agent = named('Agent', 'An agent, as its last poll described it.', {
  id: userIdText('The id of the agent.'),
  status: z
    .enum(['offline', 'draining', 'saturated', 'healthy'])
    .meta({ description: 'How it is. `offline`: no poll for a minute.' }),
  last_poll_ago_secs: count('Seconds since its last poll; 9999 if it never polled.'),
  last_seen_at: instant('When it polled last.').nullable(),
  in_flight: count('How many jobs it runs.'),
  max_concurrent: count('How many it runs at once at most.'),
  uptime_secs: count('For how many seconds it has run.'),
  version: text('Its version.').nullable(),
  key_id: hex(16, 'The signing key that its execution tokens are signed with.').nullable(),
  duplicate_instances: flag('True if two processes use its token.'),
  unscoped: flag('True if an active token of this agent may serve every database.'),
  active_jobs: list(
    z.object({
      request_id: text('The request.'),
      operation: text('Its operation.'),
      elapsed_secs: z.number().optional().meta({ description: 'For how many seconds it has run.' }),
    }),
    'What it runs.',
  ),
  capabilities: z
    .object({
      scopes: list(
        z.object({ ...pair, marker: flag('True if it can write marker rows there.') }),
        'The databases that it serves.',
      ),
      operations: list(text('The name of an operation.'), 'What it runs; empty = all.'),
      features: list(text('The name of a feature.'), 'What it can do besides the basic protocol.'),
    })
    .meta({ description: 'What it can do.' }),
});

export const agentList = named('AgentList', 'The agents.', { agents: list(agent, 'The agents, those seen last first.') });

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
