-- Up Migration

-- Bytes that are stored as they came: a reader takes pieces of them, and of text or of compressed bytes a piece costs all that lies before it.
alter table result_relay alter column envelope type bytea using convert_to(envelope, 'UTF8');
alter table result_relay alter column envelope set storage external;
