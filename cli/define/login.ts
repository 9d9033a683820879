import type { Command } from 'commander';
import type { Bind } from '../command.js';
import { positiveSeconds } from './values.js';

export function defineLogin(program: Command, bind: Bind): void {
  const login = program
    .command('login')
    .description('log in at the identity provider of [server.oidc]')
    .option('--device', 'by a code that you type in any browser, also of another machine')
    .option('--no-browser', 'only print the address to open; the browser must be of this machine')
    .option('--timeout <secs>', 'how long to wait for you; else 300, or as long as the code is good', positiveSeconds);
  bind(login, async () => (await import('../commands/login.js')).login);
  const logout = program
    .command('logout')
    .description('end the login here and at the provider')
    .option('--all', 'every login of this user, at whichever server');
  bind(logout, async () => (await import('../commands/logout.js')).logout);
}
