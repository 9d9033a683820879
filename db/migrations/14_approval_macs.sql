-- Up Migration

alter table decisions
  -- The API token that the decision was made with; null for a sign-in (HD-50, HD-70).
  add column token_id uuid;
