import type { Command } from 'commander';
import type { Bind } from '../command.js';
import { positiveSeconds } from './values.js';

export function defineLogin(program: Command, bind: Bind): void {
  const login = program
    .command('login')
    .description('log in with the identity provider in [server.oidc]')
    .option('--device', 'log in with a code that you enter in any browser, on any machine')
    .option('--no-browser', 'print the address instead of opening a browser; open it on this machine')
    .option('--timeout <secs>', 'how long to wait (default: 300, or until the code expires)', positiveSeconds);
  bind(login, async () => (await import('../commands/login.js')).login);
  const logout = program
    .command('logout')
    .description('log out here and at the provider')
    .option('--all', 'log out of every server');
  bind(logout, async () => (await import('../commands/logout.js')).logout);
}
