-- Up Migration

-- Why a request is cancelled or is to be. Null before that, and for requests older than this column, which a user cancelled.
alter table requests add column cancel_cause text check (cancel_cause in ('requested', 'user_suspended', 'user_deleted'));

-- What a suspension must end, without reading everything that the user ever requested (ST-19).
create index requests_open_of_owner on requests (requester, id) where status in ('pending', 'approved', 'dispatched', 'running', 'execution_lost');

-- News of a suspension: thousands of rows, sent after all others. They do not stop creations (OP-72).
alter table outbox add column yields boolean not null default false;
create index outbox_yielding on outbox (due_at) where yields;
