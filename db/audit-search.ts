import { type AuditEvent, auditEventKeys } from '../domain/audit/event.js';
import { logEdges, matchingBlocks, placesOf } from './audit-blocks.js';
import { type AuditQuery, visible } from './audit-filters.js';
import type { Queryable } from './client.js';
import { type Parameters, parameters } from './parameters.js';

export interface AuditPage {
  events: AuditEvent[];
  total: number;
}

interface Page {
  limit: number;
  offset: number;
}

/** One page of the events that these roles open, and their total. Newest first, unsealed events before sealed ones (AU-60, AU-61). */
export async function searchAuditEvents(db: Queryable, wanted: AuditQuery, page: Page): Promise<AuditPage> {
  const p = parameters();
  const search = wanted.filters.request_id === undefined ? searchLog : searchRequest;
  const rows = await db.query<AuditEvent & { total: number; number: number | null }>(search(wanted, page, p), p.values);
  const events = rows.flatMap(({ total: _, number, ...event }) => (number === null ? [] : [event]));
  return { events, total: rows[0]?.total ?? 0 };
}

const columns = auditEventKeys.join(', ');

/** The events of a request are few: all of them are read. */
function searchRequest(wanted: AuditQuery, { limit, offset }: Page, p: Parameters): string {
  return `with found as materialized (
      select row_number() over (order by seq is null desc, seq desc, position desc) as number, ${columns} from audit_events where ${visible(wanted, p)}
    )
    select counted.total, page.* from (select count(*) as total from found) as counted
    left join (select * from found order by number limit ${p.add(limit)} offset ${p.add(offset)}) as page on true order by number`;
}

/**
 * Numbers what is found from the newest on, and reads the events of the page. Sealed events that no block has yet are looked at one by one; of
 * the others only bits are counted. It is one statement: what is sealed between two would be missed.
 */
function searchLog(wanted: AuditQuery, { limit, offset }: Page, p: Parameters): string {
  const condition = visible(wanted, p);
  const [from, to] = [`${p.add(offset)}::bigint`, `${p.add(offset + limit)}::bigint`];
  const event = `select ${columns} from audit_events e where e`;
  return `with unsealed as materialized (
      select row_number() over (order by position desc) - 1 as number, position
      from audit_events where seq is null and ${condition} order by position desc
    ), newest as materialized (
      select (select count(*) from unsealed) + row_number() over (order by seq desc) - 1 as number, seq
      from (${logEdges}) as log cross join lateral (
        select seq from audit_events where seq >= beyond and seq <= last and ${condition} offset 0) as found
    ), blocks as materialized (
      select block, events, bit_count(events)::integer as count from (${matchingBlocks(wanted, p)} offset 0) as found where bit_count(events) > 0
    ), counted as materialized (
      select one_by_one, one_by_one + coalesce((select sum(count) from blocks), 0) as total
      from (select (select count(*) from unsealed) + (select count(*) from newest) as one_by_one) as outside
    ), page as (
      select * from (
        select number, position, null::bigint as seq from unsealed
        union all
        select number, null, seq from newest
        union all
        select newer + count - nth, null, seq from (
          select *, (select one_by_one from counted) + sum(count) over (order by block desc) - count as newer from blocks
        ) as placed cross join lateral ${placesOf('block', 'events')} as place
        where newer < ${to} and newer + count > ${from} and nth <= count
      ) as numbered where number >= ${from} and number < ${to} order by number limit ${p.add(limit)}
    )
    select total, found.* from counted left join (
      select number, event.* from page cross join lateral (${event}.position = page.position union all ${event}.seq = page.seq) as event
    ) as found on true order by number`;
}
