-- Up Migration

alter table decisions
  -- The API token that the decision was made with; null for a sign-in (HD-50, HD-70).
  add column token_id uuid,
  add column mac text;

alter table requests
  -- What let it pass without approvals; null when its steps have to be fulfilled.
  add column passed_by text check (passed_by in ('policy', 'break_glass')),
  -- Codes under the secret key (HD-50): over what never changes, and over where it stands. Rows of an older version get theirs at the first start.
  add column request_mac text,
  add column state_mac text;

alter table config_generations add column mac text;

-- Which secret key the codes and the sealed keys are under. While they are put under another one, `former_check` is that of the one before.
create table secret_key (
  only_row boolean primary key default true check (only_row),
  key_check text not null,
  former_check text,
  changed_at timestamptz(3) not null default clock_timestamp()
);
