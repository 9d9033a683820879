import type { Queryable } from './client.js';

interface Pair {
  database: string;
  environment: string;
}

const maxPairs = 10_000;

/** Every pair that has a stored result, found by skipping through the index. */
export async function listResultPairs(db: Queryable): Promise<Pair[]> {
  return db.query<Pair>(
    `with recursive pairs as (
       (select database, environment from results order by database, environment limit 1)
       union all
       select next.database, next.environment from pairs p cross join lateral (
         select r.database, r.environment from results r where (r.database, r.environment) > (p.database, p.environment)
         order by r.database, r.environment limit 1) next
     )
     select database, environment from pairs limit ${maxPairs}`,
  );
}

/** What a caller may read of the results of one pair. */
export interface OpenPair extends Pair {
  /** True = all results; false = those of own requests and of requests shared with a selector. */
  whole: boolean;
  selectors: string[];
  /** By the policy in force now (RS-60). */
  retentionDays: number;
}

export interface ListedResult {
  request_id: string;
  execution_id: string;
  database: string;
  environment: string;
  operation: string;
  stored_at: number;
  /** The recorded end or that of the policy in force, whichever is earlier. */
  ends_at: number;
  content_length: number;
}

/** The newest results that the caller may read (RS-41). Each of the three ways to a result has an index of its own. */
export async function listResults(
  db: Queryable,
  callerId: string,
  pairs: readonly OpenPair[],
  limit: number,
): Promise<ListedResult[]> {
  const order = 'order by s.stored_at desc, s.execution_id limit $3';
  const columns =
    's.execution_id, s.request_id, s.database, s.environment, s.stored_at, s.expires_at, s.content_length, p."retentionDays"';
  const open = `s.expires_at > clock_timestamp() and s.stored_at > clock_timestamp() - p."retentionDays" * interval '1 day'`;
  const ofPair = 's.database = p.database and s.environment = p.environment';
  return db.query<ListedResult>(
    `with pairs as materialized (
       select * from jsonb_to_recordset($1::jsonb) as p(database text, environment text, whole boolean, selectors text[], "retentionDays" integer)
     ), found as (
       select top.* from pairs p cross join lateral (select ${columns} from results s where ${ofPair} and ${open} ${order}) top where p.whole
       union
       (select ${columns} from results s join pairs p on ${ofPair} where s.requester = $2 and ${open} ${order})
       union
       (select ${columns} from results s join pairs p on ${ofPair}
         where s.share_selectors <> '{}' and s.share_selectors && $4::text[] and s.share_selectors && p.selectors and ${open} ${order})
     )
     select s.request_id, s.execution_id, s.database, s.environment, r.operation, s.stored_at, s.content_length,
       least(s.expires_at, s.stored_at + s."retentionDays" * interval '1 day') as ends_at
     from found s join requests r on r.id = s.request_id ${order}`,
    [JSON.stringify(pairs), callerId, limit, [...new Set(pairs.flatMap(({ selectors }) => selectors))]],
  );
}
