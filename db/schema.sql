-- The tables of the gateway's own PostgreSQL after all of db/migrations, for readers; the migrations make them.
-- test/db/schema.test.ts writes this file: npx vitest run test/db/schema.test.ts -u

set check_function_bodies = off;

CREATE OR REPLACE FUNCTION audit_anchors_guard()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'UPDATE' then
    if old.state <> 'anchored' and (new.seq, new.event_hash, new.note, new.created_at) = (old.seq, old.event_hash, old.note, old.created_at)
       and (new.state = old.state or new.state = 'anchored' or old.state = 'waiting') then return new; end if;
  elsif tg_op = 'DELETE' then
    if exists (select from audit_purges where last_purged_seq >= old.seq and writer = pg_current_xact_id()) then return old; end if;
  end if;
  raise exception 'the anchors of the audit log are append-only';
end $function$;

CREATE OR REPLACE FUNCTION audit_blocks_guard()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'DELETE' then
    if exists (select from audit_purges where (last_purged_seq + 1) / 4096 > old.block and writer = pg_current_xact_id()) then return old; end if;
  end if;
  raise exception 'the blocks of the audit log are append-only';
end $function$;

CREATE OR REPLACE FUNCTION audit_events_guard()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  sealed audit_events;
begin
  if tg_op = 'UPDATE' then
    if old.seq is null and new.event_hash is not null and (new.prev_hash is null) = (new.seq = 1) then
      sealed := new;
      sealed.seq := null;
      sealed.prev_hash := null;
      sealed.event_hash := null;
      if sealed *= old then return new; end if;
    end if;
  elsif tg_op = 'DELETE' then
    if exists (select from audit_purges where last_purged_seq >= old.seq and writer = pg_current_xact_id()) then return old; end if;
  end if;
  raise exception 'audit events are append-only';
end $function$;

CREATE OR REPLACE FUNCTION audit_purges_guard()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the record of a purge is append-only';
end $function$;

CREATE OR REPLACE FUNCTION audit_tiles_guard()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'UPDATE' then
    if new.level = old.level and new.index = old.index and new.width > old.width
       and substring(new.hashes for old.width * 32) = old.hashes then return new; end if;
  end if;
  raise exception 'the hashes of the audit log are append-only';
end $function$;

CREATE OR REPLACE FUNCTION date_decision()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.request_created_at := (select created_at from requests where id = new.request_id);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION note_request_rewrite()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update request_rewrites set number = number + 1;
  return null;
end $function$;

create table agents (
  id text not null,
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
  duplicate_until timestamp(3) with time zone,
  last_seen_at timestamp(3) with time zone not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint agents_pkey PRIMARY KEY (id)
);

create table audit_anchors (
  seq bigint not null,
  event_hash text not null,
  note text not null,
  state text default 'waiting'::text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  asked_at timestamp with time zone,
  attempts integer default 0 not null,
  last_error text,
  covered_by bigint,
  answer bytea,
  answer_truncated boolean default false not null,
  answered_at timestamp with time zone,
  constraint audit_anchors_pkey PRIMARY KEY (seq),
  constraint audit_anchors_answer_check CHECK ((octet_length(answer) <= 65536)),
  constraint audit_anchors_check CHECK ((covered_by > seq)),
  constraint audit_anchors_check1 CHECK ((((state = 'anchored'::text) = (answer IS NOT NULL)) AND ((answer IS NULL) = (answered_at IS NULL)))),
  constraint audit_anchors_check2 CHECK (((state = 'covered'::text) = (covered_by IS NOT NULL))),
  constraint audit_anchors_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'anchored'::text, 'covered'::text])))
);
CREATE INDEX audit_anchors_waiting ON audit_anchors (seq) WHERE (state = 'waiting'::text);

create table audit_block_times (
  block bigint not null,
  of_checkpoints boolean not null,
  earliest text not null,
  latest text not null,
  events bit(4096) not null,
  constraint audit_block_times_pkey PRIMARY KEY (block, of_checkpoints)
);

create table audit_block_values (
  block bigint not null,
  field text not null,
  value text not null,
  events bit(4096) not null,
  constraint audit_block_values_pkey PRIMARY KEY (block, field, value)
);

create table audit_blocks (
  block bigint not null,
  constraint audit_blocks_pkey PRIMARY KEY (block)
);

