-- Up Migration

-- With the first audit key: its signature that lets a log begin, until the first event is sealed (AU-44).
alter table signing_keys add column begin_signature text;
