import type { Operation } from '../domain/policies.js';
import { markerFormOf, type Scope } from './agents.js';
import type { Queryable } from './client.js';
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
