-- Up Migration

-- Copies what decides who may read a result, when it expires and what it is deleted with, so that lists and cleaning read one table.
alter table results
  add column requester text,
  add column database text,
  add column environment text,
  add column share_selectors text[];
update results s set requester = r.requester, database = r.database, environment = r.environment, share_selectors = r.share_selectors
  from requests r where r.id = s.request_id;
alter table results
  alter column requester set not null,
  alter column database set not null,
  alter column environment set not null,
  alter column share_selectors set not null;
drop index results_newest;
create index results_by_pair on results (database, environment, stored_at desc, execution_id);
create index results_by_requester on results (requester, stored_at desc, execution_id);
create index results_shared on results using gin (share_selectors) where share_selectors <> '{}';
create index results_expiry on results (expires_at);
create index results_by_request on results (request_id);
