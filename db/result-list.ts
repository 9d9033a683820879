import type { Pair } from '../domain/caller.js';
import type { Queryable } from './client.js';

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

/** How many results, over all pairs, are looked at from the newest on for what is shared with the caller: first so many, then these if that promises a whole page. */
const walks = [500, 4000] as const;
/** With more pairs than this allows, none is walked. */
const mostWalked = 10_000;

/** The newest results that the caller may read (RS-41). Each of the three ways to a result has an index of its own. */
export async function listResults(
  db: Queryable,
  callerId: string,
  pairs: readonly OpenPair[],
  limit: number,
): Promise<ListedResult[]> {
  const related = pairs.filter(({ whole }) => !whole);
  const values = [JSON.stringify(pairs), callerId, limit];
  const sizes = [...new Set(walks.map((rows) => Math.max(limit, Math.floor(rows / Math.max(1, related.length)))))];
  for (const perPair of sizes) {
    if (related.length * perPair > mostWalked) break;
    const walked = await db.query<Walked>(walkedPage, [...values, perPair]);
    const { complete = false, mine = 0 } = walked[0] ?? {};
    if (complete) return walked.flatMap(({ complete: _, mine: __, ...row }) => (row.request_id === null ? [] : [row]));
    if ((mine * sizes.at(-1)!) / perPair < limit) break;
  }
  return db.query<ListedResult>(sharedPage, [...values, [...new Set(related.flatMap(({ selectors }) => selectors))]]);
}

type Walked = (ListedResult | { request_id: null }) & { complete: boolean; mine: number };

const columns =
  's.execution_id, s.request_id, s.database, s.environment, s.stored_at, s.expires_at, s.content_length, p."retentionDays"';
const order = 'order by stored_at desc, execution_id limit $3';
const open = `s.expires_at > clock_timestamp() and s.stored_at > clock_timestamp() - p."retentionDays" * interval '1 day'`;
const ofPair = 's.database = p.database and s.environment = p.environment';

const pairsOf = `pairs as materialized (
    select * from jsonb_to_recordset($1::jsonb) as p(database text, environment text, whole boolean, selectors text[], "retentionDays" integer)
  )`;

/** The page of what the caller reads by the pair, as its requester, or by sharing. */
const pageOf = (shared: string) => `page as materialized (
    select * from (
      select top.* from pairs p cross join lateral (select ${columns} from results s where ${ofPair} and ${open} ${order}) top where p.whole
      union
      (select ${columns} from results s join pairs p on ${ofPair} where s.requester = $2 and ${open} ${order})
      union
      (${shared} ${order})
    ) as found ${order}
  )`;

const shownOf = `select s.request_id, s.execution_id, s.database, s.environment, r.operation, s.stored_at, s.content_length,
     least(s.expires_at, s.stored_at + s."retentionDays" * interval '1 day') as ends_at
   from page s join requests r on r.id = s.request_id order by s.stored_at desc, s.execution_id`;

/** By way of what is shared with the caller: quick where that is little, as all of it is read and sorted. Of 200,000 results it took 0.8 s, a walk 15 ms. */
const sharedPage = `with ${pairsOf}, ${pageOf(`select ${columns} from results s join pairs p on ${ofPair} and not p.whole
    where s.share_selectors <> '{}' and s.share_selectors && $4::text[] and s.share_selectors && p.selectors and ${open}`)} ${shownOf}`;

/**
 * By way of the newest `$4` results of each pair: quick where much is shared with the caller. It is complete if what a pair has further on is older
 * than the page.
 */
const walkedPage = `with ${pairsOf}, walked as materialized (
    select near.*, near.share_selectors && p.selectors as mine from pairs p cross join lateral (
      select ${columns}, s.share_selectors from results s where ${ofPair} and ${open}
      order by s.stored_at desc, s.execution_id limit $4) as near
    where not p.whole
  ), ${pageOf(`select execution_id, request_id, database, environment, stored_at, expires_at, content_length, "retentionDays" from walked where mine`)},
  ends as (
    select count(*) < $4 or coalesce(min(stored_at) < (select min(stored_at) from page having count(*) = $3), false) as known,
      count(*) filter (where mine) as mine
    from walked group by database, environment
  )
  select ended.*, shown.* from (select coalesce(bool_and(known), true) as complete, coalesce(sum(mine), 0)::int as mine from ends) as ended
  left join (${shownOf}) as shown on true order by shown.stored_at desc, shown.execution_id`;
