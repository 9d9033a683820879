import type { Operation } from '../domain/policies.js';
import { markerFormOf, type Scope } from './agents.js';
import type { Queryable } from './client.js';
import { type ExplainWork, explainWork } from './dry-run-jobs.js';
import { dispatchEnd, mutatingMigrations } from './migration-pairs.js';

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

interface Claimant {
  scopes: Scope[];
  operations: string[];
  features: string[];
}

/**
 * Dispatched requests that this agent could claim, oldest dispatch first (AG-17), and at most the first migration in line per pair.
 * Offering claims nothing (AG-18).
 */
const claimable = `with ready as (
       (select r.id, r.dispatched_at ${fromClaimable} and r.operation not in ${mutatingMigrations} and r.dispatch_deadline > clock_timestamp()
        order by r.dispatched_at, r.id limit $6)
       union all select id, dispatched_at from (
         select r.id, r.dispatched_at, count(*) filter (where ${holdsBack}) over (partition by r.database, r.environment
           order by r.dispatched_at, r.id rows between unbounded preceding and 1 preceding) as ahead
         ${fromClaimable} and r.operation in ${mutatingMigrations} and ${dispatchEnd} > clock_timestamp()
       ) as line where ahead = 0
     )
     select r.id, r.requester as created_by, r.operation, r.environment, r.database, r.detail, r.fence
     from ready join requests r using (id) order by ready.dispatched_at, r.id limit $6`;

/** At most `limit` jobs. */
export function listJobs(db: Queryable, agent: Claimant, limit: number): Promise<Job[]> {
  return db.query<Job>(claimable, valuesOf(agent, limit));
}

export interface Work extends ExplainWork {
  jobs: Job[];
}

/** The same with what there is to explain, in one statement. */
export async function findWork(db: Queryable, agent: Claimant, limits: { jobs: number; explains: number }): Promise<Work> {
  const [row] = await db.query<Work>(
    `select coalesce((select json_agg(job) from (${claimable}) as job), '[]') as jobs, ${explainWork({ databases: '$1', environments: '$2', limit: '$9' })}`,
    [...valuesOf(agent, limits.jobs), limits.explains],
  );
  if (row === undefined) throw new Error('select without a row');
  return row;
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
  ];
}
