import { type Command, InvalidArgumentError, Option } from 'commander';
import type { DeliveryStatus } from '../../domain/notifications/attempt.js';
import type { Bind } from '../command.js';
import { positiveNumber, wholeNumber } from './values.js';

const statuses: readonly DeliveryStatus[] = ['pending', 'in_progress', 'delivered', 'dead', 'cancelled'];

export function defineWebhook(program: Command, bind: Bind): void {
  const webhook = program.command('webhook').description('webhooks of server.toml and their deliveries');
  const list = webhook.command('list').description('the webhooks, in the order of the file');
  bind(list, async () => (await import('../commands/webhook-list.js')).listWebhooks);
  const show = webhook
    .command('show')
    .description('one webhook, and what became of its deliveries of the last 7 days')
    .argument('<id>', 'webhook id');
  bind(show, async () => (await import('../commands/webhook-list.js')).showWebhook);
  const test = webhook
    .command('test')
    .description('send the event webhook.test')
    .argument('<id>', 'webhook id')
    .option('--wait', 'until it is delivered, 30 s at most');
  bind(test, async () => (await import('../commands/webhook-test.js')).testWebhook);
  defineDeliveries(webhook, bind);
  defineListen(webhook, bind);
}

function defineDeliveries(webhook: Command, bind: Bind): void {
  const deliveries = webhook
    .command('deliveries')
    .description('deliveries, newest first')
    .addOption(new Option('--status <status>', 'only these').choices([...statuses]))
    .option('--webhook <id>', 'to this webhook')
    .option('--event <name>', 'of this event: step.approved')
    .option('--limit <n>', 'how many', wholeNumber)
    .option('--offset <n>', 'how many to skip', wholeNumber);
  bind(deliveries, async () => (await import('../commands/webhook-deliveries.js')).listDeliveries);
  const redeliver = webhook
    .command('redeliver')
    .description('send an ended delivery again, as a new one with the same body')
    .argument('<delivery>', 'delivery id: wd-…');
  bind(redeliver, async () => (await import('../commands/webhook-deliveries.js')).redeliver);
}

function defineListen(webhook: Command, bind: Bind): void {
  const listen = webhook
    .command('listen')
    .description('receive deliveries on this machine, check their signatures and print them; asks no server')
    .option('--port <n>', 'of 127.0.0.1; 0: any that is free; default: 9099', port)
    .option('--secret-env <name>', 'the variable that holds the secret; default: SVC_HOOK_SECRET')
    .option('--secret-file <path>', 'the file that holds the secret')
    .option('--count <n>', 'end after so many deliveries', positiveNumber);
  bind(listen, async () => (await import('../commands/webhook-listen.js')).listenForWebhooks);
}

function port(text: string): number {
  const value = wholeNumber(text);
  if (value > 65_535) throw new InvalidArgumentError('it must be at most 65535.');
  return value;
}
