-- Up Migration

-- One row per pair that was ever synced. dialect, snapshot and collected_at belong to the last good sync (AG-73), and are null before the
-- first.
create table schema_snapshots (
  database text not null,
  environment text not null,
  dialect text check (dialect in ('postgresql', 'mysql')),
  snapshot jsonb,
  collected_at timestamptz(3),
  last_status text not null check (last_status in ('ready', 'failed', 'partial')),
  last_error text,
  synced_by text not null,
  synced_at timestamptz(3) not null,
  primary key (database, environment),
  check ((snapshot is null) = (collected_at is null) and (snapshot is null) = (dialect is null))
);
