-- Up Migration

-- 2 for an attempt whose marker carries its execution id and lies where only agents that announce this look for it (HD-41).
alter table executions add column marker_form smallint not null default 1 check (marker_form in (1, 2));
