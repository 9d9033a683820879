-- Up Migration

-- What approvers see with a request, as of its creation. Its jobs tell whether its plans are there (RQ-42, AG-69).
create table request_contexts (
  request_id uuid primary key references requests (id) on delete cascade,
  tables jsonb,
  sql_review jsonb,
  risk jsonb,
  schema_snapshot_collected_at timestamptz(3)
);

-- One statement of a request that an agent is asked to explain (AG-65). The plan is stored as the agent sent it.
create table dry_run_jobs (
  id uuid primary key default gen_random_uuid(),
  request_id uuid not null references requests (id) on delete cascade,
  statement_index integer not null,
  database text not null,
  environment text not null,
  sql text not null,
  state text not null default 'pending' check (state in ('pending', 'claimed', 'completed', 'failed')),
  agent_id text,
  claim_token uuid,
  claimed_at timestamptz(3),
  claims integer not null default 0,
  plan text,
  error text,
  created_at timestamptz(3) not null,
  unique (request_id, statement_index)
);
create index dry_run_jobs_pending on dry_run_jobs (database, environment, created_at, request_id, statement_index) where state = 'pending';
create index dry_run_jobs_claimed on dry_run_jobs (claimed_at) where state = 'claimed';

-- A preflight call waits for each of these. Unlogged: no such call outlives a crash of Postgres.
create unlogged table preflight_jobs (
  id uuid primary key default gen_random_uuid(),
  user_id text not null,
  database text not null,
  environment text not null,
  sql text not null,
  state text not null default 'pending' check (state in ('pending', 'claimed', 'completed', 'error', 'expired')),
  timeout_ms integer not null,
  agent_id text,
  claim_token uuid,
  plan text,
  created_at timestamptz(3) not null default clock_timestamp(),
  expires_at timestamptz(3) not null
);
create index preflight_jobs_pending on preflight_jobs (database, environment, created_at, id) where state = 'pending';
create index preflight_jobs_open on preflight_jobs (user_id) where state in ('pending', 'claimed');
create index preflight_jobs_expiry on preflight_jobs (expires_at);
