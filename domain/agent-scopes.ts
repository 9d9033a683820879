import type { AgentScopes } from './caller.js';
import { isName } from './selectors.js';

/** More would only make every poll of the token dearer. */
export const maxAgentScopes = 100;

/** Whether the text is `<database>/<environment>`, either a name or `*`. */
export function isAgentScope(text: string): boolean {
  const parts = text.split('/');
  return parts.length === 2 && parts.every((part) => part === '*' || isName(part));
}

/** HD-11: whether a token with these scopes may serve the pair. Names are compared exactly; only the scope's own `*` stands for any. */
export function servesPair(scopes: AgentScopes, { database, environment }: { database: string; environment: string }): boolean {
  return scopes === null || patternsOf(database, environment).some((pattern) => scopes.includes(pattern));
}

/** Splits the pairs of a poll into those the token may serve and those it may not. */
export function splitByScopes<P extends { database: string; environment: string }>(
  scopes: AgentScopes,
  pairs: readonly P[],
): { served: P[]; refused: P[] } {
  const served: P[] = [];
  const refused: P[] = [];
  for (const pair of pairs) (servesPair(scopes, pair) ? served : refused).push(pair);
  return { served, refused };
}

/**
 * HD-11: whether a token of the execution's own agent may report on it. The token that claimed it may, also when it was narrowed since: what was
 * committed must be told, or the request is lost though its change is real. Another token of that agent may where it serves the pair.
 */
export function mayReport(
  token: { tokenId: string; agentScopes: AgentScopes },
  execution: { tokenId: string | null; database: string; environment: string },
): boolean {
  return execution.tokenId === null || execution.tokenId === token.tokenId || servesPair(token.agentScopes, execution);
}

const patternsOf = (database: string, environment: string) => [
  `${database}/${environment}`,
  `${database}/*`,
  `*/${environment}`,
  '*/*',
];
