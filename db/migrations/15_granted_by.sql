-- Up Migration

-- Who created an account, issued a token, or granted a role, a membership or a Slack link: with which token, when, and from whom it
-- originates (HD-70), as {"by", "token", "origins", "at"}. Null, or no entry for a role: older than this column.
alter table users
  add column created_by jsonb,
  -- By name of the direct role.
  add column role_grants jsonb not null default '{}',
  add column slack_linked_by jsonb;
alter table group_members add column granted_by jsonb;
alter table tokens add column issued_by jsonb;