create table audit_events (
  "position" bigint generated always as identity,
  id uuid not null,
  event_type text not null,
  event_category text not null,
  event_version integer default 1 not null,
  outcome text not null,
  actor_id text not null,
  actor_type text not null,
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
  metadata_json text default '{}'::text not null,
  created_at text default to_char((clock_timestamp() AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) not null,
  seq bigint,
  prev_hash text,
  event_hash text,
  constraint audit_events_pkey PRIMARY KEY ("position"),
  constraint audit_events_id_key UNIQUE (id),
  constraint audit_events_actor_type_check CHECK ((actor_type = ANY (ARRAY['user'::text, 'agent'::text, 'system'::text]))),
  constraint audit_events_outcome_check CHECK ((outcome = ANY (ARRAY['success'::text, 'denied'::text, 'failure'::text, 'info'::text])))
) with (autovacuum_vacuum_scale_factor=0.02, vacuum_index_cleanup=on);
CREATE INDEX audit_events_by_request ON audit_events (request_id, "position") WHERE (request_id IS NOT NULL);
CREATE INDEX audit_events_checkpoints ON audit_events (seq) WHERE (event_type = 'audit.signed_checkpoint'::text);
CREATE UNIQUE INDEX audit_events_prev_hash ON audit_events (prev_hash) WHERE (prev_hash IS NOT NULL);
CREATE UNIQUE INDEX audit_events_seq ON audit_events (seq) WHERE (seq IS NOT NULL);
CREATE INDEX audit_events_unsealed ON audit_events ("position") WHERE (seq IS NULL);

create table audit_head (
  only_row boolean default true not null,
  seq bigint not null,
  event_hash text not null,
  sealed_at text not null,
  key_id text not null,
  signature text not null,
  tree_root text not null,
  tree_signature text not null,
  constraint audit_head_pkey PRIMARY KEY (only_row),
  constraint audit_head_only_row_check CHECK (only_row),
  constraint audit_head_seq_check CHECK ((seq > 0))
);

create table audit_purges (
  last_purged_seq bigint not null,
  last_purged_hash text not null,
  purged_before text not null,
  retained_count bigint not null,
  key_id text not null,
  signature text not null,
  writer xid8 default pg_current_xact_id() not null,
  constraint audit_purges_pkey PRIMARY KEY (last_purged_seq),
  constraint audit_purges_last_purged_hash_key UNIQUE (last_purged_hash)
);

create table audit_tiles (
  level smallint not null,
  index bigint not null,
  width smallint not null,
  hashes bytea not null,
  constraint audit_tiles_pkey PRIMARY KEY (level, index),
  constraint audit_tiles_check CHECK ((octet_length(hashes) = (width * 32))),
  constraint audit_tiles_width_check CHECK (((width >= 1) AND (width <= 256)))
);
alter table audit_tiles alter column hashes set storage external;

create table background_state (
  name text not null,
  content jsonb not null,
  updated_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint background_state_pkey PRIMARY KEY (name)
);

create table config_generations (
  number bigint generated always as identity,
  digest text not null,
  content jsonb not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  mac text,
  constraint config_generations_pkey PRIMARY KEY (number)
);

create table console_codes (
  hash text not null,
  user_id text not null,
  source jsonb not null,
  expires_at timestamp(3) with time zone not null,
  constraint console_codes_pkey PRIMARY KEY (hash)
);
CREATE INDEX console_codes_by_user ON console_codes (user_id, expires_at);

create table decisions (
  id uuid not null,
  request_id uuid not null,
  step integer not null,
  user_id text not null,
  action text not null,
  selector text not null,
  comment text,
  decided_at timestamp(3) with time zone not null,
  token_id uuid,
  mac text,
  request_created_at timestamp(3) with time zone,
  constraint decisions_pkey PRIMARY KEY (id),
  constraint decisions_action_check CHECK ((action = ANY (ARRAY['approve'::text, 'reject'::text])))
);
CREATE INDEX decisions_by_request ON decisions (request_id, decided_at);
CREATE INDEX decisions_in_order ON decisions (user_id, request_created_at, request_id);
CREATE UNIQUE INDEX decisions_one_approval ON decisions (request_id, step, user_id) WHERE (action = 'approve'::text);

create table dry_run_jobs (
  id uuid default gen_random_uuid() not null,
  request_id uuid not null,
  statement_index integer not null,
  database text not null,
  environment text not null,
  sql text not null,
  state text default 'pending'::text not null,
  agent_id text,
  claim_token uuid,
  claimed_at timestamp(3) with time zone,
  claims integer default 0 not null,
  plan text,
  error text,
  created_at timestamp(3) with time zone not null,
  constraint dry_run_jobs_pkey PRIMARY KEY (id),
  constraint dry_run_jobs_request_id_statement_index_key UNIQUE (request_id, statement_index),
  constraint dry_run_jobs_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'claimed'::text, 'completed'::text, 'failed'::text])))
);
CREATE INDEX dry_run_jobs_claimed ON dry_run_jobs (claimed_at) WHERE (state = 'claimed'::text);
CREATE INDEX dry_run_jobs_pending ON dry_run_jobs (database, environment, created_at, request_id, statement_index) WHERE (state = 'pending'::text);

