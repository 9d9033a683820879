-- Up Migration

-- The index of the unique key (request_id, fence) is read backwards for the newest execution; each run wrote both.
drop index executions_newest;
