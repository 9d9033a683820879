-- Up Migration

-- The indexes contain the columns that lists filter by, so that counting and skipping rows reads no table page. They ascend, because new
-- rows then go to their last page; a backward scan returns the newest first.
drop index requests_newest;
create index requests_newest on requests (created_at, id) include (requester, database, environment, operation, status);
drop index requests_by_requester;
create index requests_by_requester on requests (requester, created_at, id) include (database, environment, operation, status);
drop index requests_open;
create index requests_by_status on requests (status, created_at, id) include (requester, database, environment, operation);

-- Increases with each change that neither a creation nor a move makes, such as a purge. What processes remember of the places of older
-- requests in lists is valid for one number (db/request-places.ts).
create table request_rewrites (
  number bigint not null
);
insert into request_rewrites values (0);

create function note_request_rewrite() returns trigger language plpgsql as $$
begin
  update request_rewrites set number = number + 1;
  return null;
end $$;
create trigger requests_rewritten
  after delete or truncate or update of id, created_at, requester, database, environment, operation, share_selectors on requests
  for each statement execute function note_request_rewrite();