create table executions (
  id uuid not null,
  request_id uuid not null,
  fence integer not null,
  agent_id text not null,
  claim_id uuid,
  claim_answer text not null,
  mutating boolean not null,
  marker text not null,
  status text not null,
  lost boolean default false not null,
  unresolved boolean default false not null,
  lease_secs integer not null,
  window_secs integer not null,
  lease_expires_at timestamp(3) with time zone not null,
  created_at timestamp(3) with time zone not null,
  finished_at timestamp(3) with time zone,
  outcome text,
  applied_fence integer,
  rows_affected numeric,
  duration_ms bigint,
  truncated boolean,
  error_message text,
  success boolean,
  result_kept text,
  submission text,
  token_id uuid,
  marker_form smallint default 1 not null,
  poll_instance text,
  constraint executions_pkey PRIMARY KEY (id),
  constraint executions_request_id_fence_key UNIQUE (request_id, fence),
  constraint executions_marker_check CHECK ((marker = ANY (ARRAY['required'::text, 'none'::text]))),
  constraint executions_marker_form_check CHECK ((marker_form = ANY (ARRAY[1, 2]))),
  constraint executions_result_kept_check CHECK ((result_kept = ANY (ARRAY['object'::text, 'empty'::text, 'relay'::text]))),
  constraint executions_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text])))
);
CREATE UNIQUE INDEX executions_claim ON executions (claim_id) WHERE (claim_id IS NOT NULL);
CREATE INDEX executions_leases ON executions (lease_expires_at) WHERE (status = 'running'::text);

create table group_members (
  group_name text not null,
  user_id text not null,
  joined_at timestamp(3) with time zone default clock_timestamp() not null,
  granted_by jsonb,
  constraint group_members_pkey PRIMARY KEY (user_id, group_name)
);
CREATE INDEX group_members_by_group ON group_members (group_name, joined_at);

