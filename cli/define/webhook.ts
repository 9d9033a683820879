import { type Command, InvalidArgumentError, Option } from 'commander';
import type { DeliveryStatus } from '../../domain/notifications/attempt.js';
import { notificationEvents } from '../../domain/notifications/events.js';
import type { Bind } from '../command.js';
import { positiveNumber, wholeNumber } from './values.js';

const statuses: readonly DeliveryStatus[] = ['pending', 'in_progress', 'delivered', 'dead', 'cancelled'];

export function defineWebhook(program: Command, bind: Bind): void {
  const webhook = program.command('webhook').description('manage webhooks and their deliveries');
  const list = webhook.command('list').description('list webhooks');
  bind(list, async () => (await import('../commands/webhook-list.js')).listWebhooks);
  const show = webhook
    .command('show')
    .description('show a webhook and its deliveries of the last 7 days')
    .argument('<id>', 'webhook id');
  bind(show, async () => (await import('../commands/webhook-list.js')).showWebhook);
  const test = webhook
    .command('test')
    .description('send a test event (webhook.test)')
    .argument('<id>', 'webhook id')
    .option('--wait', 'wait until it is delivered, at most 30 s');
  bind(test, async () => (await import('../commands/webhook-test.js')).testWebhook);
  defineDeliveries(webhook, bind);
  defineListen(webhook, bind);
}

function defineDeliveries(webhook: Command, bind: Bind): void {
  const deliveries = webhook
    .command('deliveries')
    .description('list deliveries, newest first')
    .addOption(new Option('--status <status>', 'only this status').choices([...statuses]))
    .option('--webhook <id>', 'only deliveries to this webhook')
    .addOption(new Option('--event <name>', 'only this event, such as step.approved').choices(Object.keys(notificationEvents)))
    .option('--limit <n>', 'how many to show, at most 100 (default: 50)', wholeNumber)
    .option('--offset <n>', 'how many to skip', wholeNumber);
  bind(deliveries, async () => (await import('../commands/webhook-deliveries.js')).listDeliveries);
  const redeliver = webhook
    .command('redeliver')
    .description('send a finished delivery again')
    .argument('<delivery>', 'delivery id: wd-…');
  bind(redeliver, async () => (await import('../commands/webhook-deliveries.js')).redeliver);
}

function defineListen(webhook: Command, bind: Bind): void {
  const listen = webhook
    .command('listen')
    .description('receive deliveries on this machine, verify their signatures and print them')
    .option('--port <n>', 'port on 127.0.0.1; 0 for any free port (default: 9099)', port)
    .option('--secret-env <name>', 'environment variable with the secret (default: SVC_HOOK_SECRET)')
    .option('--secret-file <path>', 'file with the secret')
    .option('--count <n>', 'stop after this many deliveries', positiveNumber);
  bind(listen, async () => (await import('../commands/webhook-listen.js')).listenForWebhooks);
}

function port(text: string): number {
  const value = wholeNumber(text);
  if (value > 65_535) throw new InvalidArgumentError('it must be at most 65535.');
  return value;
}
