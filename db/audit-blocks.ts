import type { EffectiveRole } from '../domain/caller.js';
import { isUnrestricted } from '../domain/permissions.js';
import { type AuditQuery, exactValues } from './audit-filters.js';
import type { Queryable, Transaction } from './client.js';
import type { Parameters } from './parameters.js';

/** As in the tables `audit_blocks` and `audit_block_values`. */
export const blockSize = 4096;

/** What a search can ask for. The events of a request are few, and have an index of their own. */
export const blockFields = [
  'actor_id',
  'event_type',
  'event_category',
  'outcome',
  'database_name',
  'environment',
  'operation',
] as const;

const edge = (end: 'asc' | 'desc') => `(select seq from audit_events where seq is not null order by seq ${end} limit 1)`;
const eventsOf = (block: string) => `seq >= ${block} * ${blockSize} and seq < (${block} + 1) * ${blockSize}`;
const isCheckpoint = `(event_type = 'audit.signed_checkpoint')`;
const all = `(-1)::bit(${blockSize})`;
/** The bits of the events of a group. */
const bits = `bit_or(set_bit(0::bit(${blockSize}), (seq % ${blockSize})::integer, 1))`;

/** The next block to be stored, if all of its events are sealed. */
export async function findFullBlock(db: Queryable): Promise<number | null> {
  const [row] = await db.query<{ block: number }>(
    `select block from (select greatest((select max(block) + 1 from audit_blocks), ${edge('asc')} / ${blockSize}) as block) as next
     where block < (${edge('desc')} + 1) / ${blockSize}`,
  );
  return row?.block ?? null;
}

/** Of two that store the same block, one does nothing. */
export async function storeBlock(db: Queryable, block: number): Promise<void> {
  const events = `stored join audit_events on ${eventsOf('$1::bigint')}`;
  await db.query(
    `with stored as (insert into audit_blocks (block) values ($1::bigint) on conflict do nothing returning block), times as (
       insert into audit_block_times (block, of_checkpoints, earliest, latest, events)
       select block, ${isCheckpoint}, min(created_at), max(created_at), ${bits} from ${events} group by block, ${isCheckpoint}
     )
     insert into audit_block_values (block, field, value, events)
     select block, field, value, ${bits} from ${events}
     cross join lateral (values ${blockFields.map((field) => `('${field}', ${field})`).join(', ')}) as has (field, value)
     where value is not null group by block, field, value`,
    [block],
  );
}

/** Blocks from this one on. */
export async function listBlocks(db: Queryable, from: number, limit: number): Promise<number[]> {
  const rows = await db.query<{ block: number }>(
    `select least(block, ${Number.MAX_SAFE_INTEGER}) as block from audit_blocks where block >= $1 order by audit_blocks.block limit $2`,
    [from, limit],
  );
  return rows.map(({ block }) => block);
}

/** What a block says of some of its events: `events` is a text of 0 and 1, oldest first. Only `time` has a span. */
export interface SaidOfBlock {
  field: string;
  value: string;
  events: string;
  earliest: string | null;
  latest: string | null;
}

/** What a block says of its events from this place on. */
export function readBlock(db: Queryable, block: number, firstPlace: number, limit: number): Promise<SaidOfBlock[]> {
  return db.query<SaidOfBlock>(
    `select field, value, events::text, earliest, latest from (
       select field, value, events, null as earliest, null as latest from audit_block_values where block = $1
       union all
       select 'time', of_checkpoints::text, events, earliest, latest from audit_block_times where block = $1
     ) as said where bit_count(events & (${all} >> $2::integer)) > 0 limit $3`,
    [block, firstPlace, limit],
  );
}

/** Deletes the blocks of which no event is left, in the transaction of that purge. */
export function purgeBlocks(tx: Transaction, lastPurgedSeq: number): void {
  for (const table of ['audit_block_values', 'audit_block_times', 'audit_blocks'])
    tx.send(`delete from ${table} where block < ($1::bigint + 1) / ${blockSize}`, [lastPurgedSeq]);
}

/** The first and the last sealed event, and the first that no block has. */
export const logEdges = `select ${edge('asc')} as first, ${edge('desc')} as last, coalesce((select max(block) + 1 from audit_blocks) * ${blockSize}, 0) as beyond`;

/** The places of the bits that are set, oldest first, each with its ordinal. One place too many comes last. */
export const placesOf = (block: string, events: string) =>
  `(select nth, ${block} * ${blockSize} + sum(length(gap) + 1) over (order by nth) - 1 as seq
    from string_to_table(${events}::text, '1') with ordinality as between_ones (gap, nth))`;

/**
 * Of each block, the bits of the events that pass the filters and that the roles open; null stands for none. A purge leaves the bits of the
 * block in which it ends as they are.
 */
export function matchingBlocks({ roles, filters }: AuditQuery, { add }: Parameters): string {
  const having = (field: string, condition: string) =>
    `(select bit_or(v.events) from audit_block_values v where v.block = b.block and v.field = '${field}' ${condition})`;
  const inside = (field: string, names: string[]) =>
    having(field, names.includes('*') ? '' : `and v.value = any(${add(names)}::text[])`);
  const opened = ({ databases, environments }: EffectiveRole) =>
    `(${inside('database_name', databases)} & ${inside('environment', environments)})`;
  const openedByAny = () =>
    roles.length === 0 ? 'null' : `(select bit_or(one) from (values ${roles.map(opened).join(', ')}) as by_role (one))`;
  const matching = [
    `${all} >> least(greatest(first - b.block * ${blockSize}, 0), ${blockSize})::integer`,
    ...exactValues(filters).map(([field, value]) => having(field, `and v.value = ${add(value)}`)),
    ...(roles.some(isUnrestricted) ? [] : [openedByAny()]),
  ];
  const span = spanBits(filters, add);
  if (span !== null) matching.push('span.events');
  return `select b.block, ${matching.map((each) => `(${each})`).join(' & ')} as events from audit_blocks b cross join (${logEdges}) as log
    ${span === null ? '' : `cross join lateral (${span} offset 0) as span where span.events is not null`}`;
}

/** The bits of the events of a span of time. Where it begins and ends, some events of a block lie in it and others not: they are looked at one by one. */
function spanBits({ since, until }: AuditQuery['filters'], add: Parameters['add']): string | null {
  const ends = [
    ...(since === undefined ? [] : [{ compared: `>= ${add(since)}`, inner: 't.latest', outer: 't.earliest' }]),
    ...(until === undefined ? [] : [{ compared: `<= ${add(until)}`, inner: 't.earliest', outer: 't.latest' }]),
  ];
  if (ends.length === 0) return null;
  const where = (column: (end: (typeof ends)[number]) => string) =>
    ends.map((end) => `${column(end)} ${end.compared}`).join(' and ');
  const some = `select ${bits} from audit_events where ${eventsOf('b.block')} and ${isCheckpoint} = t.of_checkpoints and ${where(() => 'created_at')}`;
  return `select bit_or(case when ${where(({ outer }) => outer)} then t.events else (${some}) end) as events
    from audit_block_times t where t.block = b.block and ${where(({ inner }) => inner)}`;
}
