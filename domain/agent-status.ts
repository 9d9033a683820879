export type AgentStatus = 'offline' | 'draining' | 'saturated' | 'healthy';

/** The first status that applies (AG-14); `seenMsAgo` is null for an agent that has never polled. */
export function agentStatus(agent: {
  seenMsAgo: number | null;
  draining: boolean;
  inFlight: number;
  maxConcurrent: number;
}): AgentStatus {
  if (agent.seenMsAgo === null || agent.seenMsAgo > offlineMs) return 'offline';
  if (agent.draining) return 'draining';
  return agent.inFlight >= agent.maxConcurrent ? 'saturated' : 'healthy';
}

const offlineMs = 60_000;
