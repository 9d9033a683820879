-- Up Migration

alter table requests
  -- Rows that a write which passed by risk may change; null for all others (HD-25).
  add column max_affected_rows bigint check (max_affected_rows >= 0),
  -- The requester asked for the steps of the workflow, though it might have passed by itself (HD-26).
  add column require_approval boolean not null default false;

-- What passed by risk before and may run once more is bounded too.
update requests set max_affected_rows = (workflow #>> '{autoApprove,maxEstimatedRows}')::bigint
where operation = 'execute_dml' and status not in ('pending', 'rejected', 'cancelled', 'expired') and (dispatch_by is null or dispatch_by > now())
  and decision_trace #> '{decision,reasons}' @> '["risk_below_threshold"]';
