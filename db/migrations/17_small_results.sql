-- Up Migration

-- The data of a small result is in its row, and is then no object of a store (RS-63).
alter table results alter column object_key drop not null, add column data bytea;
-- Uncompressed: compression would take CPU while the request is locked, to save at most 64 KiB for a month.
alter table results alter column data set storage external;
alter table results add constraint results_place
  check ((object_key is null) = (data is not null) and (backend = 'database') = (data is not null));
