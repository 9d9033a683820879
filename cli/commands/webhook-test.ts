import type { JsonText } from '../../lib/json/read.js';
import { sleep } from '../../lib/sleep.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { showValue } from '../output/details.js';
import { showInstant } from '../output/instant.js';
import type { Answer } from '../output/output.js';
import { attemptsOf, newDelivery } from './webhook-deliveries.js';

/** `svc webhook test`: prints the id of the delivery; with `--wait` also how it ended. */
export async function testWebhook(context: Context, args: readonly string[], options: { wait?: boolean }): Promise<Answer> {
  const webhook = args[0]!;
  const reply = await context.client().call({ method: 'POST', path: ['api', 'webhooks', webhook, 'test'] });
  const id = newDelivery(context, reply.json());
  if (options.wait !== true)
    return { data: reply.text, human: () => `${visible(id)}\n`, note: `svc webhook deliveries --webhook ${visible(webhook)}` };
  const delivery = await untilDelivered(context, webhook, id);
  return { data: delivery.text, human: () => `${visible(id)}\n`, note: `delivered, attempt ${attemptsOf(delivery)}` };
}

async function untilDelivered(context: Context, webhook: string, id: string): Promise<JsonText> {
  const { terminal, signal, what } = context;
  const endsAt = performance.now() + terminal.limits.deliveryMs;
  for (;;) {
    const delivery = await find(context, webhook, id);
    const status = delivery?.get('status')?.string();
    if (delivery !== undefined && status === 'delivered') return delivery;
    if (delivery !== undefined && (status === 'dead' || status === 'cancelled')) throw notDelivered(what, id, delivery);
    if (performance.now() >= endsAt) throw late(context, id, delivery);
    await sleep(terminal.limits.paceMs, signal);
    signal.throwIfAborted();
  }
}

/** No call shows a single delivery. A page is enough: so many tests of one webhook in 30 s are not made by people. */
async function find(context: Context, webhook: string, id: string): Promise<JsonText | undefined> {
  const query = { webhook_id: webhook, event_type: 'webhook.test', limit: 100 };
  const reply = await context.client().call({ method: 'GET', path: ['api', 'webhook-deliveries'], query });
  return (reply.json().get('deliveries')?.items() ?? []).find((one) => one.get('id')?.string() === id);
}

function notDelivered(what: string, id: string, delivery: JsonText): CommandFailure {
  const status = showValue(delivery.get('status'));
  return failure('not_delivered', `${what}: ${visible(id)} is ${[status, lastError(delivery)].filter(Boolean).join(': ')}`, {
    data: delivery.text,
    hint: status === 'dead' ? `svc webhook redeliver ${visible(id)}` : null,
  });
}

/** The delivery goes on: its attempts take hours. */
function late({ what, terminal }: Context, id: string, delivery: JsonText | undefined): CommandFailure {
  const secs = terminal.limits.deliveryMs / 1000;
  const state = delivery === undefined || lastError(delivery) === '' ? 'is a worker running?' : lastError(delivery);
  const next = delivery === undefined ? '' : showInstant(showValue(delivery.get('next_retry_at')));
  return new CommandFailure('timeout', `${what}: ${visible(id)} is not delivered within ${secs} s: ${state}`, {
    data: delivery?.text ?? JSON.stringify({ delivery_id: id }),
    hint: next === '' ? null : `the next attempt is due ${next}`,
  });
}

function lastError(delivery: JsonText): string {
  const error = showValue(delivery.get('last_error'));
  return error === '' ? '' : `${error} (attempt ${attemptsOf(delivery)})`;
}
