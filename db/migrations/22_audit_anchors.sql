-- Up Migration

-- One row per signed checkpoint that an anchor outside is to be given (AU-87). `note` is the tree up to and including the checkpoint, signed
-- as it was sealed. Whoever reads it must check the signature.
create table audit_anchors (
  seq bigint primary key,
  event_hash text not null,
  note text not null,
  state text not null default 'waiting' check (state in ('waiting', 'anchored', 'covered')),
  created_at timestamptz not null default clock_timestamp(),
  -- When Temporal was last asked to start the workflow that this row is the oldest waiting one of.
  asked_at timestamptz,
  attempts integer not null default 0,
  last_error text,
  -- The later checkpoint that was anchored: its tree contains this one.
  covered_by bigint check (covered_by > seq),
  answer bytea check (octet_length(answer) <= 65536),
  answer_truncated boolean not null default false,
  answered_at timestamptz,
  check ((state = 'anchored') = (answer is not null) and (answer is null) = (answered_at is null)),
  check ((state = 'covered') = (covered_by is not null))
);
create index audit_anchors_waiting on audit_anchors (seq) where state = 'waiting';

-- What is to be anchored never changes, an answer is final, and a row goes with the event of its checkpoint only.
create function audit_anchors_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    if old.state <> 'anchored' and (new.seq, new.event_hash, new.note, new.created_at) = (old.seq, old.event_hash, old.note, old.created_at)
       and (new.state = old.state or new.state = 'anchored' or old.state = 'waiting') then return new; end if;
  elsif tg_op = 'DELETE' then
    if exists (select from audit_purges where last_purged_seq >= old.seq and writer = pg_current_xact_id()) then return old; end if;
  end if;
  raise exception 'the anchors of the audit log are append-only';
end $$;
create trigger audit_anchors_guard before update or delete on audit_anchors for each row execute function audit_anchors_guard();
create trigger audit_anchors_no_truncate before truncate on audit_anchors execute function audit_anchors_guard();
