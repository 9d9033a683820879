import type { Command } from 'commander';
import type { Bind } from '../command.js';
import { moreNames } from './values.js';

export function defineWhoami(program: Command, bind: Bind): void {
  const whoami = program.command('whoami').description('who the server says you are');
  bind(whoami, async () => (await import('../commands/whoami.js')).whoami);
}

export function defineIdentity(program: Command, bind: Bind): void {
  const user = program.command('user').description('users');
  defineUsers(user, bind);
  defineStatus(user, bind);
  const group = program.command('group').description('groups of the configuration');
  const list = group.command('list').description('their names');
  bind(list, async () => (await import('../commands/group.js')).listGroups);
  const show = group.command('show').description('roles and members of one').argument('<name>', 'group name');
  bind(show, async () => (await import('../commands/group.js')).showGroup);
  const roles = program.command('role').description('roles').command('list').description('all roles and what they permit');
  bind(roles, async () => (await import('../commands/role.js')).listRoles);
}

function defineUsers(user: Command, bind: Bind): void {
  const add = user
    .command('add')
    .description('make a user; the first token is shown once')
    .argument('<id>', 'user id')
    .option('--role <name>', 'a role; may be repeated', moreNames)
    .option('--group <name>', 'a group; may be repeated', moreNames);
  bind(add, async () => (await import('../commands/user.js')).addUser);
  const list = user.command('list').description('all users, newest first');
  bind(list, async () => (await import('../commands/user.js')).listUsers);
  const show = user.command('show').description('one user').argument('<id>', 'user id');
  bind(show, async () => (await import('../commands/user.js')).showUser);
  const update = user
    .command('update')
    .description('change roles, groups or Slack link, all or nothing')
    .argument('<id>', 'user id')
    .option('--role <name>', 'exactly these roles; may be repeated', moreNames)
    .option('--add-role <name>', 'one role more; may be repeated', moreNames)
    .option('--rm-role <name>', 'without this role; may be repeated', moreNames)
    .option('--add-group <name>', 'into this group; may be repeated', moreNames)
    .option('--rm-group <name>', 'out of this group; may be repeated', moreNames)
    .option('--slack-user-id <id>', 'link to this Slack user; "" ends the link');
  bind(update, async () => (await import('../commands/user-change.js')).updateUser);
}

function defineStatus(user: Command, bind: Bind): void {
  const suspend = user
    .command('suspend')
    .description('shut a user out: tokens are revoked, requests cancelled')
    .argument('<id>', 'user id');
  bind(suspend, async () => (await import('../commands/user-change.js')).suspendUser);
  const activate = user.command('activate').description('let a suspended user in again').argument('<id>', 'user id');
  bind(activate, async () => (await import('../commands/user-change.js')).activateUser);
  const remove = user.command('rm').description('delete a user for good').argument('<id>', 'user id');
  bind(remove, async () => (await import('../commands/user-change.js')).removeUser);
  const reissue = user
    .command('reissue-initial-token')
    .description('replace the first token; the new one is shown once unless Slack delivered it')
    .argument('<id>', 'user id');
  bind(reissue, async () => (await import('../commands/user-change.js')).reissueInitialToken);
}
