import type { Dialect } from '../domain/statement.js';
import type { Scope } from './agents.js';
import type { Queryable } from './client.js';
import { signingKeyIdFor } from './signing-keys.js';

/** Everything a claim checks before it takes a lock. `known` is false if the agent never polled. */
export interface ClaimContext {
  known: boolean;
  scopes: Scope[];
  operations: string[];
  features: string[];
  /** The key that signs for this agent (ET-19). */
  signingKeyId: string;
  request: { requester: string; operation: string; database: string; environment: string } | null;
  /** From the newest ready schema sync of the request's pair (AG-74). */
  dialect: Dialect | null;
  repeated: { requestId: string; agentId: string; running: boolean; answer: string } | null;
}

export async function findClaimContext(
  db: Queryable,
  agentId: string,
  requestId: string,
  claimId: string | null,
): Promise<ClaimContext> {
  const [row] = await db.query<ClaimContext>(
    `select a.id is not null as known, coalesce(a.scopes, '[]') as scopes, coalesce(a.operations, '{}') as operations,
       coalesce(a.features, '{}') as features,
       ${signingKeyIdFor('a.key_id')} as "signingKeyId",
       (select jsonb_build_object('requester', requester, 'operation', operation, 'database', database, 'environment', environment)
        from requests where id = $2) as request,
       (select s.dialect from requests r join schema_snapshots s using (database, environment) where r.id = $2) as dialect,
       (select jsonb_build_object('requestId', e.request_id, 'agentId', e.agent_id, 'running', e.status = 'running', 'answer', e.claim_answer)
        from executions e where e.claim_id = $3) as repeated
     from (select 1) as one left join agents a on a.id = $1`,
    [agentId, requestId, claimId],
  );
  return row!;
}
