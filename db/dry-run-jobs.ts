import type { AgentScopes, Pair } from '../domain/caller.js';
import type { Explainable } from '../domain/request/new-request.js';
import type { StoredRequest } from '../domain/request/types.js';
import type { Queryable, Transaction } from './client.js';
import { topic } from './notifications.js';
import type { Parameters } from './parameters.js';
import { at } from './row-types.js';
import { signingKeyIdFor } from './signing-keys.js';
import { servesPairOf } from './tokens.js';

/** A claim without an answer for this long is released. After the third such claim, the job fails (AG-68). */
const staleClaimSecs = 60;
const maxClaims = 3;

/** A job as a poll offers it (AG-20). */
export interface DryRunOffer {
  id: string;
  request_id: string;
  database: string;
  environment: string;
  sql: string;
}

/** What becomes of the jobs of a request that has started when it is stored: nobody is asked (AG-68). */
export const explainedNoMore = (explain: readonly Explainable[]): Explainable[] =>
  explain.map(({ sql, error }) => ({ sql, error: error ?? skipReason('dispatched', 'running') }));

/**
 * Part of a creation's one statement, for the request in its part `allowed`: one job per statement, in order (AG-65). One with an error gets a failed
 * job.
 */
export function dryRunInsert(p: Parameters, explain: readonly Explainable[], stored: StoredRequest): string {
  const statements = p.add(explain.map(({ sql }) => sql));
  const errors = p.add(explain.map(({ error }) => error));
  return `explained as (insert into dry_run_jobs (request_id, statement_index, database, environment, sql, state, error, created_at)
    select id, place - 1, ${p.add(stored.database)}, ${p.add(stored.environment)}, sql,
      case when error is null then 'pending' else 'failed' end, error, ${p.add(at(stored.createdAt))}
    from allowed, unnest(${statements}::text[], ${errors}::text[]) with ordinality as statement(sql, error, place))`;
}

/** Part of a move's one statement: ends the open jobs if the move starts or ends the request (AG-68). Otherwise returns no part. */
export function dryRunEnd(
  p: Parameters,
  request: string,
  before: StoredRequest['status'],
  after: StoredRequest['status'],
): string[] {
  const why = skipReason(before, after);
  if (why === null) return [];
  const text = `skipped as (update dry_run_jobs set state = 'failed', error = ${p.add(why)}
    where request_id = ${request} and state in ('pending', 'claimed'))`;
  return [text];
}

/** The same for a statement that moves many requests. */
export function dryRunEndOfMany(
  p: Parameters,
  moves: readonly { id: string; before: StoredRequest['status']; after: StoredRequest['status'] }[],
): string {
  const ended = moves.map(({ id, before, after }) => ({ id, why: skipReason(before, after) })).filter(({ why }) => why !== null);
  const [ids, reasons] = [ended.map(({ id }) => id), ended.map(({ why }) => why)];
  return `skipped as (update dry_run_jobs j set state = 'failed', error = ended.why
    from unnest(${p.add(ids)}::uuid[], ${p.add(reasons)}::text[]) as ended(id, why)
    where j.request_id = ended.id and j.state in ('pending', 'claimed'))`;
}

function skipReason(before: StoredRequest['status'], after: StoredRequest['status']): string | null {
  const waited = before === 'pending' || before === 'approved' || before === 'dispatched';
  const waits = after === 'pending' || after === 'approved' || after === 'dispatched';
  if (!waited || waits) return null;
  return after === 'running' ? 'skipped: the statement has started' : 'skipped: the request has ended';
}

/** What there is to explain for some pairs. */
export interface ExplainWork {
  /** Of each requester one in turn, oldest first (AG-20). */
  dryRuns: DryRunOffer[];
  /** Jobs are left out that are offered once they are `plansAfterMs` old. */
  dryRunSoon: boolean;
  preflightWaits: boolean;
}

/** A request that is approved and run at once needs no plan, which costs the target 10 ms of CPU and more. Nobody reads one sooner. */
export const plansAfterMs = 100;
/** An instant after now is that of a clock that was set back. */
const isNew = `j.created_at between statement_timestamp() - interval '${plansAfterMs} milliseconds' and statement_timestamp() + interval '1 second'`;

