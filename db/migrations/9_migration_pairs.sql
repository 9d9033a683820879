-- Up Migration

-- One row per pair that has had a mutating migration: what runs there now, and how long others had to wait in total (AG-34, AG-54).
create table migration_pairs (
  database text not null,
  environment text not null,
  running uuid,
  running_since timestamptz(3),
  -- The total of all ended runs.
  busy_ms bigint not null default 0,
  primary key (database, environment)
);

alter table requests
  -- How long the pair had been busy when this migration was dispatched.
  add column dispatch_busy_ms bigint not null default 0,
  -- When a poll first offered the dispatch with this fence (AG-17).
  add column offered_fence integer,
  add column offered_at timestamptz(3);
create index requests_in_line on requests (database, environment, dispatched_at, id)
  where status = 'dispatched' and operation in ('migrate_up', 'migrate_down', 'migrate_repair');
