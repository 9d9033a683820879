-- Up Migration

create table config_generations (
  number bigint generated always as identity primary key,
  digest text not null,
  content jsonb not null,
  created_at timestamptz(3) not null default clock_timestamp()
);

create table signing_keys (
  key_id text primary key,
  purpose text not null check (purpose in ('execution_token', 'audit')),
  public_key text not null,
  sealed_seed text not null,
  status text not null check (status in ('next', 'current', 'retiring', 'retired', 'revoked')),
  created_at timestamptz(3) not null default clock_timestamp(),
  activated_at timestamptz(3),
  not_after timestamptz(3)
);
create unique index signing_keys_one_current on signing_keys (purpose) where status = 'current';

create table users (
  id text primary key,
  display_name text,
  email text,
  roles text[] not null default '{}',
  status text not null default 'active' check (status in ('active', 'suspended', 'deleted')),
  source text not null check (source in ('api', 'oidc', 'slack', 'bootstrap')),
  slack_user_id text unique,
  last_seen_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp()
);

create table group_members (
  group_name text not null,
  user_id text not null references users (id),
  joined_at timestamptz(3) not null default clock_timestamp(),
  primary key (user_id, group_name)
);
create index group_members_by_group on group_members (group_name, joined_at);

create table tokens (
  id uuid primary key,
  subject_type text not null check (subject_type in ('user', 'agent')),
  subject_id text not null,
  token_hash text not null,
  token_prefix text not null,
  scope_ceiling text[],
  name text,
  provisioning_kind text check (provisioning_kind in ('initial', 'bootstrap')),
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp()
);
create index tokens_by_prefix on tokens (token_prefix);
create index tokens_by_subject on tokens (subject_type, subject_id);
create unique index tokens_one_initial on tokens (subject_type, subject_id) where provisioning_kind = 'initial' and revoked_at is null;

-- One row per change request. After creation, only db/move.ts writes to it. detail never changes (RQ-28).
create table requests (
  id uuid primary key,
  version bigint not null default 1,
  status text not null check (status in ('pending', 'approved', 'dispatched', 'running', 'executed', 'failed', 'rejected', 'cancelled', 'expired', 'execution_lost')),
  requester text not null,
  requester_role text not null,
  database text not null,
  environment text not null,
  operation text not null,
  dialect text,
  detail text not null,
  statement_type text not null,
  risk_level text not null,
  reason text,
  idempotency_key text,
  fingerprint text not null,
  metadata text not null,
  emergency boolean not null,
  allow_ddl boolean not null,
  no_result_store boolean not null,
  share_with text[] not null,
  share_selectors text[] not null,
  workflow jsonb,
  -- While pending: the selectors of the current step (who may see), and those that still need approvals (who may approve now).
  step_selectors text[] not null default '{}',
  open_selectors text[] not null default '{}',
  current_step integer not null default 0,
  policy_revision text not null,
  approval_digest text not null,
  decision_trace jsonb not null,
  redacted_detail text not null,
  fence integer not null default 0,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  expires_at timestamptz(3),
  approved_at timestamptz(3),
  dispatch_by timestamptz(3),
  dispatched_at timestamptz(3),
  dispatch_deadline timestamptz(3),
  resolved_at timestamptz(3),
  claimed_by text,
  cancel_requested_at timestamptz(3),
  cancelled_by text,
  cancel_reason text,
  cancelled_while_lost boolean not null default false,
  lost_reason text,
  failure_reason text
);
create unique index requests_by_key on requests (requester, idempotency_key) where idempotency_key is not null;
create index requests_newest on requests (created_at desc, id desc);
create index requests_by_requester on requests (requester, created_at desc, id desc);
create index requests_queue on requests (database, environment, dispatched_at, id) where status = 'dispatched';
create index requests_pending on requests using gin (step_selectors) where status = 'pending';
create index requests_awaiting on requests using gin (open_selectors) where status = 'pending';
create index requests_shared on requests using gin (share_selectors) where share_selectors <> '{}';
create index requests_moved on requests (updated_at);
-- Finds overdue requests without reading every open one (OP-73).
create index requests_expiring on requests (expires_at) where status = 'pending';
create index requests_lapsing on requests (dispatch_by) where status = 'approved';
create index requests_timing_out on requests (dispatch_deadline) where status = 'dispatched';
create index requests_open on requests (status) where status in ('pending', 'approved', 'dispatched', 'running');

create table decisions (
  id uuid primary key,
  request_id uuid not null references requests (id) on delete cascade,
  step integer not null,
  user_id text not null,
  action text not null check (action in ('approve', 'reject')),
  selector text not null,
  comment text,
  decided_at timestamptz(3) not null
);
create unique index decisions_one_approval on decisions (request_id, step, user_id) where action = 'approve';
create index decisions_by_request on decisions (request_id, decided_at);