/** The columns of `ExplainWork`, for the pairs of two `text[]` parameters; all jobs that are pending, or without those just created. */
export const explainWork = (p: { databases: string; environments: string; limit: string }, which: 'all' | 'not new') => {
  const scope = `unnest(${p.databases}::text[], ${p.environments}::text[]) as scope(database, environment)`;
  // Without the texts, since there may be many.
  const turns = `select j.id, j.created_at, j.request_id, row_number() over (partition by r.requester order by j.created_at, j.request_id, j.statement_index) as turn
    from dry_run_jobs j join ${scope} on scope.database = j.database and scope.environment = j.environment join requests r on r.id = j.request_id
    where j.state = 'pending'${which === 'all' ? '' : ` and not (${isNew})`} order by turn, created_at, request_id limit ${p.limit}`;
  return `coalesce((select json_agg(job) from (
      select j.id, j.request_id, j.database, j.environment, j.sql from (${turns}) as waiting join dry_run_jobs j using (id)
      order by waiting.turn, waiting.created_at, waiting.request_id) as job), '[]') as "dryRuns",
    ${which === 'all' ? 'false' : `exists (select from dry_run_jobs j join ${scope} using (database, environment) where j.state = 'pending' and ${isNew})`} as "dryRunSoon",
    exists (select from preflight_jobs j join ${scope} using (database, environment)
      where j.state = 'pending' and j.expires_at > clock_timestamp()) as "preflightWaits"`;
};

export interface DryRunClaim {
  agentKnown: boolean;
  inScope: boolean;
  database: string;
  environment: string;
  sql: string;
  /** The key that signs for this agent (ET-19). */
  signingKeyId: string;
}

/** What a claim checks of a job; undefined if the job does not exist. */
export async function findDryRunClaim(db: Queryable, id: string, agentId: string): Promise<DryRunClaim | undefined> {
  const [row] = await db.query<DryRunClaim>(
    `select a.id is not null as "agentKnown", coalesce(
       a.scopes @> jsonb_build_array(jsonb_build_object('database', j.database, 'environment', j.environment)), false) as "inScope",
       j.database, j.environment, j.sql, ${signingKeyIdFor('a.key_id')} as "signingKeyId"
     from dry_run_jobs j left join agents a on a.id = $2 where j.id = $1`,
    [id, agentId],
  );
  return row;
}

/** The token and instant of a new claim; undefined if the job is not pending. */
export async function claimDryRun(
  db: Queryable,
  id: string,
  agentId: string,
): Promise<{ claimToken: string; now: number } | undefined> {
  const [row] = await db.query<{ claimToken: string; now: number }>(
    `update dry_run_jobs set state = 'claimed', agent_id = $2, claim_token = gen_random_uuid(), claimed_at = clock_timestamp(), claims = claims + 1
     where id = $1 and state = 'pending' returning claim_token as "claimToken", claimed_at as now`,
    [id, agentId],
  );
  return row;
}

/**
 * Ends a claimed job with its plan (JSON text) or its error, if the token serves the job's pair. False if the agent no longer holds the
 * claim (AG-67).
 */
export async function endDryRun(
  db: Queryable,
  job: { id: string; agent: { id: string; agentScopes: AgentScopes }; claimToken: string },
  end: { plan: string } | { error: string },
): Promise<boolean> {
  const plan = 'plan' in end ? end.plan : null;
  const rows = await db.query(
    `update dry_run_jobs j set state = case when $5::text is null then 'completed' else 'failed' end, plan = $4, error = $5
     where id = $1 and agent_id = $2 and claim_token::text = $3 and state = 'claimed' and ${servesPairOf('$6', 'j')} returning id`,
    [job.id, job.agent.id, job.claimToken, plan, 'error' in end ? end.error : null, job.agent.agentScopes],
  );
  return rows.length > 0;
}

/** Undefined if the job does not exist. */
export async function findDryRunPair(db: Queryable, id: string): Promise<Pair | undefined> {
  const [row] = await db.query<Pair>('select database, environment from dry_run_jobs where id = $1', [id]);
  return row;
}

/** Releases stale claims to other agents, and ends jobs after their third (AG-68). Returns how many there were. */
export async function returnStaleDryRuns(tx: Transaction, staleSecs = staleClaimSecs): Promise<number> {
  const rows = await tx.query<Pair & { state: string }>(
    `update dry_run_jobs set agent_id = null, claim_token = null, claimed_at = null,
       state = case when claims >= $2 then 'failed' else 'pending' end, error = case when claims >= $2 then 'no agent answered in time' end
     where state = 'claimed' and claimed_at <= clock_timestamp() - $1::int * interval '1 second' returning database, environment, state`,
    [staleSecs, maxClaims],
  );
  tx.wake(
    ...rows.filter(({ state }) => state === 'pending').map(({ database, environment }) => topic.jobs(database, environment)),
  );
  return rows.length;
}
