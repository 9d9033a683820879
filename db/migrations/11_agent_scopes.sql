-- Up Migration

-- The pairs that an agent token may serve: `<database>/<environment>`, with `*` for any. Null = every pair, as for tokens older than this
-- column (HD-10).
alter table tokens add column agent_scopes text[] check (agent_scopes is null or (subject_type = 'agent' and cardinality(agent_scopes) > 0));

-- The token that claimed the execution. It may report the result whatever it may serve by then (HD-11). Null for executions older than this
-- column.
alter table executions add column token_id uuid;
