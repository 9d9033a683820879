-- Up Migration

-- Why a request is cancelled or asked to be; null before, and of requests older than this column, which somebody asked for.
alter table requests add column cancel_cause text check (cancel_cause in ('requested', 'user_suspended', 'user_deleted'));

-- What a suspension has to end, without reading all that the user ever asked for (ST-19).
create index requests_open_of_owner on requests (requester, id) where status in ('pending', 'approved', 'dispatched', 'running', 'execution_lost');

-- News of a suspension: thousands at once that are sent after all others and do not hold back creation (OP-72).
alter table outbox add column yields boolean not null default false;
create index outbox_yielding on outbox (due_at) where yields;
