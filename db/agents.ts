import type { Queryable, Transaction } from './client.js';

export interface Scope {
  database: string;
  environment: string;
  marker: boolean;
}

/** What a poll says of its agent (AG-12, AG-16). */
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

/** Replaces the agent's record; `registered` on its first poll. Two instances within 60 s are remembered for 60 s (AG-13). */
export async function upsertAgent(tx: Transaction, report: AgentReport): Promise<{ registered: boolean }> {
  const [row] = await tx.query<{ registered: boolean }>(
    `insert into agents as a (id, scopes, operations, features, agent_version, instance_id, in_flight, max_concurrent, in_flight_preflight, draining,
       uptime_secs, active_jobs, last_seen_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, clock_timestamp())
     on conflict (id) do update set scopes = excluded.scopes, operations = excluded.operations, features = excluded.features,
       agent_version = excluded.agent_version, in_flight = excluded.in_flight, max_concurrent = excluded.max_concurrent,
       in_flight_preflight = excluded.in_flight_preflight, draining = excluded.draining, uptime_secs = excluded.uptime_secs,
       active_jobs = excluded.active_jobs, last_seen_at = excluded.last_seen_at, instance_id = excluded.instance_id,
       duplicate_until = case when a.instance_id <> excluded.instance_id and a.last_seen_at > clock_timestamp() - interval '60 seconds'
         then clock_timestamp() + interval '60 seconds' else a.duplicate_until end
     returning xmax = 0 as registered`,
    [
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
    ],
  );
  return { registered: row?.registered ?? false };
}

/** A poll that waited counts as seen when it ends too (AG-14). */
export async function touchAgent(db: Queryable, id: string): Promise<void> {
  await db.query('update agents set last_seen_at = clock_timestamp() where id = $1', [id]);
}

export interface Job {
  id: string;
  created_by: string;
  operation: string;
  environment: string;
  database: string;
  detail: string;
  fence: number;
}

/** Dispatched requests this agent could claim, oldest dispatch first (AG-17); offering takes nothing (AG-18). */
export async function listJobs(
  db: Queryable,
  agent: { scopes: Scope[]; operations: string[]; features: string[] },
  limit: number,
): Promise<Job[]> {
  return db.query<Job>(
    `select r.id, r.requester as created_by, r.operation, r.environment, r.database, r.detail, r.fence
     from requests r
       join unnest($1::text[], $2::text[], $3::boolean[]) as scope(database, environment, marker)
         on scope.database = r.database and scope.environment = r.environment
       join users u on u.id = r.requester and u.status = 'active'
     where r.status = 'dispatched' and r.dispatch_deadline > clock_timestamp()
       and ($4::text[] = '{}' or r.operation = any($4::text[]))
       and (($5 and scope.marker) or not exists (select 1 from executions e where e.request_id = r.id and e.unresolved))
     order by r.dispatched_at, r.id limit $6`,
    [
      agent.scopes.map(({ database }) => database),
      agent.scopes.map(({ environment }) => environment),
      agent.scopes.map(({ marker }) => marker),
      agent.operations,
      agent.features.includes('fence'),
      limit,
    ],
  );
}

/** Everything a claim looks at before it locks anything; `known` false when the agent has never polled. */
export interface ClaimContext {
  known: boolean;
  scopes: Scope[];
  operations: string[];
  features: string[];
  keyId: string | null;
  requester: string | null;
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
       coalesce(a.features, '{}') as features, a.key_id as "keyId", (select requester from requests where id = $2) as requester,
       (select jsonb_build_object('requestId', e.request_id, 'agentId', e.agent_id, 'running', e.status = 'running', 'answer', e.claim_answer)
        from executions e where e.claim_id = $3) as repeated
     from (select 1) as one left join agents a on a.id = $1`,
    [agentId, requestId, claimId],
  );
  return row!;
}
