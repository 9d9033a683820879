import type { Scope } from './agents.js';
import type { Queryable } from './client.js';

/** What an agent's last poll said of it. */
export interface SeenAgent {
  lastSeenAt: number;
  seenMsAgo: number;
  inFlight: number;
  maxConcurrent: number;
  draining: boolean;
  uptimeSecs: number;
  version: string | null;
  keyId: string | null;
  duplicated: boolean;
  activeJobs: unknown[];
  scopes: Scope[];
  operations: string[];
  features: string[];
}

// Nobody has so many; it bounds the answer.
const maxAgents = 10_000;

/** Agents that have polled, newest first, then those that only have a token that is good for polling (AG-76). */
export async function listAgents(db: Queryable): Promise<{ id: string; seen: SeenAgent | null }[]> {
  const rows = await db.query<SeenAgent & { id: string; known: boolean }>(
    `select id, a.last_seen_at is not null as known, a.last_seen_at as "lastSeenAt",
       (extract(epoch from clock_timestamp() - a.last_seen_at) * 1000)::bigint as "seenMsAgo", a.in_flight as "inFlight",
       a.max_concurrent as "maxConcurrent", a.draining, a.uptime_secs as "uptimeSecs", a.agent_version as version, a.key_id as "keyId",
       coalesce(a.duplicate_until > clock_timestamp(), false) as duplicated, a.active_jobs as "activeJobs", a.scopes, a.operations, a.features
     from agents a full join (
       select distinct subject_id as id from tokens
       where subject_type = 'agent' and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
     ) t using (id)
     order by a.last_seen_at desc nulls last, id limit $1`,
    [maxAgents],
  );
  return rows.map(({ id, known, ...seen }) => ({ id, seen: known ? seen : null }));
}
