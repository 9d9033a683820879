-- Up Migration

-- Sessions of MCP clients (MC-20). What a client says of itself is shown, never trusted.
create table mcp_sessions (
  id uuid primary key,
  subject_id text not null,
  protocol_version text not null,
  client text not null,
  -- Whether the client can ask its user for a reason (MC-30).
  elicits boolean not null,
  active boolean not null default false,
  next_elicitation integer not null default 0,
  created_at timestamptz(3) not null default clock_timestamp(),
  last_used_at timestamptz(3) not null default clock_timestamp()
);
create index mcp_sessions_used on mcp_sessions (last_used_at);
create index mcp_sessions_of_subject on mcp_sessions (subject_id);

-- Calls of a session that are being answered, and for a while the streams that were.
create table mcp_calls (
  id uuid primary key,
  session_id uuid not null references mcp_sessions on delete cascade,
  -- The id of the JSON-RPC request as JSON text, so that `1` and `"1"` differ.
  rpc_id text not null,
  streams boolean not null,
  last_seq integer not null default 0,
  bytes bigint not null default 0,
  -- A sign of life of the process that works on it (MC-24).
  alive_at timestamptz(3) not null default clock_timestamp(),
  ended_at timestamptz(3)
);
create unique index mcp_calls_in_flight on mcp_calls (session_id, rpc_id) where ended_at is null;
create index mcp_calls_of_session on mcp_calls (session_id, ended_at);
create index mcp_calls_alive on mcp_calls (alive_at) where ended_at is null;
create index mcp_calls_ended on mcp_calls (ended_at) where ended_at is not null;

-- What a stream has said, for who comes back to it (MC-23).
-- Unlogged, as the relay of results is: an answer may hold rows that must not reach backups.
create unlogged table mcp_events (
  call_id uuid not null references mcp_calls on delete cascade,
  seq integer not null,
  message text not null,
  primary key (call_id, seq)
);

-- Questions to a client's user. The first answer counts (MC-31).
create table mcp_elicitations (
  session_id uuid not null references mcp_sessions on delete cascade,
  number integer not null,
  call_id uuid not null references mcp_calls on delete cascade,
  action text check (action in ('accept', 'decline', 'cancel')),
  reason text,
  primary key (session_id, number)
);
create index mcp_elicitations_of_call on mcp_elicitations (call_id);
alter table mcp_sessions set (autovacuum_vacuum_scale_factor = 0.02);
alter table mcp_calls set (autovacuum_vacuum_scale_factor = 0.02);
alter table mcp_events set (autovacuum_vacuum_scale_factor = 0.02);
