import type { Queryable } from './client.js';
import { backlogCount } from './outbox.js';

/** What became of requests in one minute. */
export interface MinuteCounts {
  /** Its beginning. */
  at: number;
  created: number;
  executed: number;
  failed: number;
  rejected: number;
  cancelled: number;
  expired: number;
  execution_lost: number;
  /** Approvals and rejections. */
  decisions: number;
  /** From the creation to the decision, at the median; null without a decision. */
  decisionWaitMs: number | null;
}

const outcomes = ['executed', 'failed', 'rejected', 'cancelled', 'expired', 'execution_lost'] as const;

/** The counts of each of the last minutes, the one that runs included, oldest first. Every part of it uses an index. */
export function countByMinute(db: Queryable, minutes: number): Promise<MinuteCounts[]> {
  const since = '(select at from since)';
  return db.query<MinuteCounts>(
    `with since as materialized (select date_trunc('minute', clock_timestamp()) - ($1::int - 1) * interval '1 minute' as at),
     made as (
       select date_trunc('minute', created_at) as at, count(*) as created from requests where created_at >= ${since} group by 1
     ), ended as (
       select date_trunc('minute', resolved_at) as at, ${outcomes.map((status) => `count(*) filter (where status = '${status}') as ${status}`).join(', ')}
       from requests where updated_at >= ${since} and resolved_at >= ${since} group by 1
     ), decided as (
       select date_trunc('minute', d.decided_at) as at, count(*) as decisions,
         percentile_cont(0.5) within group (order by extract(epoch from d.decided_at - r.created_at)) as waited
       from requests r join decisions d on d.request_id = r.id where r.updated_at >= ${since} and d.decided_at >= ${since} group by 1
     )
     select minute as at, coalesce(created, 0) as created, ${outcomes.map((status) => `coalesce(${status}, 0) as ${status}`).join(', ')},
       coalesce(decisions, 0) as decisions, round(waited * 1000)::bigint as "decisionWaitMs"
     from since, generate_series(since.at, clock_timestamp(), interval '1 minute') as minute
       left join made on made.at = minute left join ended on ended.at = minute left join decided on decided.at = minute
     order by minute`,
    [minutes],
  );
}

/** How busy the agents are, and what waits for the workflow engine, in this moment. */
export interface Load {
  /** The minute that it is. */
  at: number;
  slotsUsed: number;
  slots: number;
  backlog: number;
}

export async function readLoad(db: Queryable): Promise<Load> {
  const [row] = await db.query<Load>(
    `select date_trunc('minute', clock_timestamp()) as at, coalesce(sum(in_flight), 0)::bigint as "slotsUsed", coalesce(sum(max_concurrent), 0)::bigint as slots,
       (${backlogCount}) as backlog
     from agents where last_seen_at > clock_timestamp() - interval '60 seconds' and not draining`,
  );
  if (row === undefined) throw new Error('select without a row');
  return row;
}
