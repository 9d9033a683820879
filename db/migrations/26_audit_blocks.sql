-- Up Migration

-- Which of 4096 sealed events in a row have a value, one bit for each event, so that a search counts, combines and skips by words of bits and not by
-- events (db/audit-search.ts). A block is stored when it is full (db/audit-blocks.ts), so that to seal an event costs nothing for the search.
create table audit_blocks (
  -- The events with this `seq / 4096`.
  block bigint primary key
);
-- When the events of a block were created. A checkpoint is created when it is sealed, other events some time before that, or long before if no
-- worker ran: so the two are told apart, or nearly every block would seem to have events of nearly every time.
create table audit_block_times (
  block bigint not null references audit_blocks,
  of_checkpoints boolean not null,
  earliest text not null,
  latest text not null,
  events bit(4096) not null,
  primary key (block, of_checkpoints)
);
create table audit_block_values (
  block bigint not null references audit_blocks,
  -- A column of `audit_events`, and what the events have in it. There is no row for nothing.
  field text not null,
  value text not null,
  -- The first bit is that of the lowest `seq`.
  events bit(4096) not null,
  primary key (block, field, value)
);

-- Like the events (AU-3): what was stored stays until a purge has deleted all events of the block.
create function audit_blocks_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if exists (select from audit_purges where (last_purged_seq + 1) / 4096 > old.block and writer = pg_current_xact_id()) then return old; end if;
  end if;
  raise exception 'the blocks of the audit log are append-only';
end $$;
create trigger audit_blocks_guard before update or delete on audit_blocks for each row execute function audit_blocks_guard();
create trigger audit_blocks_no_truncate before truncate on audit_blocks execute function audit_blocks_guard();
create trigger audit_block_times_guard before update or delete on audit_block_times for each row execute function audit_blocks_guard();
create trigger audit_block_times_no_truncate before truncate on audit_block_times execute function audit_blocks_guard();
create trigger audit_block_values_guard before update or delete on audit_block_values for each row execute function audit_blocks_guard();
create trigger audit_block_values_no_truncate before truncate on audit_block_values execute function audit_blocks_guard();

-- The blocks of the log as it is.
do $$
declare
  first bigint := (select coalesce(min(seq), 0) / 4096 from audit_events where seq is not null);
  beyond bigint := (select (coalesce(max(seq), 0) + 1) / 4096 from audit_events where seq is not null);
begin
  for each in first .. beyond - 1 loop
    insert into audit_blocks values (each);
    insert into audit_block_times
    select each, event_type = 'audit.signed_checkpoint', min(created_at), max(created_at), bit_or(set_bit(0::bit(4096), (seq % 4096)::integer, 1))
    from audit_events where seq >= each * 4096 and seq < (each + 1) * 4096 group by event_type = 'audit.signed_checkpoint';
    insert into audit_block_values
    select each, field, value, bit_or(set_bit(0::bit(4096), (seq % 4096)::integer, 1))
    from audit_events cross join lateral (
      values ('actor_id', actor_id), ('event_type', event_type), ('event_category', event_category), ('outcome', outcome),
        ('database_name', database_name), ('environment', environment), ('operation', operation)
    ) as has (field, value)
    where seq >= each * 4096 and seq < (each + 1) * 4096 and value is not null group by field, value;
  end loop;
end $$;

drop index audit_events_by_actor, audit_events_by_type, audit_events_by_category, audit_events_by_outcome, audit_events_by_operation,
  audit_events_by_environment, audit_events_by_database, audit_events_blocks;
