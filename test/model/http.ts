import { randomUUID } from 'node:crypto';
import type { Call, Of } from './calls.js';
import { type AgentName, agents } from './people.js';
import type { World } from './world.js';

/** `$r1` and `$r1e1` in a path stand for the ids of a request and of its run of fence 1. */
export interface Http {
  method: 'GET' | 'POST';
  path: string;
  body?: object | undefined;
}

/** What an agent says of itself. */
export const pollBody = (agent: AgentName) => ({
  capabilities: {
    scopes: agents[agent].environments.map((environment) => ({ database: 'shop', environment, marker: agents[agent].fences })),
    features: agents[agent].fences ? ['fence'] : [],
  },
  limit: 20,
});

interface Known {
  /** Makes keys of this sequence differ from those of others. */
  prefix: string;
  /** Claim ids by the run they made. */
  claims: Map<string, string>;
}

/** The call as it is made before the world has changed by it. */
export function httpOf(call: Exclude<Call, Of<'clock'>>, world: World, { prefix, claims }: Known): Http {
  const request = 'request' in call ? world.requests.at(-1 - call.request) : undefined;
  const page = `/api/requests/$${request?.name ?? 'unknown'}`;
  switch (call.call) {
    case 'create': {
      const { environment, detail, reason, key, emergency, share, noStore } = call;
      const body = { database: 'shop', environment, detail, reason, emergency, share_with: share, no_result_store: noStore };
      return post('/api/requests', { ...body, idempotency_key: key === null ? null : `${key}-${prefix}` });
    }
    case 'approve':
      return post(`${page}/approve`, { selector: call.selector });
    case 'reject':
    case 'cancel':
    case 'resume':
      return post(`${page}/${call.call}`);
    case 'show':
      return { method: 'GET', path: page };
    case 'executions':
      return { method: 'GET', path: `${page}/executions` };
    case 'content':
      return { method: 'GET', path: `${page}/result/content` };
    case 'list':
      return { method: 'GET', path: `/api/requests?limit=100${call.pendingForMe ? '&pending_for_me=true' : ''}` };
    case 'suspend':
    case 'activate':
      return post(`/api/users/${call.who}/${call.call}`);
    case 'poll':
      return post('/api/agent/poll', pollBody(call.agent));
    case 'claim': {
      const own = request?.runs.findLast(({ agent, fence }) => agent === call.agent && fence === request.fence);
      const repeated = call.again && own !== undefined ? claims.get(own.name) : undefined;
      return post(`/api/agent/jobs/$${request?.name ?? 'unknown'}/claim`, { claim_id: repeated ?? randomUUID() });
    }
    case 'heartbeat':
      return post(`/api/agent/jobs/$${request?.runs.at(-1 - call.run)?.name ?? 'unknown'}/heartbeat`);
    case 'result': {
      const run = request?.runs.at(-1 - call.run);
      return post(`/api/agent/jobs/$${run?.name ?? 'unknown'}/result`, submission(call, run?.fence ?? 1));
    }
  }
}

const post = (path: string, body?: object): Http => ({ method: 'POST', path, body });

function submission({ outcome, fence, cancelled }: Of<'result'>, own: number): object {
  const success = outcome === 'committed' || outcome === 'contradiction';
  return {
    success,
    outcome: outcome === 'contradiction' ? 'rolled_back' : outcome,
    ...(success ? { result_data: '{"rows":[]}' } : { error_message: '40001: in vain', cancelled }),
    ...(fence === 'unsaid' ? {} : { fence: fence === 'own' ? own : own + 1 }),
  };
}
