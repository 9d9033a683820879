import type { Pair } from '../domain/caller.js';
import type { MarkerForm } from '../domain/request/types.js';
import type { Queryable, Transaction } from './client.js';
import { signingKeyIdFor } from './signing-keys.js';

export interface Scope extends Pair {
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

export interface StaleSnapshot extends Pair {
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

/** Those of the executions $16 that agent $1 runs and whose cancel was asked for. */
const cancelledOnes = `array(select e.id from executions e join requests r on r.id = e.request_id
  where e.id = any($16::uuid[]) and e.agent_id = $1 and e.status = 'running' and r.cancel_requested_at is not null)`;

/** The answers to claims by polls of instance $6 that it does not hold, oldest first (AG-81). */
const unheldClaims = `case when $17 then coalesce((
  select jsonb_agg(jsonb_build_object('database', r.database, 'environment', r.environment, 'answer', e.claim_answer) order by e.created_at, e.id)
  from executions e join requests r on r.id = e.request_id
  where e.status = 'running' and e.lease_expires_at > clock_timestamp() and e.agent_id = $1 and e.poll_instance = $6 and e.id <> all($16::uuid[])), '[]') else '[]' end`;

/** What a poll says besides its report. */
export interface PollQuestions {
  wanted: readonly (Pair & { maxAgeSecs: number })[];
  /** Executions that the instance runs. */
  holding: readonly string[];
  /** Whether it claims with its polls. */
  claims: boolean;
}

export interface PollAnswers {
  stale: StaleSnapshot[];
  cancelled: string[];
  unheld: (Pair & { answer: string })[];
  /** The key that signs for this agent now (ET-19); null for an agent that had not polled yet. */
  signingKeyId: string | null;
}

/**
 * Replaces the record of a known agent and returns which wanted schemas are stale and which held executions are to be cancelled; null if the agent never polled. Two instances within 60
 * s are remembered for 60 s (AG-13). The next poll repeats whatever a crash of Postgres loses, so the commit does not wait for the disk.
 */
export async function updateAgent(
  db: Queryable,
  report: AgentReport,
  { wanted, holding, claims }: PollQuestions,
): Promise<PollAnswers | null> {
  const [row] = await db.query<PollAnswers>(
    `with lazily as materialized (select set_config('synchronous_commit', 'off', true))
     update agents a set scopes = $2, operations = $3, features = $4, agent_version = $5, instance_id = $6, in_flight = $7, max_concurrent = $8,
       in_flight_preflight = $9, draining = $10, uptime_secs = $11, active_jobs = $12, last_seen_at = clock_timestamp(),
       duplicate_until = case when a.instance_id <> $6 and a.last_seen_at > clock_timestamp() - interval '60 seconds'
         then clock_timestamp() + interval '60 seconds' else a.duplicate_until end
     from lazily where a.id = $1 returning ${stalePairs} as stale, ${cancelledOnes} as cancelled,
       ${unheldClaims} as unheld, ${signingKeyIdFor('a.key_id')} as "signingKeyId"`,
    [
      ...agentValues(report),
      wanted.map(({ database }) => database),
      wanted.map(({ environment }) => environment),
      wanted.map(({ maxAgeSecs }) => maxAgeSecs),
      holding,
      claims,
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

/** The pairs in the agent's last poll; null if it never polled. */
export async function findScopes(db: Queryable, agentId: string): Promise<Scope[] | null> {
  const [row] = await db.query<{ scopes: Scope[] }>('select scopes from agents where id = $1', [agentId]);
  return row?.scopes ?? null;
}
