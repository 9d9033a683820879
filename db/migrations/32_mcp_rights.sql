-- Up Migration

-- A digest of the rights with which a call was made: whoever has others may not read its stream.
alter table mcp_calls add column rights text;
