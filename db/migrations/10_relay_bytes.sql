-- Up Migration

-- Uncompressed bytes: readers take pieces of them. Reading a piece of text or of compressed bytes would cost everything before it.
alter table result_relay alter column envelope type bytea using convert_to(envelope, 'UTF8');
alter table result_relay alter column envelope set storage external;
