-- Up Migration

-- Sessions of the web console are tokens of their own kind (CO-11). One that was made from another token ends with it.
alter table tokens drop constraint tokens_provisioning_kind_check;
alter table tokens add constraint tokens_provisioning_kind_check check (provisioning_kind in ('initial', 'bootstrap', 'console'));
alter table tokens add column parent_id uuid references tokens on delete cascade;
-- What the identity provider said, for sessions that were made from its token.
alter table tokens add column provider_word jsonb;
create index tokens_by_parent on tokens (parent_id) where parent_id is not null;
