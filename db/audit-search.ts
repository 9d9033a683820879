import { type AuditEvent, auditEventKeys, exactFilters } from '../domain/audit/event.js';
import type { EffectiveRole } from '../domain/caller.js';
import type { Queryable } from './client.js';
import { type Parameters, parameters } from './parameters.js';
import { type Counted, mostCounted, totalBy } from './totals.js';

export interface AuditFilters extends Partial<Record<keyof typeof exactFilters, string | undefined>> {
  /** UTC text with six fraction digits, like `created_at`. Both ends are inclusive. */
  since?: string | undefined;
  until?: string | undefined;
}

export interface AuditPage extends Counted {
  events: AuditEvent[];
}

interface Page {
  limit: number;
  offset: number;
}

/** One page of the events that these roles open, and their total. Newest first, unsealed events before sealed ones (AU-60, AU-61). */
export async function searchAuditEvents(
  db: Queryable,
  roles: readonly EffectiveRole[],
  filters: AuditFilters,
  page: Page,
): Promise<AuditPage> {
  if (isWhole(roles, filters)) return searchWhole(db, page);
  const set: AuditSet = {
    visible: ({ add }) => visible(roles, filters, add),
    sealed: ({ add }) => sealedBetween(filters, add),
  };
  const counted = await count(db, set);
  const events = await read(db, set, page);
  if (counted <= mostCounted) return { events, total: counted, isEstimate: false };
  return { events, ...totalBy(await estimate(db, set), page, events.length) };
}

/** Conditions on events, built anew for each statement. */
interface AuditSet {
  visible(p: Parameters): string;
  /** True of all sealed events that are visible, and lets most others be skipped. */
  sealed(p: Parameters): string;
}

const columns = auditEventKeys.join(', ');
const newestFirst = 'order by seq is null desc, seq desc, position desc';

/** Unsealed events and sealed ones are each read from an index in order. A statement of its own for either would miss what is sealed in between. */
async function read(db: Queryable, set: AuditSet, page: Page): Promise<AuditEvent[]> {
  const p = parameters();
  const [visible, sealed] = [set.visible(p), set.sealed(p)];
  const [limit, offset] = [p.add(page.limit), p.add(page.offset)];
  const unsealed = `from audit_events where seq is null and ${visible}`;
  return db.query<AuditEvent>(
    `with unsealed as materialized (select count(*) as count from (select ${unsealed} limit ${limit}::bigint + ${offset}) as counted)
     select ${columns} from (
       (select ${columns}, position ${unsealed} order by position desc limit ${limit} offset ${offset})
       union all
       (select ${columns}, position from (
          select seq from audit_events where ${sealed} and ${visible} order by seq desc
          limit ${limit} offset (select greatest(${offset} - count, 0) from unsealed)
        ) as page join audit_events using (seq))
     ) as found ${newestFirst} limit ${limit}`,
    p.values,
  );
}

/** Sealed events have no gaps in their numbers, so those of the whole log need not be counted or skipped one by one. */
async function searchWhole(db: Queryable, { limit, offset }: Page): Promise<AuditPage> {
  const sealed = 'select seq from audit_events where seq is not null order by seq';
  const rows = await db.query<AuditEvent & { total: number }>(
    `with log as materialized (
       select (select count(*) from audit_events where seq is null) as unsealed, (${sealed} limit 1) as first, (${sealed} desc limit 1) as last
     )
     select counted.total, found.* from (select unsealed + coalesce(last - first + 1, 0) as total from log) as counted left join (
       select * from (
         (select ${columns}, position from audit_events where seq is null order by position desc limit $1 offset $2)
         union all
         (select ${columns}, position from audit_events where seq <= (select last - greatest($2 - unsealed, 0) from log) order by seq desc limit $1)
       ) as either ${newestFirst} limit $1
     ) as found on true ${newestFirst}`,
    [limit, offset],
  );
  const events = rows.flatMap(({ total: _, ...event }) => (event.id === null ? [] : [event]));
  return { events, total: rows[0]?.total ?? 0, isEstimate: false };
}

