import type { DeliveryStatus } from '../domain/notifications/attempt.js';
import type { Sent } from '../domain/notifications/redelivery.js';
import type { Queryable } from './client.js';
import { parameters } from './parameters.js';

export interface ListedDelivery {
  id: string;
  webhookId: string;
  eventType: string;
  requestId: string | null;
  status: DeliveryStatus;
  attempts: number;
  lastError: string | null;
  createdAt: number;
  nextRetryAt: number | null;
  finishedAt: number | null;
}

export interface DeliveryFilter {
  status?: DeliveryStatus | undefined;
  webhookId?: string | undefined;
  eventType?: string | undefined;
}

/** A page, newest first, and how many deliveries the filter matches (NT-61). */
export async function listDeliveries(
  db: Queryable,
  { status, webhookId, eventType }: DeliveryFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ deliveries: ListedDelivery[]; total: number }> {
  const p = parameters();
  const conditions = Object.entries({ status, webhook_id: webhookId, event_type: eventType })
    .filter(([, value]) => value !== undefined)
    .map(([column, value]) => `${column} = ${p.add(value)}`);
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  const filterValues = [...p.values];
  const page = db.query<ListedDelivery>(
    `select id, webhook_id as "webhookId", event_type as "eventType", request_id as "requestId", status, attempts, last_error as "lastError",
       created_at as "createdAt", next_retry_at as "nextRetryAt", finished_at as "finishedAt"
     from webhook_deliveries ${where} order by created_at desc, id desc limit ${p.add(limit)} offset ${p.add(offset)}`,
    p.values,
  );
  const counted = db.query<{ count: number }>(`select count(*) as count from webhook_deliveries ${where}`, filterValues);
  const [deliveries, [row]] = await Promise.all([page, counted]);
  return { deliveries, total: row?.count ?? 0 };
}

export type DeliveryCounts = Record<DeliveryStatus, number> & { lastDeliveredAt: number | null; lastError: string | null };

/** What became of a webhook's deliveries of the last seven days (NT-60). */
export async function countDeliveries(db: Queryable, webhookId: string): Promise<DeliveryCounts> {
  const [row] = await db.query<DeliveryCounts>(
    `select ${statuses.map((status) => `count(*) filter (where status = '${status}') as ${status}`).join(', ')},
       max(finished_at) filter (where status = 'delivered') as "lastDeliveredAt",
       (array_agg(last_error order by coalesce(attempt_started_at, created_at) desc) filter (where last_error is not null))[1] as "lastError"
     from webhook_deliveries where webhook_id = $1 and created_at > statement_timestamp() - interval '7 days'`,
    [webhookId],
  );
  if (row === undefined) throw new Error('an aggregate without a row');
  return row;
}

const statuses = ['pending', 'in_progress', 'delivered', 'dead', 'cancelled'] as const satisfies readonly DeliveryStatus[];

/** What a delivery sends again, with the pair of its request; undefined if it is unknown. */
export async function findSent(db: Queryable, id: string): Promise<Sent | undefined> {
  const [row] = await db.query<Omit<Sent, 'pair'> & { database: string | null; environment: string | null }>(
    `select d.webhook_id as "webhookId", d.event_type as "eventType", d.request_id as "requestId", d.body, d.finished_at is null as open,
       r.database, r.environment
     from webhook_deliveries d left join requests r on r.id = d.request_id where d.id = $1`,
    [id],
  );
  if (row === undefined) return undefined;
  const { database, environment, ...sent } = row;
  return { ...sent, pair: database === null || environment === null ? null : { database, environment } };
}
