import { type Command, InvalidArgumentError } from 'commander';
import type { Bind } from '../command.js';

export function defineSlack(program: Command, bind: Bind): void {
  const slack = program.command('slack').description('set up the Slack app');
  const init = slack
    .command('init')
    .description('print a manifest for creating the Slack app, offline')
    .requiredOption('--server-url <url>', 'public address of the gateway: https://gate.example.com', httpsUrl)
    .option('--app-name <name>', 'name of the app, at most 35 characters', appName, 'Database Gateway')
    .option('--manifest-only', 'print only the manifest')
    .option('--open', 'open the Slack page for a new app, with the manifest filled in');
  bind(init, async () => (await import('../commands/slack-init.js')).initSlack);
}

/** Without a slash at its end. Slack calls no other addresses than those of https. */
function httpsUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'https:') throw new InvalidArgumentError('it must be an https address.');
  if (url.username !== '' || url.password !== '' || /[?#]/.test(text))
    throw new InvalidArgumentError('it must be an address without user, query and fragment.');
  return url.href.replace(/\/+$/, '');
}

function appName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > 35) throw new InvalidArgumentError('it must have 1 to 35 characters.');
  return name;
}
