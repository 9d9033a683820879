import type { Pair } from '../domain/caller.js';
import { isMutatingMigration, type StoredRequest } from '../domain/request/types.js';
import type { Queryable, Transaction } from './client.js';
import type { MoveStatement } from './move-statement.js';
import { at } from './row-types.js';

/** The operations of `isMutatingMigration`. The literal must equal that of the index `requests_in_line`. */
export const mutatingMigrations = `('migrate_up', 'migrate_down', 'migrate_repair')`;

const pairOf = 'p.database = r.database and p.environment = r.environment';
/** How long a pair has been busy so far, including a current run. */
const busyMs = `p.busy_ms + coalesce(extract(epoch from clock_timestamp() - p.running_since) * 1000, 0)::bigint`;

/**
 * The dispatch deadline of request `r`. Null while a mutating migration waits for the one that runs on its pair; after that, extended by
 * the time that the pair was busy (AG-54).
 */
export const dispatchEnd = `case when r.status <> 'dispatched' or r.operation not in ${mutatingMigrations} then r.dispatch_deadline
    when exists (select 1 from migration_pairs p where ${pairOf} and p.running is not null) then null
    else r.dispatch_deadline + coalesce((select p.busy_ms - r.dispatch_busy_ms from migration_pairs p where ${pairOf}), 0) * interval '1 millisecond' end`;

/** Locks the pair of a mutating migration, inserting its row if necessary. Returns how long the pair was busy. Call it before locking a request. */
export async function lockPair(tx: Transaction, { database, environment }: Pair): Promise<number> {
  const [row] = await tx.query<{ busy_ms: number }>(
    `insert into migration_pairs as p (database, environment) values ($1, $2)
     on conflict (database, environment) do update set database = excluded.database returning ${busyMs} as busy_ms`,
    [database, environment],
  );
  return row?.busy_ms ?? 0;
}

/** The same for a stored request, whose pair has had a row since its creation. Does nothing for other operations. */
export async function lockPairOf(tx: Transaction, requestId: string): Promise<void> {
  await tx.query(
    `select 1 from migration_pairs p where (p.database, p.environment) in
       (select r.database, r.environment from requests r where r.id = $1 and r.operation in ${mutatingMigrations}) for no key update`,
    [requestId],
  );
}

/** Part of a move's one writing statement: a mutating migration starts or stops running on its pair. Stopping notifies the migrations in line. */
export function pairUpdate({ p, request, before, after, now }: MoveStatement): string[] {
  if (!startsOrEnds(before, after)) return [];
  const pair = `database = ${p.add(after.database)} and environment = ${p.add(after.environment)}`;
  const instant = `${p.add(at(now))}::timestamptz`;
  if (after.status === 'running')
    return [`occupied as (update migration_pairs set running = ${request}, running_since = ${instant} where ${pair})`];
  return [
    `vacated as (update migration_pairs set running = null, running_since = null,
       busy_ms = busy_ms + greatest(0, extract(epoch from ${instant} - running_since) * 1000)::bigint where ${pair} and running = ${request})`,
    `told_in_line as (insert into outbox (request_id, version, signal, actor, starts, lingers, due_at)
       select id, version, 'change', 'system', false, false, clock_timestamp() from requests
       where ${pair} and status = 'dispatched' and operation in ${mutatingMigrations})`,
  ];
}

/** Whether the move ends a run that others may wait for. */
export const endsRun = (before: StoredRequest, after: StoredRequest): boolean =>
  startsOrEnds(before, after) && before.status === 'running';

const startsOrEnds = (before: StoredRequest, after: StoredRequest): boolean =>
  isMutatingMigration(after.operation) && (before.status === 'running') !== (after.status === 'running');

/** The busy time of the locked pair, to be stored by a dispatch; null if the move does not dispatch a mutating migration. */
export function dispatchBusy(before: StoredRequest, after: StoredRequest): string | null {
  const dispatched = after.status === 'dispatched' && before.status !== 'dispatched';
  if (!dispatched || !isMutatingMigration(after.operation)) return null;
  return `coalesce((select ${busyMs} from migration_pairs p where p.database = requests.database and p.environment = requests.environment), 0)`;
}

/** Records when each dispatch was first offered (AG-17). */
export async function markOffered(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query(
    `update requests set offered_fence = fence, offered_at = clock_timestamp()
     where id = any($1::uuid[]) and status = 'dispatched' and offered_fence is distinct from fence`,
    [ids],
  );
}
