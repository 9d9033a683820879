import type { Operation } from '../domain/policies.js';
import type { Dialect } from '../domain/statement.js';
import { markerFormOf, type Scope } from './agents.js';
import type { Queryable, Vouched } from './client.js';
import { type ExplainWork, explainWork } from './dry-run-jobs.js';
import { dispatchEnd, mutatingMigrations } from './migration-pairs.js';
import { type ClaimFacts, claimFactsOf } from './move-facts.js';
import { type FoundState, foundColumns, foundIn, type MoveRow } from './request-state.js';

export interface Job {
  id: string;
  created_by: string;
  operation: Operation;
  environment: string;
  database: string;
  detail: string;
  fence: number;
}

/** Of the text a request was judged under, and of its pair now. A text of unknown dialect was judged as PostgreSQL (SQ-2). */
const sameDialect = `coalesce(scope.dialect, (select s.dialect from schema_snapshots s where s.database = r.database and s.environment = r.environment),
       'postgresql') = coalesce(r.dialect, 'postgresql')`;

/** Dispatched requests that an agent with these scopes and operations could claim, ignoring their deadlines. What no claim would get must not stand before others (AG-I9). */
const fromClaimable = `from requests r
       join unnest($1::text[], $2::text[], $3::boolean[], $9::boolean[], $10::text[]) as scope(database, environment, marker, registered, dialect)
         on scope.database = r.database and scope.environment = r.environment
       join users u on u.id = r.requester and u.status = 'active'
     where r.status = 'dispatched' and (r.max_affected_rows is null or $7) and ($4::text[] = '{}' or r.operation = any($4::text[]))
       and scope.registered and ${sameDialect}
       and not exists (select 1 from executions e where e.request_id = r.id and e.unresolved and not ($5 and scope.marker and e.marker_form <= $8))`;

/** Whether a migration still holds back the next one of its pair: for 10 s after it was first offered (MI-I10). */
const holdsBack = `r.offered_fence is distinct from r.fence or r.offered_at > clock_timestamp() - interval '10 seconds'`;

/** A pair that the agent serves. */
export interface ServedPair extends Scope {
  /** Whether it takes requests. */
  registered: boolean;
  /** By `server.toml`; null: by the newest ready sync (AG-74). */
  dialect: Dialect | null;
}

interface Claimant {
  id: string;
  scopes: readonly ServedPair[];
  operations: string[];
  features: string[];
}

/**
 * Dispatched requests that this agent could claim, oldest dispatch first (AG-17), and at most the first migration in line per pair.
 * Offering claims nothing (AG-18).
 */
const claimable = (columns: string) => `with ready as (
       (select r.id, r.dispatched_at ${fromClaimable} and r.operation not in ${mutatingMigrations} and r.dispatch_deadline > clock_timestamp()
        order by r.dispatched_at, r.id limit $6)
       union all select id, dispatched_at from (
         select r.id, r.dispatched_at, count(*) filter (where ${holdsBack}) over (partition by r.database, r.environment
           order by r.dispatched_at, r.id rows between unbounded preceding and 1 preceding) as ahead
         ${fromClaimable} and r.operation in ${mutatingMigrations} and ${dispatchEnd} > clock_timestamp()
       ) as line where ahead = 0
     )
     select ${columns} from ready join requests r using (id) order by ready.dispatched_at, r.id limit $6`;

const jobColumns = 'r.id, r.requester as created_by, r.operation, r.environment, r.database, r.detail, r.fence';

/** At most `limit` jobs. */
export function listJobs(db: Queryable, agent: Claimant, limit: number): Promise<Job[]> {
  return db.query<Job>(claimable(jobColumns), valuesOf(agent, limit));
}

/** A job, and its request as a claim is judged on it if it is to be claimed at once. */
export type FoundJob = Job & { found?: FoundState<ClaimFacts> };

export interface Work extends ExplainWork {
  jobs: FoundJob[];
}

interface Limits {
  jobs: number;
  explains: number;
}

const explaining = { databases: '$1', environments: '$2', limit: '$11' };

/** The same with what there is to explain, in one statement. */
export async function findWork(db: Queryable, agent: Claimant, limits: Limits): Promise<Work> {
  const [row] = await db.query<Work>(
    `select coalesce((select json_agg(job) from (${claimable(jobColumns)}) as job), '[]') as jobs, ${explainWork(explaining, 'all')}`,
    [...valuesOf(agent, limits.jobs), limits.explains],
  );
  if (row === undefined) throw new Error('select without a row');
  return row;
}

/** The same for a poll that claims what it finds, so that the claim need not read it again. */
export async function findToClaim(db: Vouched, agent: Claimant, limits: Limits): Promise<Work> {
  const rows = await db.query<ExplainWork & (MoveRow | { id: null })>(
    `select explain.*, job.* from (select ${explainWork(explaining, 'not new')}) as explain left join (${claimable(foundColumns(claimFactsOf('$12', null)))}) as job on true
     order by job."dispatchedAt", job.id`,
    [...valuesOf(agent, limits.jobs), limits.explains, agent.id],
  );
  const [first] = rows;
  if (first === undefined) throw new Error('select without a row');
  const jobs = rows.flatMap(({ dryRuns: _, dryRunSoon: __, preflightWaits: ___, ...row }) => {
    return row.id === null ? [] : [foundJob(foundIn<ClaimFacts>(row as MoveRow, db.macs))];
  });
  return { jobs, dryRuns: first.dryRuns, dryRunSoon: first.dryRunSoon, preflightWaits: first.preflightWaits };
}

function foundJob(found: FoundState<ClaimFacts>): FoundJob {
  const { id, requester, operation, environment, database, detail, fence } = found.request;
  return { id, created_by: requester, operation, environment, database, detail, fence, found };
}

function valuesOf({ scopes, operations, features }: Claimant, limit: number): unknown[] {
  return [
    scopes.map(({ database }) => database),
    scopes.map(({ environment }) => environment),
    scopes.map(({ marker }) => marker),
    operations,
    features.includes('fence'),
    limit,
    features.includes('max_affected_rows'),
    markerFormOf(features),
    scopes.map(({ registered }) => registered),
    scopes.map(({ dialect }) => dialect),
  ];
}