create table mcp_calls (
  id uuid not null,
  session_id uuid not null,
  rpc_id text not null,
  streams boolean not null,
  last_seq integer default 0 not null,
  bytes bigint default 0 not null,
  alive_at timestamp(3) with time zone default clock_timestamp() not null,
  ended_at timestamp(3) with time zone,
  rights text,
  constraint mcp_calls_pkey PRIMARY KEY (id)
) with (autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX mcp_calls_alive ON mcp_calls (alive_at) WHERE (ended_at IS NULL);
CREATE INDEX mcp_calls_ended ON mcp_calls (ended_at) WHERE (ended_at IS NOT NULL);
CREATE UNIQUE INDEX mcp_calls_in_flight ON mcp_calls (session_id, rpc_id) WHERE (ended_at IS NULL);
CREATE INDEX mcp_calls_of_session ON mcp_calls (session_id, ended_at);

create table mcp_elicitations (
  session_id uuid not null,
  number integer not null,
  call_id uuid not null,
  action text,
  reason text,
  constraint mcp_elicitations_pkey PRIMARY KEY (session_id, number),
  constraint mcp_elicitations_action_check CHECK ((action = ANY (ARRAY['accept'::text, 'decline'::text, 'cancel'::text])))
);
CREATE INDEX mcp_elicitations_of_call ON mcp_elicitations (call_id);

create unlogged table mcp_events (
  call_id uuid not null,
  seq integer not null,
  message text not null,
  constraint mcp_events_pkey PRIMARY KEY (call_id, seq)
) with (autovacuum_vacuum_scale_factor=0.02);

create table mcp_sessions (
  id uuid not null,
  subject_id text not null,
  protocol_version text not null,
  client text not null,
  elicits boolean not null,
  active boolean default false not null,
  next_elicitation integer default 0 not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  last_used_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint mcp_sessions_pkey PRIMARY KEY (id)
) with (autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX mcp_sessions_of_subject ON mcp_sessions (subject_id);
CREATE INDEX mcp_sessions_used ON mcp_sessions (last_used_at);

create table migration_pairs (
  database text not null,
  environment text not null,
  running uuid,
  running_since timestamp(3) with time zone,
  busy_ms bigint default 0 not null,
  constraint migration_pairs_pkey PRIMARY KEY (database, environment)
);

create table outbox (
  id bigint generated always as identity,
  request_id uuid not null,
  version bigint not null,
  signal text not null,
  actor text not null,
  step integer,
  view jsonb,
  starts boolean not null,
  lingers boolean not null,
  due_at timestamp(3) with time zone not null,
  taken_until timestamp(3) with time zone,
  attempts integer default 0 not null,
  error text,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  yields boolean default false not null,
  constraint outbox_pkey PRIMARY KEY (id),
  constraint outbox_signal_check CHECK ((signal = ANY (ARRAY['approval'::text, 'rejection'::text, 'cancellation'::text, 'resumption'::text, 'completion'::text, 'change'::text])))
);
CREATE INDEX outbox_by_request ON outbox (request_id, version);
CREATE INDEX outbox_pressing ON outbox (due_at) WHERE (NOT yields);
CREATE INDEX outbox_yielding ON outbox (due_at) WHERE yields;

create unlogged table preflight_jobs (
  id uuid default gen_random_uuid() not null,
  user_id text not null,
  database text not null,
  environment text not null,
  sql text not null,
  state text default 'pending'::text not null,
  timeout_ms integer not null,
  agent_id text,
  claim_token uuid,
  plan text,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  expires_at timestamp(3) with time zone not null,
  constraint preflight_jobs_pkey PRIMARY KEY (id),
  constraint preflight_jobs_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'claimed'::text, 'completed'::text, 'error'::text, 'expired'::text])))
);
CREATE INDEX preflight_jobs_expiry ON preflight_jobs (expires_at);
CREATE INDEX preflight_jobs_open ON preflight_jobs (user_id) WHERE (state = ANY (ARRAY['pending'::text, 'claimed'::text]));
CREATE INDEX preflight_jobs_pending ON preflight_jobs (database, environment, created_at, id) WHERE (state = 'pending'::text);

create unlogged table rate_windows (
  key text not null,
  ends_at timestamp(3) with time zone not null,
  taken bigint not null,
  constraint rate_windows_pkey PRIMARY KEY (key)
);
CREATE INDEX rate_windows_ends ON rate_windows (ends_at);

create table request_contexts (
  request_id uuid not null,
  tables jsonb,
  sql_review jsonb,
  risk jsonb,
  schema_snapshot_collected_at timestamp(3) with time zone,
  constraint request_contexts_pkey PRIMARY KEY (request_id)
);

create table request_rewrites (
  number bigint not null
);

