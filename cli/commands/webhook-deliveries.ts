import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { showValue } from '../output/details.js';
import { tableInstant } from '../output/instant.js';
import type { Answer } from '../output/output.js';
import { type Style, statusPainter } from '../output/style.js';
import { renderTable } from '../output/table.js';
import { totalOf } from '../output/total.js';

export interface DeliveriesOptions {
  status?: string;
  webhook?: string;
  event?: string;
  limit?: number;
  offset?: number;
}

/** `svc webhook deliveries`, newest first. */
export async function listDeliveries(context: Context, _: readonly string[], options: DeliveriesOptions): Promise<Answer> {
  const reply = await context.client().call({
    method: 'GET',
    path: ['api', 'webhook-deliveries'],
    query: {
      status: options.status,
      webhook_id: options.webhook,
      event_type: options.event,
      limit: options.limit,
      offset: options.offset,
    },
  });
  const page = reply.json();
  const { style } = context.output;
  const rows = (page.get('deliveries')?.items() ?? []).map((delivery) => rowOf(delivery, style));
  const spare = ['CREATED', 'REQUEST', 'NEXT ATTEMPT', 'WEBHOOK', 'ATTEMPTS'].map((name) => header.indexOf(name));
  const table = () => renderTable(header, rows, { style, whole: new Set([0]), spare, paintCell: statusPainter(style, rows, 1) });
  return {
    data: reply.text,
    human: () => (rows.length === 0 ? '' : table()),
    note: rows.length === 0 ? 'no deliveries' : `${rows.length} of ${totalOf(page) ?? rows.length} deliveries`,
  };
}

const header = ['ID', 'STATUS', 'WEBHOOK', 'EVENT', 'REQUEST', 'ATTEMPTS', 'CREATED', 'NEXT ATTEMPT', 'LAST ERROR'];

function rowOf(delivery: JsonText, style: Style): string[] {
  const text = (key: string) => showValue(delivery.get(key));
  return [
    text('id'),
    text('status'),
    text('webhook_id'),
    text('event_type'),
    text('request_id'),
    attemptsOf(delivery),
    tableInstant(text('created_at'), style),
    tableInstant(text('next_retry_at'), style),
    text('last_error'),
  ];
}

/** `3/10`. */
export const attemptsOf = (delivery: JsonText): string =>
  `${showValue(delivery.get('attempts'))}/${showValue(delivery.get('max_attempts'))}`;

/** `svc webhook redeliver`: prints the id of the new delivery. */
export async function redeliver(context: Context, args: readonly string[]): Promise<Answer> {
  const reply = await context.client().call({ method: 'POST', path: ['api', 'webhook-deliveries', args[0]!, 'redeliver'] });
  const id = newDelivery(context, reply.json());
  return { data: reply.text, human: () => `${visible(id)}\n`, note: 'svc webhook deliveries shows what becomes of it' };
}

/** The id in the answer to a call that makes a delivery. */
export function newDelivery({ what }: Context, answer: JsonText): string {
  const id = answer.get('delivery_id')?.string();
  if (id == null) throw failure('server_error', `${what}: the server answered without a delivery`);
  return id;
}
