import type { AgentScopes, Pair } from './caller.js';
import { isName } from './selectors.js';

/** Every poll checks all scopes, so a longer list makes each poll slower. */
export const maxAgentScopes = 100;

/** Whether the text is `<database>/<environment>`, either a name or `*`. */
export function isAgentScope(text: string): boolean {
  const parts = text.split('/');
  return parts.length === 2 && parts.every((part) => part === '*' || isName(part));
}

/** HD-11: whether a token with these scopes may serve the pair. Names are compared exactly; only the scope's own `*` stands for any. */
export function servesPair(scopes: AgentScopes, { database, environment }: Pair): boolean {
  return scopes === null || patternsOf(database, environment).some((pattern) => scopes.includes(pattern));
}

export function splitByScopes<P extends Pair>(scopes: AgentScopes, pairs: readonly P[]): { served: P[]; refused: P[] } {
  const served: P[] = [];
  const refused: P[] = [];
  for (const pair of pairs) (servesPair(scopes, pair) ? served : refused).push(pair);
  return { served, refused };
}

/**
 * HD-11: whether a token of the execution's own agent may report on it. The token that claimed it always may, even if it was narrowed since: a
 * committed change must be reported, or its request is lost. Another token of that agent may only if it serves the pair.
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
