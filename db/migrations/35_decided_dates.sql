-- Up Migration

-- In a transaction of its own: the one that adds the column locks out everybody who reads decisions.
update decisions d set request_created_at = r.created_at from requests r where r.id = d.request_id;
create index decisions_in_order on decisions (user_id, request_created_at, request_id);
drop index decisions_by_user;