/** At most one more than `mostCounted` of the sealed ones. */
async function count(db: Queryable, set: AuditSet): Promise<number> {
  const p = parameters();
  const [visible, sealed] = [set.visible(p), set.sealed(p)];
  const [row] = await db.query<{ count: number }>(
    `select (select count(*) from audit_events where seq is null and ${visible}) + (select count(*) from (
       select from audit_events where ${sealed} and ${visible} order by seq desc limit ${mostCounted + 1}) as counted) as count`,
    p.values,
  );
  return row?.count ?? 0;
}

/** How many PostgreSQL expects by its statistics, without a look at a row. */
async function estimate(db: Queryable, set: AuditSet): Promise<number> {
  const p = parameters();
  const text = `explain (format json) select from audit_events where ${set.visible(p)}`;
  const [row] = await db.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(text, p.values);
  return row?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}

const isUnrestricted = ({ databases, environments }: EffectiveRole) => databases.includes('*') && environments.includes('*');

const isWhole = (roles: readonly EffectiveRole[], filters: AuditFilters) =>
  roles.some(isUnrestricted) && Object.values(filters).every((value) => value === undefined);

/** The condition of the events that pass the filters and that these roles open. */
export function visible(roles: readonly EffectiveRole[], filters: AuditFilters, add: Parameters['add']): string {
  const inside = roles.map((role) => insideRole(role, add)).join(' or ') || 'false';
  return [...filterConditions(filters, add), `(${inside})`].join(' and ');
}

/** As PostgreSQL writes a UUID. */
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function filterConditions(filters: AuditFilters, add: Parameters['add']): string[] {
  const conditions = Object.entries(exactFilters).flatMap(([name, column]) => {
    const value = filters[name as keyof typeof exactFilters];
    if (value === undefined) return [];
    if (column !== 'request_id') return [`${column} = ${add(value)}`];
    return uuid.test(value) ? [`request_id = ${add(value)}::uuid`] : ['false'];
  });
  // Stored instants are texts of one form, so they compare as texts.
  if (filters.since !== undefined) conditions.push(`created_at >= ${add(filters.since)}`);
  if (filters.until !== undefined) conditions.push(`created_at <= ${add(filters.until)}`);
  return conditions;
}

/**
 * Times nearly follow `seq`, but not exactly: a transaction that took long is sealed late. So a span of time begins with the first block of
 * `seq` that has an event so late, and ends with the last one that has an event so early. An index has the earliest and latest time of each block.
 */
function sealedBetween({ since, until }: AuditFilters, add: Parameters['add']): string {
  const block = `seq / ${blockSize}`;
  const edge = (end: 'min' | 'max') => `(select ${end}(seq) / ${blockSize} from audit_events where seq is not null)`;
  const timeOf = (end: 'min' | 'max') =>
    `(select ${end}(created_at) from audit_events where ${block} = block and seq is not null)`;
  const first = (time: string) =>
    `(select block * ${blockSize} from generate_series(${edge('min')}, ${edge('max')}) as block where ${timeOf('max')} >= ${time} limit 1)`;
  const last = (time: string) =>
    `(select block * ${blockSize} + ${blockSize - 1} from generate_series(${edge('max')}, ${edge('min')}, -1) as block where ${timeOf('min')} <= ${time} limit 1)`;
  return [
    'seq is not null',
    ...(since === undefined ? [] : [`seq >= ${first(add(since))}`]),
    ...(until === undefined ? [] : [`seq <= ${last(add(until))}`]),
  ].join(' and ');
}

/** As in the index `audit_events_blocks`. */
const blockSize = 4096;

/** Only unrestricted roles see events without a database (identity 4.1). */
function insideRole(role: EffectiveRole, add: Parameters['add']): string {
  if (isUnrestricted(role)) return 'true';
  const inside = (column: string, names: string[]) =>
    names.includes('*')
      ? `${column} is not null`
      : // One name can be read from an index in order, any of several cannot.
        names.length === 1
        ? `${column} = ${add(names[0])}`
        : `${column} = any(${add(names)}::text[])`;
  return `(${inside('database_name', role.databases)} and ${inside('environment', role.environments)})`;
}
