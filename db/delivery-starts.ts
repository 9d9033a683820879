import { topic } from './notifications.js';
import { untoldRows } from './untold.js';

/** A delivery whose workflow is to be started, or told of its cancel. */
export interface UntoldDelivery {
  id: string;
  webhookId: string;
  eventType: string;
  cancelled: boolean;
  /** Told again and again for so long that its workflow, if it runs, does not go on. */
  stuck: boolean;
}

const stuckFor = `interval '10 minutes'`;

/** Oldest first. */
export const untoldDeliveries = untoldRows<UntoldDelivery>({
  name: 'webhook_deliveries',
  order: 'yields, created_at',
  columns: `d.webhook_id as "webhookId", d.event_type as "eventType", d.status = 'cancelled' as cancelled,
    coalesce(coalesce(d.next_retry_at, d.attempt_started_at) < clock_timestamp() - ${stuckFor}, false) as stuck`,
  state: `d.status = 'cancelled'`,
  overdue: `select id from webhook_deliveries where finished_at is null and told
    and coalesce(next_retry_at, attempt_started_at) < statement_timestamp() - $1::int * interval '1 millisecond'
    order by coalesce(next_retry_at, attempt_started_at) limit $2`,
  topic: topic.deliveries,
});
