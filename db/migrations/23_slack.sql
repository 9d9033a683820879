-- Up Migration

-- Signatures of Slack's calls that were accepted: each counts once (SL-12).
create table slack_signatures (
  signature bytea primary key,
  seen_at timestamptz(3) not null default clock_timestamp()
);
create index slack_signatures_seen on slack_signatures (seen_at);

-- People who asked in Slack for an account (SL-42).
create table slack_onboardings (
  id uuid primary key,
  slack_user_id text not null,
  display_name text not null,
  roles text[] not null,
  groups text[] not null,
  reason text not null,
  status text not null default 'pending' check (status in ('pending', 'approved', 'rejected', 'expired')),
  created_at timestamptz(3) not null default clock_timestamp(),
  expires_at timestamptz(3) not null,
  decided_at timestamptz(3),
  decided_by text,
  comment text,
  -- The user that the approval made.
  user_id text,
  -- Whether Temporal has been told what the row says: to wait for its end, or that it was decided.
  told boolean not null default false,
  taken_until timestamptz(3),
  check ((status = 'pending') = (decided_at is null)),
  check ((status = 'approved') = (user_id is not null))
);
create unique index slack_onboardings_pending on slack_onboardings (slack_user_id) where status = 'pending';
create index slack_onboardings_untold on slack_onboardings (created_at) where not told;
create index slack_onboardings_due on slack_onboardings (expires_at) where status = 'pending';

-- One message in a channel, which shows the state of a request or of an onboarding (SL-51, SL-52). `channel` is where it goes, as the
-- configuration names it, or the Slack id of a person; `channel_id` and `ts` are Slack's answer to its first posting (SL-63).
create table slack_cards (
  id uuid primary key,
  request_id uuid,
  onboarding_id uuid references slack_onboardings on delete cascade,
  channel text not null,
  channel_id text,
  ts text,
  -- How many changes the card is to show, and how many it shows.
  wanted bigint not null default 1,
  shown bigint not null default 0,
  -- Of the call that is being repeated.
  attempts integer not null default 0,
  failing_since timestamptz(3),
  next_attempt_at timestamptz(3) not null default clock_timestamp(),
  created_at timestamptz(3) not null default clock_timestamp(),
  told boolean not null default false,
  taken_until timestamptz(3),
  -- Written by a suspension, which may cancel thousands of requests: Temporal is told of it after everything else (OP-72).
  yields boolean not null default false,
  check ((request_id is null) <> (onboarding_id is null)),
  check ((channel_id is null) = (ts is null)),
  unique (request_id, channel),
  unique (onboarding_id, channel)
);
create index slack_cards_untold on slack_cards (yields, created_at) where not told;
-- The few of which Slack does not show the last change.
create index slack_cards_unshown on slack_cards (id) where shown < wanted;

-- What is still to be said in the threads of cards, in the order of the events. A row is deleted once it was said.
create table slack_lines (
  id bigint generated always as identity primary key,
  card_id uuid not null references slack_cards on delete cascade,
  -- What the line is made of: facts of the event, never SQL, results or a token (SL-I5).
  facts jsonb not null,
  created_at timestamptz(3) not null default clock_timestamp()
);
create index slack_lines_of_card on slack_lines (card_id, id);
alter table slack_signatures set (autovacuum_vacuum_scale_factor = 0.02);
alter table slack_cards set (autovacuum_vacuum_scale_factor = 0.02);
alter table slack_lines set (autovacuum_vacuum_scale_factor = 0.02);
