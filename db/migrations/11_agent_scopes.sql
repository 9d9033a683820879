-- Up Migration

-- The pairs an agent token may serve, `<database>/<environment>` with `*` for any; null = every pair, as of tokens older than this column (HD-10).
alter table tokens add column agent_scopes text[] check (agent_scopes is null or (subject_type = 'agent' and cardinality(agent_scopes) > 0));

-- The token that claimed the execution: it may tell how it went, whatever it may serve by then (HD-11). Null for those older than this column.
alter table executions add column token_id uuid;
