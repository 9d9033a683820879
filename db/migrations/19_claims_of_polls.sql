-- The instance whose poll claimed the execution (AG-81). Null: it was claimed by a call of its own.
alter table executions add column poll_instance text;
