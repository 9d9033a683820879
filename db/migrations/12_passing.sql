-- Up Migration

alter table requests
  -- How many rows a write that passed by risk may change; null for all others (HD-25).
  add column max_affected_rows bigint check (max_affected_rows >= 0),
  -- The requester asked for the workflow's steps, even if risk would have let the request pass (HD-26).
  add column require_approval boolean not null default false;

-- Requests that passed by risk earlier and may run again get a limit too.
update requests set max_affected_rows = (workflow #>> '{autoApprove,maxEstimatedRows}')::bigint
where operation = 'execute_dml' and status not in ('pending', 'rejected', 'cancelled', 'expired') and (dispatch_by is null or dispatch_by > now())
  and decision_trace #> '{decision,reasons}' @> '["risk_below_threshold"]';
