-- Up Migration

-- Who made an account, issued a token, granted a role, a membership or a Slack link, with which token and when, and whom that goes back to (HD-70):
-- {"by", "token", "origins", "at"}. Null, or no entry of a role: from before this was recorded.
alter table users
  add column created_by jsonb,
  -- By the name of the direct role.
  add column role_grants jsonb not null default '{}',
  add column slack_linked_by jsonb;
alter table group_members add column granted_by jsonb;
alter table tokens add column issued_by jsonb;
