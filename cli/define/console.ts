import type { Command } from 'commander';
import type { Bind } from '../command.js';

export function defineConsole(program: Command, bind: Bind): void {
  const console = program
    .command('console')
    .description('open the web console in the browser, signed in')
    .option('--no-browser', 'print a link that signs in, instead of opening a browser');
  bind(console, async () => (await import('../commands/console.js')).openConsole);
}
