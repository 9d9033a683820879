-- Up Migration

-- Transaction ids begin anew in the cluster where a backup is restored, so they order nothing. `position` does (db/audit-seal.ts).
alter table audit_events drop column writer;

-- An unsealed event is in none of these, so that callers do not pay for them.
alter table audit_events drop constraint audit_events_seq_key, drop constraint audit_events_prev_hash_key;
create unique index audit_events_seq on audit_events (seq) where seq is not null;
-- The chain cannot fork (AU-13).
create unique index audit_events_prev_hash on audit_events (prev_hash) where prev_hash is not null;
create index audit_events_checkpoints on audit_events (seq) where event_type = 'audit.signed_checkpoint';

-- Sealing writes each row a second time. What it leaves in the index of unsealed events is read over by every look at it until a vacuum, which by
-- default would come after a fifth of the table, and would leave the indexes out when few pages changed.
alter table audit_events set (autovacuum_vacuum_scale_factor = 0.02, vacuum_index_cleanup = on);

-- The newest sealed event, signed (AU-42). The root is that of the tree over all events up to it, signed too (AU-80).
create table audit_head (
  only_row boolean primary key default true check (only_row),
  seq bigint not null check (seq > 0),
  event_hash text not null,
  sealed_at text not null,
  key_id text not null,
  signature text not null,
  tree_root text not null,
  tree_signature text not null
);

-- The hashes of the tree in tiles of height 8. The last tile of a level may have fewer than 256; it grows until it is complete.
create table audit_tiles (
  level smallint not null,
  index bigint not null,
  width smallint not null check (width between 1 and 256),
  hashes bytea not null check (octet_length(hashes) = width * 32),
  primary key (level, index)
);
-- Hashes do not compress.
alter table audit_tiles alter column hashes set storage external;

-- One row per purge (AU-46). `writer` is the transaction that may delete what the row covers, and means nothing after it.
create table audit_purges (
  last_purged_seq bigint primary key,
  last_purged_hash text not null unique,
  purged_before text not null,
  retained_count bigint not null,
  key_id text not null,
  signature text not null,
  writer xid8 not null default pg_current_xact_id()
);

-- AU-3: sealing sets three columns once, and a purge deletes what its row covers, in the transaction of that row.
create or replace function audit_events_guard() returns trigger language plpgsql as $$
declare
  sealed audit_events;
begin
  if tg_op = 'UPDATE' then
    if old.seq is null and new.event_hash is not null and (new.prev_hash is null) = (new.seq = 1) then
      sealed := new;
      sealed.seq := null;
      sealed.prev_hash := null;
      sealed.event_hash := null;
      if sealed *= old then return new; end if;
    end if;
  elsif tg_op = 'DELETE' then
    if exists (select from audit_purges where last_purged_seq >= old.seq and writer = pg_current_xact_id()) then return old; end if;
  end if;
  raise exception 'audit events are append-only';
end $$;

-- A tile only grows, and what a purge says stays: proofs over purged events need both.
create function audit_tiles_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    if new.level = old.level and new.index = old.index and new.width > old.width
       and substring(new.hashes for old.width * 32) = old.hashes then return new; end if;
  end if;
  raise exception 'the hashes of the audit log are append-only';
end $$;
create trigger audit_tiles_guard before update or delete on audit_tiles for each row execute function audit_tiles_guard();
create trigger audit_tiles_no_truncate before truncate on audit_tiles execute function audit_tiles_guard();

create function audit_purges_guard() returns trigger language plpgsql as $$
begin
  raise exception 'the record of a purge is append-only';
end $$;
create trigger audit_purges_guard before update or delete on audit_purges for each row execute function audit_purges_guard();
create trigger audit_purges_no_truncate before truncate on audit_purges execute function audit_purges_guard();
