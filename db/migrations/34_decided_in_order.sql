-- Up Migration

-- What somebody has decided on is listed newest first, so a decision knows when its request was made (RQ-8).
alter table decisions add column request_created_at timestamptz(3);

-- By a trigger, so that processes of an earlier version may go on deciding.
create function date_decision() returns trigger language plpgsql as $$
begin
  new.request_created_at := (select created_at from requests where id = new.request_id);
  return new;
end $$;
create trigger decisions_dated before insert on decisions for each row execute function date_decision();
