import type pg from 'pg';

const perStatement = 100_000;

/**
 * Stores requests as if they had been made in the last 80 days: three in ten by alice, one in twenty by bob, the rest by 200
 * others. Of the newest 2 % (more than a day) one in four waits for the DBA team; all others have ended.
 */
export async function storeRequests(database: pg.Pool, count: number): Promise<void> {
  for (let from = 0; from < count; from += perStatement)
    await database.query(text, [from, Math.min(from + perStatement, count), count]);
  await database.query('vacuum analyze requests');
}

/** Lets so many of the newest that have ended wait for the DBA team. */
export async function letWait(database: pg.Pool, count: number): Promise<void> {
  await database.query(
    `update requests set status = 'pending', step_selectors = '{group:dba-team}', open_selectors = '{group:dba-team}',
       expires_at = now() + interval '1 day', resolved_at = null
     where id in (select id from requests where status <> 'pending' order by created_at desc limit $1)`,
    [count],
  );
  // Few pages hold what has changed, so PostgreSQL would leave its old index entries in the way of the newest.
  await database.query('vacuum (analyze, index_cleanup on) requests');
}

/**
 * Stores copies of a request, one for each millisecond after it: `select 2`, `select 3` and so on up to `last`. Their codes do not fit, which a list does
 * not see; no decision about them is taken.
 */
export async function copyRequest(
  database: { query(text: string, values: unknown[]): Promise<unknown> },
  id: string,
  last: number,
): Promise<void> {
  await database.query(
    `insert into requests select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'detail', 'select ' || n,
       'created_at', r.created_at + n * interval '1 ms'))).* from requests r, generate_series(2, $2::int) as n where r.id = $1`,
    [id, last],
  );
}

const text = `
  insert into requests (id, status, requester, requester_role, database, environment, operation, dialect, detail, statement_type, risk_level, fingerprint,
    metadata, emergency, allow_ddl, no_result_store, share_with, share_selectors, workflow, step_selectors, open_selectors, policy_revision,
    approval_digest, decision_trace, redacted_detail, fence, created_at, updated_at, expires_at, resolved_at)
  select gen_random_uuid(), status, requester, 'requester', 'shop', environment, 'execute_select', 'postgresql', detail, 'SELECT', 'low', md5(detail),
    '{}', false, false, false, '{}', '{}', workflow, selectors, selectors, 'r1', md5(detail), '{"version":1}', detail,
    case when status = 'pending' then 0 else 1 end, at, at, case when status = 'pending' then now() + interval '1 day' end,
    case when status <> 'pending' then at end
  from (
    select n, case when n % 4 = 3 and n > $3 * 0.98 then 'pending' when n % 50 = 3 then 'failed' when n % 100 = 4 then 'rejected' else 'executed' end as status,
      case when n % 10 < 3 then 'alice' when n % 20 = 5 then 'bob' else 'user-' || n % 200 end as requester,
      case when n % 4 = 3 then 'production' else 'staging' end as environment,
      'select * from orders where id = ' || n as detail,
      now() - interval '80 days' * (1 - n / $3::float8) - interval '10 seconds' as at
    from generate_series($1::bigint, $2::bigint - 1) as n
  ) as made cross join lateral (
    select case when status = 'pending' then array['group:dba-team'] else '{}' end as selectors,
      jsonb_build_object('id', 'wf:shop:' || environment || ':e3b0c44298fc', 'steps',
        jsonb_build_array(jsonb_build_object('mode', 'all', 'approvers', jsonb_build_array(jsonb_build_object('selector', 'group:dba-team', 'min', 1))))) as workflow
  ) as policy`;
