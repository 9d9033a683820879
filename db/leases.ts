import type { AgentScopes } from '../domain/caller.js';
import type { Queryable } from './client.js';
import { servesPairOf } from './tokens.js';

/**
 * Extends the lease of the agent's running execution, never backwards (AG-40), if this token may report on it (`mayReport`). Undefined if
 * the lease or the execution has ended.
 */
export async function extendLease(
  db: Queryable,
  id: string,
  agent: { id: string; tokenId: string; agentScopes: AgentScopes },
): Promise<{ lease_expires_at: number; cancelled: boolean } | undefined> {
  const [row] = await db.query<{ lease_expires_at: number; cancelled: boolean }>(
    `update executions e set lease_expires_at = greatest(e.lease_expires_at, clock_timestamp() + e.lease_secs * interval '1 second')
     from requests r
     where e.id = $1 and e.agent_id = $2 and e.status = 'running' and e.lease_expires_at > clock_timestamp() and r.id = e.request_id and r.fence = e.fence
       and (e.token_id is null or e.token_id = $3 or ${servesPairOf('$4', 'r')})
     returning e.lease_expires_at, r.cancel_requested_at is not null as cancelled`,
    [id, agent.id, agent.tokenId, agent.agentScopes],
  );
  return row;
}

/** Running executions whose lease is over, for the sweeper, which judges each under its lock (AG-51). */
export async function listOverdueLeases(db: Queryable, limit: number): Promise<{ id: string; request_id: string }[]> {
  return db.query(
    `select id, request_id from executions where status = 'running' and lease_expires_at <= clock_timestamp() order by lease_expires_at limit $1`,
    [limit],
  );
}

/** Milliseconds until the earliest lease ends; null if nothing runs. */
export async function nextLeaseEndInMs(db: Queryable): Promise<number | null> {
  const [row] = await db.query<{ in_ms: number | null }>(
    `select (extract(epoch from min(lease_expires_at) - clock_timestamp()) * 1000)::bigint as in_ms from executions where status = 'running'`,
  );
  return row?.in_ms ?? null;
}
