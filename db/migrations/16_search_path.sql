-- Up Migration

-- The schemas by which the names of a text were resolved (HD-31); null: not known.
alter table requests add column search_path text[];
