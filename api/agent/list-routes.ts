import { type Route, route } from '../http/route.js';
import { agentList, showAgents } from './list.js';

/** What operators see of agents (agent.md section 13). */
export const agentListRoutes: Route[] = [
  route({
    operationId: 'listAgents',
    method: 'get',
    path: '/api/agents',
    summary: 'List the agents with their status, load and capabilities',
    tag: 'agents',
    access: 'metrics.view',
    status: 200,
    response: agentList,
    errors: ['auth.forbidden'],
    handle: showAgents,
  }),
];
