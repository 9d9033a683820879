-- Up Migration

-- How many calls of a window the servers have reserved (OP-31, OP-34). Unlogged: no window lasts longer than a minute.
create unlogged table rate_windows (
  key text primary key,
  ends_at timestamptz(3) not null,
  taken bigint not null
);
create index rate_windows_ends on rate_windows (ends_at);