create table requests (
  id uuid not null,
  version bigint default 1 not null,
  status text not null,
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
  step_selectors text[] default '{}'::text[] not null,
  open_selectors text[] default '{}'::text[] not null,
  current_step integer default 0 not null,
  policy_revision text not null,
  approval_digest text not null,
  decision_trace jsonb not null,
  redacted_detail text not null,
  fence integer default 0 not null,
  created_at timestamp(3) with time zone not null,
  updated_at timestamp(3) with time zone not null,
  expires_at timestamp(3) with time zone,
  approved_at timestamp(3) with time zone,
  dispatch_by timestamp(3) with time zone,
  dispatched_at timestamp(3) with time zone,
  dispatch_deadline timestamp(3) with time zone,
  resolved_at timestamp(3) with time zone,
  claimed_by text,
  cancel_requested_at timestamp(3) with time zone,
  cancelled_by text,
  cancel_reason text,
  cancelled_while_lost boolean default false not null,
  lost_reason text,
  failure_reason text,
  cancel_cause text,
  dispatch_busy_ms bigint default 0 not null,
  offered_fence integer,
  offered_at timestamp(3) with time zone,
  max_affected_rows bigint,
  require_approval boolean default false not null,
  passed_by text,
  request_mac text,
  state_mac text,
  search_path text[],
  constraint requests_pkey PRIMARY KEY (id),
  constraint requests_cancel_cause_check CHECK ((cancel_cause = ANY (ARRAY['requested'::text, 'user_suspended'::text, 'user_deleted'::text]))),
  constraint requests_max_affected_rows_check CHECK ((max_affected_rows >= 0)),
  constraint requests_passed_by_check CHECK ((passed_by = ANY (ARRAY['policy'::text, 'break_glass'::text]))),
  constraint requests_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'approved'::text, 'dispatched'::text, 'running'::text, 'executed'::text, 'failed'::text, 'rejected'::text, 'cancelled'::text, 'expired'::text, 'execution_lost'::text])))
);
CREATE INDEX requests_awaiting ON requests USING gin (open_selectors) WHERE (status = 'pending'::text);
CREATE UNIQUE INDEX requests_by_key ON requests (requester, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX requests_by_requester ON requests (requester, created_at, id) INCLUDE (database, environment, operation, status);
CREATE INDEX requests_by_status ON requests (status, created_at, id) INCLUDE (requester, database, environment, operation);
CREATE INDEX requests_expiring ON requests (expires_at) WHERE (status = 'pending'::text);
CREATE INDEX requests_in_line ON requests (database, environment, dispatched_at, id) WHERE ((status = 'dispatched'::text) AND (operation = ANY (ARRAY['migrate_up'::text, 'migrate_down'::text, 'migrate_repair'::text])));
CREATE INDEX requests_lapsing ON requests (dispatch_by) WHERE (status = 'approved'::text);
CREATE INDEX requests_moved ON requests (updated_at);
CREATE INDEX requests_newest ON requests (created_at, id) INCLUDE (requester, database, environment, operation, status);
CREATE INDEX requests_open_of_owner ON requests (requester, id) WHERE (status = ANY (ARRAY['pending'::text, 'approved'::text, 'dispatched'::text, 'running'::text, 'execution_lost'::text]));
CREATE INDEX requests_pending ON requests USING gin (step_selectors) WHERE (status = 'pending'::text);
CREATE INDEX requests_queue ON requests (database, environment, dispatched_at, id) WHERE (status = 'dispatched'::text);
CREATE INDEX requests_shared ON requests USING gin (share_selectors) WHERE (share_selectors <> '{}'::text[]);
CREATE INDEX requests_timing_out ON requests (dispatch_deadline) WHERE (status = 'dispatched'::text);

create unlogged table result_relay (
  execution_id uuid not null,
  request_id uuid not null,
  envelope bytea not null,
  expires_at timestamp(3) with time zone not null,
  constraint result_relay_pkey PRIMARY KEY (execution_id)
);
alter table result_relay alter column envelope set storage external;
CREATE INDEX result_relay_expiry ON result_relay (expires_at);

create table results (
  execution_id uuid not null,
  request_id uuid not null,
  backend text not null,
  object_key text,
  content_length bigint not null,
  sha256 text not null,
  valid_json boolean not null,
  stored_at timestamp(3) with time zone not null,
  retention_days integer not null,
  expires_at timestamp(3) with time zone not null,
  requester text not null,
  database text not null,
  environment text not null,
  share_selectors text[] not null,
  data bytea,
  constraint results_pkey PRIMARY KEY (execution_id),
  constraint results_place CHECK ((((object_key IS NULL) = (data IS NOT NULL)) AND ((backend = 'database'::text) = (data IS NOT NULL))))
);
alter table results alter column data set storage external;
CREATE INDEX results_by_pair ON results (database, environment, stored_at DESC, execution_id);
CREATE INDEX results_by_request ON results (request_id);
CREATE INDEX results_by_requester ON results (requester, stored_at DESC, execution_id);
CREATE INDEX results_expiry ON results (expires_at);
CREATE INDEX results_shared ON results USING gin (share_selectors) WHERE (share_selectors <> '{}'::text[]);

create table schema_snapshots (
  database text not null,
  environment text not null,
  dialect text,
  snapshot jsonb,
  collected_at timestamp(3) with time zone,
  last_status text not null,
  last_error text,
  synced_by text not null,
  synced_at timestamp(3) with time zone not null,
  constraint schema_snapshots_pkey PRIMARY KEY (database, environment),
  constraint schema_snapshots_check CHECK ((((snapshot IS NULL) = (collected_at IS NULL)) AND ((snapshot IS NULL) = (dialect IS NULL)))),
  constraint schema_snapshots_dialect_check CHECK ((dialect = ANY (ARRAY['postgresql'::text, 'mysql'::text]))),
  constraint schema_snapshots_last_status_check CHECK ((last_status = ANY (ARRAY['ready'::text, 'failed'::text, 'partial'::text])))
);

create table secret_key (
  only_row boolean default true not null,
  key_check text not null,
  former_check text,
  changed_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint secret_key_pkey PRIMARY KEY (only_row),
  constraint secret_key_only_row_check CHECK (only_row)
);

create table signing_keys (
  key_id text not null,
  purpose text not null,
  public_key text not null,
  sealed_seed text not null,
  status text not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  activated_at timestamp(3) with time zone,
  not_after timestamp(3) with time zone,
  activate_at timestamp(3) with time zone,
  overlap_secs integer,
  begin_signature text,
  constraint signing_keys_pkey PRIMARY KEY (key_id),
  constraint signing_keys_purpose_check CHECK ((purpose = ANY (ARRAY['execution_token'::text, 'audit'::text]))),
  constraint signing_keys_status_check CHECK ((status = ANY (ARRAY['next'::text, 'current'::text, 'retiring'::text, 'retired'::text, 'revoked'::text])))
);
CREATE UNIQUE INDEX signing_keys_one_current ON signing_keys (purpose) WHERE (status = 'current'::text);
CREATE UNIQUE INDEX signing_keys_one_next ON signing_keys (purpose) WHERE (status = 'next'::text);

create table slack_cards (
  id uuid not null,
  request_id uuid,
  onboarding_id uuid,
  channel text not null,
  channel_id text,
  ts text,
  wanted bigint default 1 not null,
  shown bigint default 0 not null,
  attempts integer default 0 not null,
  failing_since timestamp(3) with time zone,
  next_attempt_at timestamp(3) with time zone default clock_timestamp() not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  told boolean default false not null,
  taken_until timestamp(3) with time zone,
  yields boolean default false not null,
  constraint slack_cards_pkey PRIMARY KEY (id),
  constraint slack_cards_onboarding_id_channel_key UNIQUE (onboarding_id, channel),
  constraint slack_cards_request_id_channel_key UNIQUE (request_id, channel),
  constraint slack_cards_check CHECK (((request_id IS NULL) <> (onboarding_id IS NULL))),
  constraint slack_cards_check1 CHECK (((channel_id IS NULL) = (ts IS NULL)))
) with (autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX slack_cards_unshown ON slack_cards (id) WHERE (shown < wanted);
CREATE INDEX slack_cards_untold ON slack_cards (yields, created_at) WHERE (NOT told);

create table slack_lines (
  id bigint generated always as identity,
  card_id uuid not null,
  facts jsonb not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint slack_lines_pkey PRIMARY KEY (id)
) with (autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX slack_lines_of_card ON slack_lines (card_id, id);

create table slack_onboardings (
  id uuid not null,
  slack_user_id text not null,
  display_name text not null,
  roles text[] not null,
  groups text[] not null,
  reason text not null,
  status text default 'pending'::text not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  expires_at timestamp(3) with time zone not null,
  decided_at timestamp(3) with time zone,
  decided_by text,
  comment text,
  user_id text,
  told boolean default false not null,
  taken_until timestamp(3) with time zone,
  constraint slack_onboardings_pkey PRIMARY KEY (id),
  constraint slack_onboardings_check CHECK (((status = 'pending'::text) = (decided_at IS NULL))),
  constraint slack_onboardings_check1 CHECK (((status = 'approved'::text) = (user_id IS NOT NULL))),
  constraint slack_onboardings_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'approved'::text, 'rejected'::text, 'expired'::text])))
);
CREATE INDEX slack_onboardings_due ON slack_onboardings (expires_at) WHERE (status = 'pending'::text);
CREATE UNIQUE INDEX slack_onboardings_pending ON slack_onboardings (slack_user_id) WHERE (status = 'pending'::text);
CREATE INDEX slack_onboardings_untold ON slack_onboardings (created_at) WHERE (NOT told);

