import { servesPair } from '../../domain/agent-scopes.js';
import type { Caller, Pair } from '../../domain/caller.js';
import { forbidden, refusal } from '../../domain/errors.js';

export type AgentCaller = Extract<Caller, { kind: 'agent' }>;

export function agentOf(caller: Caller): AgentCaller {
  if (caller.kind !== 'agent') throw forbidden('this takes an agent token');
  return caller;
}

/** HD-11: 403 unless this call's own token may serve the pair, whatever the agent's other tokens may serve. */
export function requireServed(caller: Caller, pair: Pair): void {
  if (!servesPair(agentOf(caller).agentScopes, pair)) throw outsideScopes(pair);
}

const outsideScopes = ({ database, environment }: Pair) =>
  refusal('auth.forbidden', `this agent token may not serve ${database}/${environment}`);
