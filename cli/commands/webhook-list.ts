import type { JsonText } from '../../lib/json/read.js';
import type { Context } from '../context.js';
import { renderDetails, showValue } from '../output/details.js';
import { type Answer, listAnswer } from '../output/output.js';
import { renderTable } from '../output/table.js';

/** `svc webhook list`: the webhooks of `server.toml`, in its order. */
export async function listWebhooks(context: Context): Promise<Answer> {
  const reply = await context.client().call({ method: 'GET', path: ['api', 'webhooks'] });
  const rows = (reply.json().get('webhooks')?.items() ?? []).map(rowOf);
  const how = { style: context.output.style, whole: new Set([0]), spare: [3, 4] };
  const table = () => renderTable(['ID', 'URL', 'EVENTS', 'FORMAT', 'SECRET'], rows, how);
  return listAnswer(reply.text, rows.length, 'webhooks', table);
}

function rowOf(webhook: JsonText): string[] {
  const text = (key: string) => showValue(webhook.get(key));
  // Each server shows the URL of its own file; another server's may have it.
  return [text('id'), text('url') || 'not in its file', text('events') || 'all', text('format'), text('secret') ? 'set' : 'none'];
}

const rows = [
  ['id', 'id'],
  ['url', 'url'],
  ['events', 'events'],
  ['format', 'format'],
  ['secret', 'secret'],
  ['since', 'created_at'],
] as const;

const counts = [
  ['pending', 'pending'],
  ['in progress', 'in_progress'],
  ['delivered', 'delivered'],
  ['dead', 'dead'],
  ['cancelled', 'cancelled'],
  ['last delivered', 'last_delivered_at'],
  ['last error', 'last_error'],
] as const;

/** `svc webhook show`: also what became of its deliveries. */
export async function showWebhook(context: Context, args: readonly string[]): Promise<Answer> {
  const reply = await context.client().call({ method: 'GET', path: ['api', 'webhooks', args[0]!] });
  const { style } = context.output;
  const human = () => {
    const webhook = reply.json();
    const deliveries = webhook.get('deliveries');
    const told = deliveries === undefined ? '' : renderDetails(deliveries, counts, style);
    return `${renderDetails(webhook, rows, style)}\n${style.bold('deliveries of the last 7 days')}\n${told}`;
  };
  return { data: reply.text, human };
}
