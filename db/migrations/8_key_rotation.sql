-- Up Migration

-- When a key published ahead becomes current, and how long its predecessor then still signs for agents that know no other (ET-25).
alter table signing_keys
  add column activate_at timestamptz(3),
  add column overlap_secs integer;
create unique index signing_keys_one_next on signing_keys (purpose) where status = 'next';
