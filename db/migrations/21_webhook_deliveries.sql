-- Up Migration

-- One row per event and webhook, written with the change that it tells of (NT-3, NT-I1). The body is kept as text, so that every attempt
-- sends the same bytes (NT-22).
create table webhook_deliveries (
  id uuid primary key,
  webhook_id text not null,
  event_type text not null,
  request_id uuid,
  body text not null,
  status text not null default 'pending' check (status in ('pending', 'in_progress', 'delivered', 'dead', 'cancelled')),
  attempts smallint not null default 0 check (attempts between 0 and 10),
  last_error text,
  created_at timestamptz(3) not null default clock_timestamp(),
  next_retry_at timestamptz(3) default clock_timestamp(),
  attempt_started_at timestamptz(3),
  finished_at timestamptz(3),
  -- Whether Temporal has been told what the row says: to run its workflow, or that it was cancelled.
  told boolean not null default false,
  taken_until timestamptz(3),
  -- Written by a suspension, which may cancel thousands of requests: Temporal is told of it after everything else (OP-72).
  yields boolean not null default false,
  check ((status = 'pending') = (next_retry_at is not null)),
  check ((status in ('delivered', 'dead', 'cancelled')) = (finished_at is not null))
);
create index webhook_deliveries_list on webhook_deliveries (created_at desc, id desc);
create index webhook_deliveries_of_webhook on webhook_deliveries (webhook_id, created_at desc, id desc);
create index webhook_deliveries_untold on webhook_deliveries (yields, created_at) where not told;
create index webhook_deliveries_open on webhook_deliveries (webhook_id, status, next_retry_at) where finished_at is null;
create index webhook_deliveries_finished on webhook_deliveries (finished_at) where finished_at is not null;
-- Rows change a few times and are gone after a week; a queue that is read over and over must not keep dead rows for long.
alter table webhook_deliveries set (autovacuum_vacuum_scale_factor = 0.02);
