-- Up Migration

-- When a login through the identity provider was last put into the audit log: at most once an hour for each user (IM-37).
alter table users add column login_recorded_at timestamptz(3);
