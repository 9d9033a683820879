-- Up Migration

-- Codes that sign a browser in once (CO-33), by their hash, with what the session takes over.
create table console_codes (
  hash text primary key,
  user_id text not null,
  source jsonb not null,
  expires_at timestamptz(3) not null
);
create index console_codes_by_user on console_codes (user_id, expires_at);
