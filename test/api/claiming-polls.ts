import type { TestApi } from '../support/api.js';
import { eventually } from '../support/processes.js';
import { type Agent, type Body, pollBody } from './agent-calls.js';

/** Polls that claim, once they wait. */
export async function waitingPolls(api: TestApi, agents: readonly Agent[], over: Body = {}, capabilities: Body = {}) {
  const ready = () => api.services.readyPolls.size;
  const stop = new AbortController();
  const polls: Promise<Body>[] = [];
  for (const [before, agent] of agents.entries()) {
    const status = { in_flight: 0, max_concurrent: 4 };
    const body = pollBody({ claim: true, instance_id: agent.id, wait_ms: 20_000, status, ...over }, capabilities);
    polls.push(agent.poll(body, stop.signal).then((answer) => ({ status: answer.status, ...answer.body })));
    await eventually(() => ready() === before + 1);
  }
  return {
    polls,
    stop: async () => {
      stop.abort();
      await Promise.allSettled(polls);
      await eventually(() => ready() === 0);
    },
  };
}