create table slack_signatures (
  signature bytea not null,
  seen_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint slack_signatures_pkey PRIMARY KEY (signature)
) with (autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX slack_signatures_seen ON slack_signatures (seen_at);

create table tokens (
  id uuid not null,
  subject_type text not null,
  subject_id text not null,
  token_hash text not null,
  token_prefix text not null,
  scope_ceiling text[],
  name text,
  provisioning_kind text,
  expires_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  agent_scopes text[],
  issued_by jsonb,
  parent_id uuid,
  provider_word jsonb,
  constraint tokens_pkey PRIMARY KEY (id),
  constraint tokens_check CHECK (((agent_scopes IS NULL) OR ((subject_type = 'agent'::text) AND (cardinality(agent_scopes) > 0)))),
  constraint tokens_provisioning_kind_check CHECK ((provisioning_kind = ANY (ARRAY['initial'::text, 'bootstrap'::text, 'console'::text]))),
  constraint tokens_subject_type_check CHECK ((subject_type = ANY (ARRAY['user'::text, 'agent'::text])))
);
CREATE INDEX tokens_by_parent ON tokens (parent_id) WHERE (parent_id IS NOT NULL);
CREATE INDEX tokens_by_prefix ON tokens (token_prefix);
CREATE INDEX tokens_by_subject ON tokens (subject_type, subject_id);
CREATE UNIQUE INDEX tokens_one_initial ON tokens (subject_type, subject_id) WHERE ((provisioning_kind = 'initial'::text) AND (revoked_at IS NULL));

create table users (
  id text not null,
  display_name text,
  email text,
  roles text[] default '{}'::text[] not null,
  status text default 'active'::text not null,
  source text not null,
  slack_user_id text,
  last_seen_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  updated_at timestamp(3) with time zone default clock_timestamp() not null,
  created_by jsonb,
  role_grants jsonb default '{}'::jsonb not null,
  slack_linked_by jsonb,
  login_recorded_at timestamp(3) with time zone,
  constraint users_pkey PRIMARY KEY (id),
  constraint users_slack_user_id_key UNIQUE (slack_user_id),
  constraint users_source_check CHECK ((source = ANY (ARRAY['api'::text, 'oidc'::text, 'slack'::text, 'bootstrap'::text]))),
  constraint users_status_check CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text, 'deleted'::text])))
);

