-- Up Migration

-- Who decided on a request keeps reading it, and lists it (RQ-8).
create index decisions_by_user on decisions (user_id, request_id);
