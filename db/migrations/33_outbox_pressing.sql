-- Up Migration

-- Each look for news reads the oldest of it, and what yields may be thousands of rows.
create index outbox_pressing on outbox (due_at) where not yields;
drop index outbox_due;