create table webhook_deliveries (
  id uuid not null,
  webhook_id text not null,
  event_type text not null,
  request_id uuid,
  body text not null,
  status text default 'pending'::text not null,
  attempts smallint default 0 not null,
  last_error text,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  next_retry_at timestamp(3) with time zone default clock_timestamp(),
  attempt_started_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  told boolean default false not null,
  taken_until timestamp(3) with time zone,
  yields boolean default false not null,
  constraint webhook_deliveries_pkey PRIMARY KEY (id),
  constraint webhook_deliveries_attempts_check CHECK (((attempts >= 0) AND (attempts <= 10))),
  constraint webhook_deliveries_check CHECK (((status = 'pending'::text) = (next_retry_at IS NOT NULL))),
  constraint webhook_deliveries_check1 CHECK (((status = ANY (ARRAY['delivered'::text, 'dead'::text, 'cancelled'::text])) = (finished_at IS NOT NULL))),
  constraint webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'in_progress'::text, 'delivered'::text, 'dead'::text, 'cancelled'::text])))
) with (autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX webhook_deliveries_finished ON webhook_deliveries (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (created_at DESC, id DESC);
CREATE INDEX webhook_deliveries_of_webhook ON webhook_deliveries (webhook_id, created_at DESC, id DESC);
CREATE INDEX webhook_deliveries_open ON webhook_deliveries (webhook_id, status, next_retry_at) WHERE (finished_at IS NULL);
CREATE INDEX webhook_deliveries_untold ON webhook_deliveries (yields, created_at) WHERE (NOT told);

create table workers (
  identity text not null,
  task_queue text not null,
  seen_at timestamp(3) with time zone not null,
  constraint workers_pkey PRIMARY KEY (identity)
);

alter table audit_block_times add constraint audit_block_times_block_fkey FOREIGN KEY (block) REFERENCES audit_blocks(block);
alter table audit_block_values add constraint audit_block_values_block_fkey FOREIGN KEY (block) REFERENCES audit_blocks(block);
alter table decisions add constraint decisions_request_id_fkey FOREIGN KEY (request_id) REFERENCES requests(id) ON DELETE CASCADE;
alter table dry_run_jobs add constraint dry_run_jobs_request_id_fkey FOREIGN KEY (request_id) REFERENCES requests(id) ON DELETE CASCADE;
alter table executions add constraint executions_request_id_fkey FOREIGN KEY (request_id) REFERENCES requests(id) ON DELETE CASCADE;
alter table group_members add constraint group_members_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id);
alter table mcp_calls add constraint mcp_calls_session_id_fkey FOREIGN KEY (session_id) REFERENCES mcp_sessions(id) ON DELETE CASCADE;
alter table mcp_elicitations add constraint mcp_elicitations_call_id_fkey FOREIGN KEY (call_id) REFERENCES mcp_calls(id) ON DELETE CASCADE;
alter table mcp_elicitations add constraint mcp_elicitations_session_id_fkey FOREIGN KEY (session_id) REFERENCES mcp_sessions(id) ON DELETE CASCADE;
alter table mcp_events add constraint mcp_events_call_id_fkey FOREIGN KEY (call_id) REFERENCES mcp_calls(id) ON DELETE CASCADE;
alter table request_contexts add constraint request_contexts_request_id_fkey FOREIGN KEY (request_id) REFERENCES requests(id) ON DELETE CASCADE;
alter table results add constraint results_execution_id_fkey FOREIGN KEY (execution_id) REFERENCES executions(id) ON DELETE CASCADE;
alter table results add constraint results_request_id_fkey FOREIGN KEY (request_id) REFERENCES requests(id) ON DELETE CASCADE;
alter table slack_cards add constraint slack_cards_onboarding_id_fkey FOREIGN KEY (onboarding_id) REFERENCES slack_onboardings(id) ON DELETE CASCADE;
alter table slack_lines add constraint slack_lines_card_id_fkey FOREIGN KEY (card_id) REFERENCES slack_cards(id) ON DELETE CASCADE;
alter table tokens add constraint tokens_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES tokens(id) ON DELETE CASCADE;

CREATE TRIGGER audit_anchors_guard BEFORE DELETE OR UPDATE ON audit_anchors FOR EACH ROW EXECUTE FUNCTION audit_anchors_guard();
CREATE TRIGGER audit_anchors_no_truncate BEFORE TRUNCATE ON audit_anchors FOR EACH STATEMENT EXECUTE FUNCTION audit_anchors_guard();
CREATE TRIGGER audit_block_times_guard BEFORE DELETE OR UPDATE ON audit_block_times FOR EACH ROW EXECUTE FUNCTION audit_blocks_guard();
CREATE TRIGGER audit_block_times_no_truncate BEFORE TRUNCATE ON audit_block_times FOR EACH STATEMENT EXECUTE FUNCTION audit_blocks_guard();
CREATE TRIGGER audit_block_values_guard BEFORE DELETE OR UPDATE ON audit_block_values FOR EACH ROW EXECUTE FUNCTION audit_blocks_guard();
CREATE TRIGGER audit_block_values_no_truncate BEFORE TRUNCATE ON audit_block_values FOR EACH STATEMENT EXECUTE FUNCTION audit_blocks_guard();
CREATE TRIGGER audit_blocks_guard BEFORE DELETE OR UPDATE ON audit_blocks FOR EACH ROW EXECUTE FUNCTION audit_blocks_guard();
CREATE TRIGGER audit_blocks_no_truncate BEFORE TRUNCATE ON audit_blocks FOR EACH STATEMENT EXECUTE FUNCTION audit_blocks_guard();
CREATE TRIGGER audit_events_guard BEFORE DELETE OR UPDATE ON audit_events FOR EACH ROW EXECUTE FUNCTION audit_events_guard();
CREATE TRIGGER audit_events_no_truncate BEFORE TRUNCATE ON audit_events FOR EACH STATEMENT EXECUTE FUNCTION audit_events_guard();
CREATE TRIGGER audit_purges_guard BEFORE DELETE OR UPDATE ON audit_purges FOR EACH ROW EXECUTE FUNCTION audit_purges_guard();
CREATE TRIGGER audit_purges_no_truncate BEFORE TRUNCATE ON audit_purges FOR EACH STATEMENT EXECUTE FUNCTION audit_purges_guard();
CREATE TRIGGER audit_tiles_guard BEFORE DELETE OR UPDATE ON audit_tiles FOR EACH ROW EXECUTE FUNCTION audit_tiles_guard();
CREATE TRIGGER audit_tiles_no_truncate BEFORE TRUNCATE ON audit_tiles FOR EACH STATEMENT EXECUTE FUNCTION audit_tiles_guard();
CREATE TRIGGER decisions_dated BEFORE INSERT ON decisions FOR EACH ROW EXECUTE FUNCTION date_decision();
CREATE TRIGGER requests_rewritten AFTER DELETE OR UPDATE OF id, created_at, requester, database, environment, operation, share_selectors OR TRUNCATE ON requests FOR EACH STATEMENT EXECUTE FUNCTION note_request_rewrite();
