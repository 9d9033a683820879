-- Up Migration

-- The schemas that resolved the names in a text (HD-31); null = unknown.
alter table requests add column search_path text[];
