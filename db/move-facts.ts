import type { Dialect } from '../domain/statement.js';
import type { Scope } from './agents.js';
import type { FactsQuery } from './request-state.js';
import { signingKeyIdFor } from './signing-keys.js';

/** What a dispatch is judged on besides the request. */
export interface DispatchFacts {
  ownerActive: boolean;
  /** From the newest ready schema sync of the request's pair (AG-74). */
  dialect: Dialect | null;
}

/** What a claim is judged on besides the request. */
export interface ClaimFacts extends DispatchFacts {
  /** False if the agent never polled. */
  known: boolean;
  scopes: Scope[];
  operations: string[];
  features: string[];
  /** The key that signs for this agent (ET-19). */
  signingKeyId: string;
  repeated: { requestId: string; agentId: string; running: boolean; answer: string } | null;
}

const dispatchPairs = `'ownerActive', (select u.status = 'active' from users u where u.id = r.requester),
      'dialect', (select s.dialect from schema_snapshots s where s.database = r.database and s.environment = r.environment)`;

/** Yields `DispatchFacts`. */
export const dispatchFacts: FactsQuery = { sql: `json_build_object(${dispatchPairs})`, values: [] };

/** Yields `ClaimFacts`. */
export const claimFacts = (agentId: string, claimId: string | null): FactsQuery => ({
  sql: claimFactsOf('$2', '$3'),
  values: [agentId, claimId],
});

/** The same as SQL, for a claim of the agent by this id, or without an id. */
export const claimFactsOf = (agent: string, claim: string | null): string => `(select json_build_object(${dispatchPairs},
      'known', a.id is not null, 'scopes', coalesce(a.scopes, '[]'), 'operations', coalesce(a.operations, '{}'), 'features', coalesce(a.features, '{}'),
      'signingKeyId', ${signingKeyIdFor('a.key_id')},
      'repeated', ${claim === null ? 'null' : repeated(claim)})
    from (select 1) as one left join agents a on a.id = ${agent})`;

const repeated = (claim: string) =>
  `(select json_build_object('requestId', e.request_id, 'agentId', e.agent_id, 'running', e.status = 'running', 'answer', e.claim_answer)
        from executions e where e.claim_id = ${claim})`;
