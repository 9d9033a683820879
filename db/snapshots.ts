import type { Pair } from '../domain/caller.js';
import type { SchemaSnapshot, SnapshotTable } from '../domain/snapshot.js';
import type { SyncStatus, TableSummary } from '../domain/snapshot-sync.js';
import type { Dialect } from '../domain/statement.js';
import type { Queryable, Transaction } from './client.js';

/** The result of an agent's sync; `snapshot` is null unless the status is `ready`. */
export interface SchemaSync extends Pair {
  agentId: string;
  dialect: Dialect;
  status: SyncStatus;
  snapshot: SchemaSnapshot | null;
  errorMessage: string | null;
}

/** Records a sync and locks the pair's row. Only a ready sync replaces the snapshot (AG-73). Returns the dialect learnt before. */
export async function recordSync(tx: Transaction, sync: SchemaSync): Promise<{ dialectBefore: Dialect | null }> {
  const pair = [sync.database, sync.environment];
  await tx.query(
    `insert into schema_snapshots (database, environment, last_status, synced_by, synced_at)
     values ($1, $2, $3, $4, clock_timestamp()) on conflict (database, environment) do nothing`,
    [...pair, sync.status, sync.agentId],
  );
  const [before] = await tx.query<{ dialect: Dialect | null }>(
    `select dialect from schema_snapshots where database = $1 and environment = $2 for update`,
    pair,
  );
  tx.send(
    `update schema_snapshots set last_status = $3, last_error = $4, synced_by = $5, synced_at = clock_timestamp()
     where database = $1 and environment = $2`,
    [...pair, sync.status, sync.errorMessage, sync.agentId],
  );
  if (sync.snapshot !== null) {
    tx.send(
      `update schema_snapshots set dialect = $3, snapshot = $4, collected_at = clock_timestamp() where database = $1 and environment = $2`,
      [...pair, sync.dialect, JSON.stringify(sync.snapshot)],
    );
  }
  return { dialectBefore: before?.dialect ?? null };
}

/** The dialect of a pair's newest ready sync (AG-74); null before the first. */
export async function findLearntDialect(db: Queryable, pair: Pair): Promise<Dialect | null> {
  const [row] = await db.query<{ dialect: Dialect | null }>(
    'select dialect from schema_snapshots where database = $1 and environment = $2',
    [pair.database, pair.environment],
  );
  return row?.dialect ?? null;
}

/** The same for every pair that has one. */
export async function listLearntDialects(db: Queryable): Promise<(Pair & { dialect: Dialect })[]> {
  return db.query('select database, environment, dialect from schema_snapshots where dialect is not null');
}

/** A good snapshot without its tables (SC-2). */
export interface SnapshotHead {
  environment: string;
  dialect: Dialect;
  collected_at: number;
  last_status: SyncStatus;
  last_error: string | null;
}

/** Sorted by environment. */
export async function listSnapshotHeads(db: Queryable, database: string): Promise<SnapshotHead[]> {
  return db.query<SnapshotHead>(
    `select environment, dialect, collected_at, last_status, last_error from schema_snapshots
     where database = $1 and collected_at is not null order by environment`,
    [database],
  );
}

const tablesOf = `from schema_snapshots s cross join lateral jsonb_array_elements(s.snapshot -> 'tables') with ordinality as one(content, place)
     where s.database = $1 and s.environment = $2`;

/** Names and sizes of a pair's tables, in order. Postgres counts them, so a snapshot of up to 10 MiB is not transferred. */
export async function listTableSummaries(db: Queryable, pair: Pair): Promise<TableSummary[]> {
  return db.query<TableSummary>(
    `select content ->> 'name' as name, content ->> 'schema_name' as schema_name, (content ->> 'estimated_rows')::float8 as estimated_rows,
       jsonb_array_length(content -> 'columns') as column_count, jsonb_array_length(content -> 'constraints') as constraint_count,
       jsonb_array_length(content -> 'indexes') as index_count ${tablesOf} order by place`,
    [pair.database, pair.environment],
  );
}

/** Tables with exactly this name, in any schema if `schema` is null. */
export async function findTables(db: Queryable, pair: Pair, name: string, schema: string | null): Promise<SnapshotTable[]> {
  const rows = await db.query<{ content: SnapshotTable }>(
    `select content ${tablesOf} and content ->> 'name' = $3 and ($4::text is null or content ->> 'schema_name' = $4) order by place`,
    [pair.database, pair.environment, name, schema],
  );
  return rows.map(({ content }) => content);
}

/** When a good snapshot was received, and its age by Postgres's clock, so that no other machine's clock can make it fresh (SQ-85a). */
export interface SnapshotTime {
  collectedAt: number;
  ageMs: number;
}

const snapshotTime = `collected_at as "collectedAt", (extract(epoch from clock_timestamp() - collected_at) * 1000)::bigint as "ageMs"`;

/** Null before the pair's first good snapshot. */
export async function findSnapshotTime(db: Queryable, pair: Pair): Promise<SnapshotTime | null> {
  const [row] = await db.query<SnapshotTime>(
    `select ${snapshotTime} from schema_snapshots where database = $1 and environment = $2 and collected_at is not null`,
    [pair.database, pair.environment],
  );
  return row ?? null;
}

/** The same of several pairs; those without a good snapshot are left out. */
export async function listSnapshotTimes(db: Queryable, pairs: readonly Pair[]): Promise<(Pair & SnapshotTime)[]> {
  return db.query(
    `select database, environment, ${snapshotTime} from unnest($1::text[], $2::text[]) as wanted(database, environment)
       join schema_snapshots using (database, environment) where collected_at is not null`,
    [pairs.map(({ database }) => database), pairs.map(({ environment }) => environment)],
  );
}

/** Null before the pair's first good snapshot. */
export async function findSnapshot(
  db: Queryable,
  pair: Pair,
): Promise<(SnapshotTime & { snapshot: SchemaSnapshot; dialect: Dialect }) | null> {
  const [row] = await db.query<SnapshotTime & { snapshot: SchemaSnapshot; dialect: Dialect }>(
    `select snapshot, ${snapshotTime}, dialect from schema_snapshots
     where database = $1 and environment = $2 and collected_at is not null`,
    [pair.database, pair.environment],
  );
  return row ?? null;
}
