/** A valid credential of the caller whose token hashes to `$1`; each call reads it together with what it needs. */
const credential = (kind: 'caller' | 'agent') =>
  `credentials c where c.hash = $1 and c.kind = '${kind}' and c.expires_at > now()`;

/** The audit event and the news of a move, in the statement that moves and only if it did. Expects `moved (id, version, status)`. */
const recorded = (eventType: string, actor: string) => `
  audited as (insert into audit_events (request_id, event_type, actor) select id, '${eventType}', ${actor} from moved),
  told as (insert into outbox (request_id, version, view) select id, version, jsonb_build_object('status', status) from moved)`;

/** Moves a request if it is still as it was judged: with another version, nothing is written. */
const moved = (status: string) => `
  moved as (update requests set version = version + 1, status = '${status}', updated_at = clock_timestamp()
    where id = $1 and version = $2 returning id, version, status, fence)`;

/** One read and at most one write per call, each a named statement that a connection plans once. */
export const statements = {
  readCaller: `select c.subject from ${credential('caller')}`,
  create: `
    with moved as (insert into requests (id, version, status, fence, requester, database, environment, detail, digest)
      values ($1, 1, 'dispatched', 1, $2, $3, $4, $5, $6) returning id, version, status),
    ${recorded('request.dispatched', '$2')}
    select from moved`,
  readResult: `
    select c.subject, r.requester, e.id as execution_id, s.content
    from (select * from ${credential('caller')}) c
    left join requests r on r.id = $2
    left join executions e on e.request_id = r.id and e.fence = r.fence
    left join results s on s.execution_id = e.id`,
  readJobs: `
    select c.subject, array(select r.id from requests r where r.status = 'dispatched' order by r.created_at limit $2) as jobs
    from ${credential('agent')}`,
  readToClaim: `
    select c.subject, r.version, r.status, r.fence, r.database, r.environment, r.detail, r.digest
    from (select * from ${credential('agent')}) c left join requests r on r.id = $2`,
  claim: `
    with ${moved('running')}, ${recorded('execution.started', '$3')},
    claimed as (insert into executions (id, request_id, fence, agent, claim_id, status, lease_expires_at)
      select $4, id, fence, $3, $5, 'running', clock_timestamp() + interval '60 s' from moved)
    select from moved`,
  readToKeep: `
    select c.subject, e.agent, e.fence, r.id, r.version, r.status
    from (select * from ${credential('agent')}) c
    left join executions e on e.id = $2
    left join requests r on r.id = e.request_id and r.fence = e.fence`,
  keep: `
    with ${moved('executed')}, ${recorded('execution.completed', '$3')},
    ended as (update executions e set status = 'completed', duration_ms = $5, finished_at = clock_timestamp() from moved
      where e.id = $4),
    kept as (insert into results (execution_id, content, sha256, expires_at)
      select $4, $6, $7, clock_timestamp() + interval '30 days' from moved)
    select from moved`,
};
