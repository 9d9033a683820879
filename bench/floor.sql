-- The tables of the floor: what one read leaves behind, with the indexes that its own statements need and no others.
create table credentials (
  hash text primary key, subject text not null, kind text not null check (kind in ('caller', 'agent')),
  expires_at timestamptz not null
);
create table requests (
  id uuid primary key, version bigint not null, status text not null, fence int not null, requester text not null,
  database text not null, environment text not null, detail text not null, digest text not null,
  created_at timestamptz not null default clock_timestamp(), updated_at timestamptz not null default clock_timestamp()
);
create index requests_to_claim on requests (created_at) where status = 'dispatched';
create table executions (
  id uuid primary key, request_id uuid not null, fence int not null, agent text not null, claim_id uuid not null unique,
  status text not null, duration_ms int, lease_expires_at timestamptz not null, finished_at timestamptz,
  unique (request_id, fence)
);
create table results (
  execution_id uuid primary key, content text not null, sha256 text not null, expires_at timestamptz not null
);
create table audit_events (
  id bigint generated always as identity primary key, request_id uuid not null, event_type text not null, actor text not null,
  at timestamptz not null default clock_timestamp()
);
create table outbox (
  id bigint generated always as identity primary key, request_id uuid not null, version bigint not null, view jsonb not null
);
