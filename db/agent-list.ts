import type { Pair } from '../domain/caller.js';
import type { Scope } from './agents.js';
import type { Queryable } from './client.js';

/** What an agent's last poll reported. */
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

// Bounds the answer; far more than any installation has.
const maxAgents = 10_000;

/** What an agent reported to run when its poll began, without jobs whose end it has reported since: a poll waits for up to 20 s. */
const jobsOfPoll = `
  select jsonb_agg(job order by place) filter (where not ended) as active, count(*) filter (where ended)::int as ended
  from (
    select job, place, coalesce((
      select bool_and(e.status <> 'running' and not e.lost) from executions e
      where e.request_id = case when job->>'request_id' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (job->>'request_id')::uuid end and e.agent_id = a.id
    ), false) as ended
    from jsonb_array_elements(a.active_jobs) with ordinality as reported(job, place)
  ) as judged`;

/**
 * Agents that have polled, newest first, then those that only hold a token valid for polling (AG-76). `unscoped`: one of their tokens may
 * serve every pair.
 */
export async function listAgents(db: Queryable): Promise<{ id: string; unscoped: boolean; seen: SeenAgent | null }[]> {
  const rows = await db.query<SeenAgent & { id: string; unscoped: boolean; known: boolean }>(
    `select id, coalesce(t.unscoped, false) as unscoped, a.last_seen_at is not null as known, a.last_seen_at as "lastSeenAt",
       (extract(epoch from clock_timestamp() - a.last_seen_at) * 1000)::bigint as "seenMsAgo",
       greatest(a.in_flight - j.ended, 0) as "inFlight",
       a.max_concurrent as "maxConcurrent", a.draining, a.uptime_secs as "uptimeSecs", a.agent_version as version, a.key_id as "keyId",
       coalesce(a.duplicate_until > clock_timestamp(), false) as duplicated, coalesce(j.active, '[]') as "activeJobs", a.scopes,
       a.operations, a.features
     from agents a left join lateral (${jobsOfPoll}) j on true full join (
       select subject_id as id, bool_or(agent_scopes is null) as unscoped from tokens
       where subject_type = 'agent' and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
       group by subject_id
     ) t using (id)
     order by a.last_seen_at desc nulls last, id limit $1`,
    [maxAgents],
  );
  return rows.map(({ id, unscoped, known, ...seen }) => ({ id, unscoped, seen: known ? seen : null }));
}

/** Agents for the queue hint (AG-78), only those that could claim on the pair. */
export async function listCandidateAgents(
  db: Queryable,
  pair: Pair & { operation: string },
): Promise<{ offline: boolean; draining: boolean; saturated: boolean; features: string[] }[]> {
  return db.query(
    `select last_seen_at < clock_timestamp() - interval '60 seconds' as offline, draining, in_flight >= max_concurrent as saturated, features
     from agents
     where scopes @> jsonb_build_array(jsonb_build_object('database', $1::text, 'environment', $2::text))
       and (operations = '{}' or $3::text = any(operations))
     limit 1000`,
    [pair.database, pair.environment, pair.operation],
  );
}
