import { findFullBlock, storeBlock } from '../db/audit-blocks.js';
import { sleep } from '../lib/sleep.js';
import { openAuditKeys } from '../runtime/audit-keys.js';
import { sealBatch } from '../worker/seal-batch.js';
import { asGateway } from './own-database.js';
import type { BenchSystem } from './system.js';

const perStatement = 50_000;
const perBatch = 5000;

/**
 * Stores audit events as if reads had been made in the last 80 days, four events each: by three users in five databases, one in ten failed. They are
 * sealed and stored in blocks as by a worker, but without its pauses. The worker must be stopped.
 */
export async function storeAuditEvents(system: BenchSystem, count: number): Promise<void> {
  await asGateway(system, async ({ database, secretKey }) => {
    const keys = await openAuditKeys({ database, secretKey, publicKeys: [] });
    for (let from = 0; from < count; from += perStatement) {
      await system.database.query(write, [from, Math.min(from + perStatement, count), count]);
      for (let left = true; left; ) {
        const outcome = await database.transaction((tx) => sealBatch(tx, keys, { origin: 'svc', isAnchored: false }, perBatch));
        if (outcome.kind === 'stopped') throw new Error(outcome.reason);
        if (outcome.kind === 'busy') await sleep(50);
        left = outcome.kind === 'busy' || outcome.sealed > 0;
      }
    }
    for (let block = await findFullBlock(database); block !== null; block = await findFullBlock(database))
      await storeBlock(database, block);
  });
  await system.database.query('vacuum analyze audit_events');
}

const write = `
  insert into audit_events (id, event_type, event_category, outcome, actor_id, actor_type, resource_type, resource_id, peer_ip, client_ip,
    client_ip_source, request_id, operation, database_name, environment, detail_fingerprint, detail_raw, metadata_json, created_at)
  select gen_random_uuid(), type, category, outcome, actor, actor_type, resource, case resource when 'request' then request else md5(request) end,
    '10.0.0.4', '198.51.100.7', 'xff', request::uuid, 'execute_select', 'shop-' || read % 5,
    case when read % 4 = 3 then 'production' else 'staging' end, detail, detail, metadata,
    to_char(now() at time zone 'UTC' - interval '80 days' * (1 - n / $3::float8) - interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
  from generate_series($1::bigint, $2::bigint - 1) n
  cross join lateral (select n / 4 as read, n % 4 as step, md5('request ' || n / 4)::uuid::text as request) place
  cross join lateral (
    select case step when 0 then 'request.auto_approved' when 1 then 'request.dispatched' when 2 then 'execution.started'
        else case when read % 10 = 7 then 'execution.failed' else 'execution.completed' end end as type,
      case when step < 2 then 'approval' else 'execution' end as category,
      case when step < 2 then 'request' else 'execution' end as resource,
      case when step = 3 and read % 10 = 7 then 'failure' else 'success' end as outcome,
      case when step < 2 then (array['alice', 'bob', 'carol'])[read % 3 + 1] else 'agent-1' end as actor,
      case when step < 2 then 'user' else 'agent' end as actor_type,
      case when step = 0 then 'SELECT o.id, o.total FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.region = ? AND o.created_at > ?' end as detail,
      case step
        when 0 then '{"channel":"api","emergency":false,"allow_ddl":false,"no_result_store":false,"share_with":[],"auth_token_id":"0d5cf0a1-7c8b-4b3a-9d63-5a1f0c2e4b71"}'
        when 1 then '{"fence":1,"auth_token_id":"0d5cf0a1-7c8b-4b3a-9d63-5a1f0c2e4b71"}'
        when 2 then '{"fence":1,"agent_id":"agent-1","auth_token_id":"5a6b7c8d-1111-4222-8333-944445555666"}'
        else case when read % 10 = 7 then '{"fence":1,"outcome":"rolled_back","duration_ms":12,"error_class":"42P01","auth_token_id":"5a6b7c8d-1111-4222-8333-944445555666"}'
          else '{"fence":1,"outcome":"committed","rows_affected":3,"duration_ms":12,"auth_token_id":"5a6b7c8d-1111-4222-8333-944445555666"}' end
      end as metadata
  ) event
  order by n`;
