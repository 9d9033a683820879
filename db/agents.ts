import type { Pair } from '../domain/caller.js';
import type { Operation } from '../domain/policies.js';
import type { MarkerForm } from '../domain/request/types.js';
import type { Dialect } from '../domain/statement.js';
import type { Queryable, Transaction } from './client.js';
import { dispatchEnd, mutatingMigrations } from './migration-pairs.js';
import { signingKeyIdFor } from './signing-keys.js';

export interface Scope {
  database: string;
  environment: string;
  marker: boolean;
}

/** What a poll reports of its agent (AG-12, AG-16). */
export interface AgentReport {
  id: string;
  scopes: Scope[];
  /** Empty = all. */
  operations: string[];
  features: string[];
  agentVersion: string | null;
  instanceId: string | null;
  inFlight: number;
  maxConcurrent: number;
  inFlightPreflight: number;
  draining: boolean;
  uptimeSecs: number;
  activeJobs: unknown[];
}

/** After any sync, successful or not, a snapshot is not asked for again for this long. */
const settledSecs = 300;

export interface StaleSchema extends Pair {
  /** The last sync, whatever its result; null before the first. */
  syncedAt: string | null;
}

/** Those of the pairs $13, $14 without a good snapshot from the last $15 seconds. A snapshot received in the future does not count. */
const stalePairs = `coalesce((
  select jsonb_agg(jsonb_build_object('database', wanted.database, 'environment', wanted.environment, 'syncedAt', s.synced_at))
  from unnest($13::text[], $14::text[], $15::bigint[]) as wanted(database, environment, max_age_secs)
    left join schema_snapshots s using (database, environment)
  where s.synced_at is null or (s.synced_at not between clock_timestamp() - interval '${settledSecs} seconds' and clock_timestamp() + interval '1 minute'
    and (s.collected_at is null or s.collected_at not between clock_timestamp() - wanted.max_age_secs * interval '1 second'
      and clock_timestamp() + interval '1 minute'))), '[]')`;

/**
 * Replaces the record of a known agent and returns which wanted schemas are stale; null if the agent never polled. Two instances within 60
 * s are remembered for 60 s (AG-13). The next poll repeats whatever a crash of Postgres loses, so the commit does not wait for the disk.
 */
export async function updateAgent(
  db: Queryable,
  report: AgentReport,
  wanted: readonly (Pair & { maxAgeSecs: number })[],
): Promise<{ stale: StaleSchema[] } | null> {
  const [row] = await db.query<{ stale: StaleSchema[] }>(
    `with lazily as materialized (select set_config('synchronous_commit', 'off', true))
     update agents a set scopes = $2, operations = $3, features = $4, agent_version = $5, instance_id = $6, in_flight = $7, max_concurrent = $8,
       in_flight_preflight = $9, draining = $10, uptime_secs = $11, active_jobs = $12, last_seen_at = clock_timestamp(),
       duplicate_until = case when a.instance_id <> $6 and a.last_seen_at > clock_timestamp() - interval '60 seconds'
         then clock_timestamp() + interval '60 seconds' else a.duplicate_until end
     from lazily where a.id = $1 returning ${stalePairs} as stale`,
    [
      ...agentValues(report),
      wanted.map(({ database }) => database),
      wanted.map(({ environment }) => environment),
      wanted.map(({ maxAgeSecs }) => maxAgeSecs),
    ],
  );
  return row ?? null;
}

/** Inserts the record of an agent's first poll; false if another call just did. By then, the agent has fetched the current key (ET-19). */
export async function insertAgent(tx: Transaction, report: AgentReport, keyId: string | null): Promise<boolean> {
  const rows = await tx.query(
    `insert into agents (id, scopes, operations, features, agent_version, instance_id, in_flight, max_concurrent, in_flight_preflight, draining,
       uptime_secs, active_jobs, key_id, last_seen_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, clock_timestamp()) on conflict (id) do nothing returning id`,
    [...agentValues(report), keyId],
  );
  return rows.length > 0;
}

function agentValues(report: AgentReport): unknown[] {
  return [
    report.id,
    JSON.stringify(report.scopes),
    report.operations,
    report.features,
    report.agentVersion,
    report.instanceId,
    report.inFlight,
    report.maxConcurrent,
    report.inFlightPreflight,
    report.draining,
    report.uptimeSecs,
    JSON.stringify(report.activeJobs),
  ];
}

/** When a waiting poll ends, the agent counts as seen again (AG-14). */
export async function touchAgent(db: Queryable, id: string): Promise<void> {
  await db.query('update agents set last_seen_at = clock_timestamp() where id = $1', [id]);
}

/** How an agent with these features writes markers, and which ones it finds (HD-41). */
export const markerFormOf = (features: readonly string[]): MarkerForm => (features.includes('marker_executions') ? 2 : 1);

export interface Job {
  id: string;
  created_by: string;
  operation: Operation;
  environment: string;
  database: string;
  detail: string;
  fence: number;
}

/** Dispatched requests that an agent with these scopes and operations could claim, ignoring their deadlines. */
const fromClaimable = `from requests r
       join unnest($1::text[], $2::text[], $3::boolean[]) as scope(database, environment, marker)
         on scope.database = r.database and scope.environment = r.environment
       join users u on u.id = r.requester and u.status = 'active'
     where r.status = 'dispatched' and (r.max_affected_rows is null or $7) and ($4::text[] = '{}' or r.operation = any($4::text[]))
       and not exists (select 1 from executions e where e.request_id = r.id and e.unresolved and not ($5 and scope.marker and e.marker_form <= $8))`;

/** Whether a migration still holds back the next one of its pair: for 10 s after it was first offered (MI-I10). */
const holdsBack = `r.offered_fence is distinct from r.fence or r.offered_at > clock_timestamp() - interval '10 seconds'`;

/**
 * Dispatched requests that this agent could claim, oldest dispatch first (AG-17), and at most the first migration in line per pair.
 * Offering claims nothing (AG-18).
 */
export async function listJobs(
  db: Queryable,
  agent: { scopes: Scope[]; operations: string[]; features: string[] },
  limit: number,
): Promise<Job[]> {
  return db.query<Job>(
    `with ready as (
       (select r.id, r.dispatched_at ${fromClaimable} and r.operation not in ${mutatingMigrations} and r.dispatch_deadline > clock_timestamp()
        order by r.dispatched_at, r.id limit $6)
       union all select id, dispatched_at from (
         select r.id, r.dispatched_at, count(*) filter (where ${holdsBack}) over (partition by r.database, r.environment
           order by r.dispatched_at, r.id rows between unbounded preceding and 1 preceding) as ahead
         ${fromClaimable} and r.operation in ${mutatingMigrations} and ${dispatchEnd} > clock_timestamp()
       ) as line where ahead = 0
     )
     select r.id, r.requester as created_by, r.operation, r.environment, r.database, r.detail, r.fence
     from ready join requests r using (id) order by ready.dispatched_at, r.id limit $6`,
    [
      agent.scopes.map(({ database }) => database),
      agent.scopes.map(({ environment }) => environment),
      agent.scopes.map(({ marker }) => marker),
      agent.operations,
      agent.features.includes('fence'),
      limit,
      agent.features.includes('max_affected_rows'),
      markerFormOf(agent.features),
    ],
  );
}

/** The pairs in the agent's last poll; null if it never polled. */
export async function findScopes(db: Queryable, agentId: string): Promise<Scope[] | null> {
  const [row] = await db.query<{ scopes: Scope[] }>('select scopes from agents where id = $1', [agentId]);
  return row?.scopes ?? null;
}

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
