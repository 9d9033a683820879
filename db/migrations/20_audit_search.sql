-- Up Migration

-- A page of a search, and how many it finds, are read from one index each (db/audit-search.ts). An unsealed event is in none of these, so that
-- callers do not pay for them.
create index audit_events_by_actor on audit_events (actor_id, seq) where seq is not null;
create index audit_events_by_type on audit_events (event_type, seq) where seq is not null;
create index audit_events_by_category on audit_events (event_category, seq) where seq is not null;
create index audit_events_by_outcome on audit_events (outcome, seq) where seq is not null;
create index audit_events_by_operation on audit_events (operation, seq) where seq is not null;
create index audit_events_by_environment on audit_events (environment, seq) where seq is not null;
-- With the environment, for roles that are limited to both.
create index audit_events_by_database on audit_events (database_name, seq) include (environment) where seq is not null;

-- The earliest and the latest time of each block of 4096 events, in place of an index of times that says nothing of their order in the log.
create index audit_events_blocks on audit_events ((seq / 4096), created_at) where seq is not null;
drop index audit_events_by_time;