-- One claim of a dispatch by one agent. A fence has at most one execution (AG-I2).
create table executions (
  id uuid primary key,
  request_id uuid not null references requests (id) on delete cascade,
  fence integer not null,
  agent_id text not null,
  claim_id uuid,
  claim_answer text not null,
  mutating boolean not null,
  marker text not null check (marker in ('required', 'none')),
  status text not null check (status in ('running', 'completed', 'failed')),
  lost boolean not null default false,
  -- True for a mutating attempt whose outcome is unknown (AG-57).
  unresolved boolean not null default false,
  lease_secs integer not null,
  -- The execution window of the policy in force at the claim (TT-3).
  window_secs integer not null,
  lease_expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  finished_at timestamptz(3),
  outcome text,
  applied_fence integer,
  rows_affected numeric,
  duration_ms bigint,
  truncated boolean,
  error_message text,
  success boolean,
  -- Where the data of the ended run is: stored, nowhere because there was none, or in the relay for a while (RS-43).
  result_kept text check (result_kept in ('object', 'empty', 'relay')),
  submission text,
  unique (request_id, fence)
);
create unique index executions_claim on executions (claim_id) where claim_id is not null;
create index executions_leases on executions (lease_expires_at) where status = 'running';
create index executions_newest on executions (request_id, fence desc);

create table results (
  execution_id uuid primary key references executions (id) on delete cascade,
  request_id uuid not null references requests (id) on delete cascade,
  backend text not null,
  object_key text not null,
  content_length bigint not null,
  sha256 text not null,
  -- Text that is not JSON is answered as a JSON string (RS-11).
  valid_json boolean not null,
  stored_at timestamptz(3) not null,
  retention_days integer not null,
  expires_at timestamptz(3) not null
);
create index results_newest on results (stored_at desc, execution_id);

-- Results that are not stored wait here for their readers (RS-45). Unlogged: excluded from backups, and a crash may lose them (RS-46).
create unlogged table result_relay (
  execution_id uuid primary key,
  request_id uuid not null,
  envelope text not null,
  expires_at timestamptz(3) not null
);
create index result_relay_expiry on result_relay (expires_at);

create table agents (
  id text primary key,
  scopes jsonb not null,
  operations text[] not null,
  features text[] not null,
  agent_version text,
  in_flight integer not null,
  max_concurrent integer not null,
  in_flight_preflight integer not null,
  draining boolean not null,
  uptime_secs bigint not null,
  active_jobs jsonb not null,
  key_id text,
  instance_id text,
  duplicate_until timestamptz(3),
  last_seen_at timestamptz(3) not null,
  created_at timestamptz(3) not null default clock_timestamp()
);

-- News for workflows, written with the change that it reports. The publisher deletes a row once Temporal has it.
create table outbox (
  id bigint generated always as identity primary key,
  request_id uuid not null,
  version bigint not null,
  signal text not null check (signal in ('approval', 'rejection', 'cancellation', 'resumption', 'completion', 'change')),
  actor text not null,
  step integer,
  view jsonb,
  starts boolean not null,
  lingers boolean not null,
  due_at timestamptz(3) not null,
  taken_until timestamptz(3),
  attempts integer not null default 0,
  error text,
  created_at timestamptz(3) not null default clock_timestamp()
);
create index outbox_by_request on outbox (request_id, version);
create index outbox_due on outbox (due_at);

create table workers (
  identity text primary key,
  task_queue text not null,
  seen_at timestamptz(3) not null
);

-- Small facts that all processes share, such as the reconciler's last rounds.
create table background_state (
  name text primary key,
  content jsonb not null,
  updated_at timestamptz(3) not null default clock_timestamp()
);

create table audit_events (
  position bigint generated always as identity primary key,
  writer xid8 not null default pg_current_xact_id(),
  id uuid not null unique,
  event_type text not null,
  event_category text not null,
  event_version integer not null default 1,
  outcome text not null check (outcome in ('success', 'denied', 'failure', 'info')),
  actor_id text not null,
  actor_type text not null check (actor_type in ('user', 'agent', 'system')),
  resource_type text,
  resource_id text,
  peer_ip text,
  client_ip text,
  client_ip_source text,
  request_id uuid,
  operation text,
  database_name text,
  environment text,
  detail_fingerprint text,
  detail_raw text,
  reason text,
  metadata_json text not null default '{}',
  created_at text not null default to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
  seq bigint unique,
  prev_hash text unique,
  event_hash text
);
create index audit_events_by_request on audit_events (request_id, position) where request_id is not null;
create index audit_events_unsealed on audit_events (position) where seq is null;
create index audit_events_by_time on audit_events (created_at);

-- AU-3: an event is sealed once and never changed otherwise. A purge disables the guard for its own transaction.
create function audit_events_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.seq is null and new.seq is not null
     and to_jsonb(new) - '{seq,prev_hash,event_hash}'::text[] = to_jsonb(old) - '{seq,prev_hash,event_hash}'::text[] then
    return new;
  end if;
  raise exception 'audit events are append-only';
end $$;
create trigger audit_events_guard before update or delete on audit_events for each row execute function audit_events_guard();
create trigger audit_events_no_truncate before truncate on audit_events execute function audit_events_guard();
