-- Up Migration

alter table decisions
  -- The API token that made the decision; null for a sign-in (HD-50, HD-70).
  add column token_id uuid,
  add column mac text;

alter table requests
  -- Why it passed without approvals; null if its steps must be fulfilled.
  add column passed_by text check (passed_by in ('policy', 'break_glass')),
  -- Codes under the secret key (HD-50): one over what never changes, one over the current state. Rows of an older version get theirs at the
  -- first start.
  add column request_mac text,
  add column state_mac text;

alter table config_generations add column mac text;

-- The secret key of the codes and the sealed keys. During a change of key, `former_check` is that of the previous key.
create table secret_key (
  only_row boolean primary key default true check (only_row),
  key_check text not null,
  former_check text,
  changed_at timestamptz(3) not null default clock_timestamp()
);
