import type { AgentScopes, Pair } from '../domain/caller.js';
import type { Scope } from './agents.js';
import type { Queryable, Transaction } from './client.js';
import { topic } from './notifications.js';
import { signingKeyIdFor } from './signing-keys.js';
import { servesPairOf } from './tokens.js';

/** The longest that a job may outlive its caller's wait (AG-71). */
const graceMs = 5000;
/** How long a finished job is kept (operations section 9). */
const keptSecs = 300;

export interface PreflightAsk {
  userId: string;
  database: string;
  environment: string;
  sql: string;
  timeoutMs: number;
}

/** A job as a poll hands it out, already claimed (AG-21). */
export interface PreflightClaim {
  id: string;
  database: string;
  environment: string;
  sql: string;
  claim_token: string;
  timeout_ms: number;
  expires_at: number;
  /** The key that signs for this agent (ET-19). */
  signingKeyId: string;
  now: number;
}

/** Whether an agent that serves the pair is healthy (AG-14): seen within 60 s, not draining, and with a free slot. */
export async function hasHealthyAgent(db: Queryable, pair: Pair): Promise<boolean> {
  const rows = await db.query(
    `select 1 from agents
     where scopes @> jsonb_build_array(jsonb_build_object('database', $1::text, 'environment', $2::text))
       and last_seen_at >= clock_timestamp() - interval '60 seconds' and not draining and in_flight < max_concurrent
     limit 1`,
    [pair.database, pair.environment],
  );
  return rows.length > 0;
}

/** Adds a job, or returns undefined if the user has `maxOpen` open jobs. Counts and adds under one lock per user (PF-19). */
export async function addPreflightJob(tx: Transaction, ask: PreflightAsk, maxOpen: number): Promise<string | undefined> {
  // Held until the commit, so that the count below includes jobs of earlier calls.
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('svc preflight ' || $1, 0))`, [ask.userId]);
  const [row] = await tx.query<{ id: string }>(
    `insert into preflight_jobs (user_id, database, environment, sql, timeout_ms, expires_at)
     select $1, $2, $3, $4, $5, clock_timestamp() + ($5::int + $6::int) * interval '1 millisecond'
     where (select count(*) from preflight_jobs where user_id = $1 and state in ('pending', 'claimed') and expires_at > clock_timestamp()) < $7
     returning id`,
    [ask.userId, ask.database, ask.environment, ask.sql, ask.timeoutMs, graceMs, maxOpen],
  );
  if (row !== undefined) tx.wake(topic.jobs(ask.database, ask.environment));
  return row?.id;
}

/** `error`: as people may see it (HD-2); null where an agent gave a plan that cannot be shown. */
export type PreflightEnd = { state: 'completed'; plan: string } | { state: 'error'; error: string | null };

/** The agent's answer; null until it arrives. */
export async function findPreflightEnd(db: Queryable, id: string): Promise<PreflightEnd | null> {
  const [row] = await db.query<{ state: string; plan: string | null }>('select state, plan from preflight_jobs where id = $1', [
    id,
  ]);
  if (row?.state === 'completed') return { state: 'completed', plan: row.plan ?? 'null' };
  return row?.state === 'error' ? { state: 'error', error: row.plan } : null;
}

/** Call when nobody waits for the job any more; it then no longer counts (PF-17e). An answered job keeps its answer. */
export async function expirePreflightJob(db: Queryable, id: string): Promise<void> {
  await db.query(`update preflight_jobs set state = 'expired' where id = $1 and state in ('pending', 'claimed')`, [id]);
}

/** Claims up to `limit` unexpired jobs of the scopes, oldest first. No job goes to two agents. */
export async function claimPreflightJobs(
  db: Queryable,
  agent: { id: string; scopes: readonly Scope[] },
  limit: number,
): Promise<PreflightClaim[]> {
  return db.query<PreflightClaim>(
    `update preflight_jobs set state = 'claimed', agent_id = $3, claim_token = gen_random_uuid()
     where id in (
       select j.id from preflight_jobs j join unnest($1::text[], $2::text[]) as scope(database, environment) using (database, environment)
       where j.state = 'pending' and j.expires_at > clock_timestamp() order by j.created_at, j.id limit $4 for update of j skip locked)
     returning id, database, environment, sql, claim_token, timeout_ms, expires_at, clock_timestamp() as now,
       ${signingKeyIdFor('(select a.key_id from agents a where a.id = $3)')} as "signingKeyId"`,
    [agent.scopes.map(({ database }) => database), agent.scopes.map(({ environment }) => environment), agent.id, limit],
  );
}

export interface PreflightAnswerer {
  id: string;
  agent: { id: string; agentScopes: AgentScopes };
  claimToken: string;
}

/** The pair of the job that this claim holds; undefined if it holds none. */
export async function findPreflightPair(db: Queryable, job: PreflightAnswerer): Promise<Pair | undefined> {
  const [row] = await db.query<Pair>(
    'select database, environment from preflight_jobs where id = $1 and agent_id = $2 and claim_token::text = $3',
    [job.id, job.agent.id, job.claimToken],
  );
  return row;
}

/**
 * Ends a claimed job with its plan (JSON text) or its error, if the token serves the job's pair. False if this claim no longer holds the job
 * (AG-70). Of an error the column `plan` keeps the text.
 */
export async function endPreflightJob(tx: Transaction, job: PreflightAnswerer, end: PreflightEnd): Promise<boolean> {
  const rows = await tx.query(
    `update preflight_jobs j set state = $6, plan = $4
     where id = $1 and agent_id = $2 and claim_token::text = $3 and state = 'claimed' and expires_at > clock_timestamp() and ${servesPairOf('$5', 'j')}
     returning id`,
    [job.id, job.agent.id, job.claimToken, end.state === 'error' ? end.error : end.plan, job.agent.agentScopes, end.state],
  );
  if (rows.length > 0) tx.wake(topic.preflight(job.id));
  return rows.length > 0;
}

/** Expires jobs that nobody waits for and deletes old finished ones. */
export async function cleanPreflightJobs(db: Queryable): Promise<void> {
  await db.query(
    `with gone as (delete from preflight_jobs where expires_at <= clock_timestamp() - $1::int * interval '1 second')
     update preflight_jobs set state = 'expired'
     where state in ('pending', 'claimed') and expires_at <= clock_timestamp() and expires_at > clock_timestamp() - $1::int * interval '1 second'`,
    [keptSecs],
  );
}
